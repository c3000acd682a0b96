//! How often each thread had come to each place of the program: by that a plan names an event.

use rustc_hash::FxHashMap;
use untorn_trace::{Access, Event, Op, SiteId, Tables, ThreadId, VarId, VarRole};

use crate::places;

/// How often a thread had come to the place of an event to do what it does, this time included; and whether the event is
/// an arrival of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Arrival {
    /// Counted from 1, unless the thread never came there in its own right.
    pub count: u32,
    pub is_own: bool,
}

impl Arrival {
    /// What a plan calls the event; `None` if it has no name.
    pub(crate) fn occurrence(self) -> Option<u32> {
        self.is_own.then_some(self.count)
    }

    pub(crate) fn tag(self) -> u32 {
        self.count << 1 | u32::from(self.is_own)
    }

    pub(crate) fn of_tag(tag: u32) -> Self {
        Self { count: tag >> 1, is_own: tag & 1 == 1 }
    }
}

/// An access, as far as the next ones of its thread need to know.
#[derive(Clone, Copy, Debug)]
struct Last {
    op: Op,
    site: SiteId,
}

/// Counts arrivals, event by event.
#[derive(Debug)]
pub(crate) struct Arrivals<'t> {
    tables: &'t Tables,
    /// For each site, the first one of the same instruction: a plan names instructions.
    instructions: Vec<SiteId>,
    counts: FxHashMap<(ThreadId, SiteId, usize), u32>,
    /// By thread: the last two events.
    last: Vec<[Option<Last>; 2]>,
}

impl<'t> Arrivals<'t> {
    pub(crate) fn new(tables: &'t Tables) -> Self {
        let instructions = places::instructions(tables);
        Self { tables, instructions, counts: FxHashMap::default(), last: Vec::new() }
    }

    /// The next event of the run. None but accesses, acquisitions and releases have a place that a plan can name.
    pub(crate) fn come(&mut self, event: &Event) -> Arrival {
        let thread = event.thread.index();
        if self.last.len() <= thread {
            self.last.resize(thread + 1, [None; 2]);
        }
        let is_same = self.is_same_arrival(event);
        let [_, before] = self.last[thread];
        self.last[thread] = [before, Some(Last { op: event.op, site: event.site })];
        let is_named = matches!(
            event.op,
            Op::Read { .. } | Op::Write { .. } | Op::Acquire { .. } | Op::Release { .. }
        );
        if !is_named {
            return Arrival::default();
        }
        let instruction = self.instructions.get(event.site.index()).copied().unwrap_or(event.site);
        let count = self.counts.entry((event.thread, instruction, event.op.code())).or_default();
        *count += u32::from(!is_same);
        Arrival { count: *count, is_own: !is_same }
    }

    /// A call that changes what a map holds for a key changes what it holds at all: two updates, and the thread came
    /// there once.
    fn is_same_arrival(&self, event: &Event) -> bool {
        let (Op::Read { var, .. } | Op::Write { var, .. }) = event.op else { return false };
        let [earlier, before] = self.last[event.thread.index()];
        let previous = match before {
            Some(half) if is_second_half(half.op, event.op, var) => earlier,
            before => before,
        };
        let Some(previous) = previous.filter(|previous| previous.site == event.site) else {
            return false;
        };
        let Op::Write { var: other, access: Access::Update, .. } = previous.op else {
            return false;
        };
        other != var && self.tables.var_facts(var).role == VarRole::Contents
    }
}

/// Whether two operations that follow each other in a thread are the halves of an update.
fn is_second_half(first: Op, second: Op, var: VarId) -> bool {
    let reads = matches!(first, Op::Read { var: of, access: Access::Update, .. } if of == var);
    reads && matches!(second, Op::Write { access: Access::Update, .. })
}
