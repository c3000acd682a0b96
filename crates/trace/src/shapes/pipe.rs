//! A rotating pipeline: as many open transactions as there are threads, each reading what the
//! ones before it wrote.
//!
//! Transactions are numbered as they begin; number k runs on thread k mod T, writes slot
//! k mod 4T once, before any transaction reads it there, and later reads only slots of the T numbers before
//! its own. When k writes its slot again for k + 4T, every transaction that read it has ended long ago. So each
//! conflict leads from a smaller to a larger number, and there is no cycle.

use crate::{Event, LabelId, Op, SiteId, Tables, ThreadId, VarId};

use super::ShapeSpec;
use super::rng::Rng;

#[derive(Debug)]
pub(super) struct Pipe {
    threads: u64,
    /// The number of the transaction that begins next.
    next: u64,
    rng: Rng,
    label: LabelId,
    sites: Sites,
}

#[derive(Debug)]
struct Sites {
    begin: SiteId,
    write: SiteId,
    read: SiteId,
    local: SiteId,
    end: SiteId,
}

impl Pipe {
    pub(super) fn new(spec: &ShapeSpec, tables: &mut Tables, out: &mut Vec<Event>) -> Self {
        // Four slots for each thread, then one local variable for each.
        (0..spec.threads * 5).for_each(|i| _ = tables.vars.push(&format!("V{i}")));
        let label = tables.labels.intern("Stage.pass");
        let mut site = |line: u32| tables.sites.intern_loc(&line.to_string());
        let sites = Sites {
            begin: site(10),
            write: site(11),
            read: site(12),
            local: site(13),
            end: site(14),
        };
        let fork_site = site(5);
        for child in (1..spec.threads).map(ThreadId) {
            out.push(Event::new(ThreadId(0), Op::Fork { child }, fork_site));
        }
        let threads = u64::from(spec.threads);
        Self { threads, next: 0, rng: Rng::new(spec.seed), label, sites }
    }

    /// After its first transaction began, a thread is between two only inside of one step.
    pub(super) fn is_inside(&self, thread: ThreadId) -> bool {
        self.next > u64::from(thread.0)
    }

    /// One transaction ends, its thread's next one begins, and some of the open ones continue.
    pub(super) fn step(&mut self, out: &mut Vec<Event>) {
        let number = self.next;
        let thread = self.thread(number);
        if number >= self.threads {
            out.push(Event::new(thread, Op::End { label: self.label }, self.sites.end));
        }
        out.push(Event::new(thread, Op::begin(self.label), self.sites.begin));
        out.push(Event::new(thread, Op::write(self.slot(number)), self.sites.write));
        if number > 0 {
            out.push(Event::new(thread, Op::read(self.slot(number - 1)), self.sites.read));
        }
        self.next += 1;
        let open = self.threads.min(self.next) as u32;
        for _ in 0..self.rng.between(2, 6) {
            let reader = number - u64::from(self.rng.below(open));
            let back = u64::from(self.rng.between(1, self.threads as u32));
            if back > reader || self.rng.chance(40) {
                let local = VarId(4 * self.threads as u32 + self.thread(reader).0);
                out.push(Event::new(self.thread(reader), Op::write(local), self.sites.local));
            } else {
                let slot = self.slot(reader - back);
                out.push(Event::new(self.thread(reader), Op::read(slot), self.sites.read));
            }
        }
    }

    fn thread(&self, number: u64) -> ThreadId {
        ThreadId((number % self.threads) as u32)
    }

    fn slot(&self, number: u64) -> VarId {
        VarId((number % (4 * self.threads)) as u32)
    }
}
