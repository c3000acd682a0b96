//! What the definition of a plan asks of the trace itself.

use std::collections::{HashMap, VecDeque};

use crate::{Access, Event, Hold, LockId, Op, ThreadId, Value, VarId};

/// How deep a thread holds a lock, on either side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Holding {
    pub(super) lock: LockId,
    pub(super) exclusive: u32,
    pub(super) shared: u32,
}

/// What stays the same whatever is asked of a trace.
#[derive(Debug)]
pub struct ReorderingFacts<'a> {
    pub(super) events: &'a [Event],
    pub(super) threads: Vec<Vec<usize>>,
    pub(super) nth: Vec<usize>,
    pub(super) var_count: usize,
    initial: Vec<Option<Value>>,
    /// By thread: its fork.
    pub(super) forks: Vec<Option<usize>>,
    /// By event, for a resume that was notified: the wait and the notification.
    pub(super) causes: Vec<Option<(usize, usize)>>,
    /// By notification: the resumes that it caused, in order.
    pub(super) caused: HashMap<usize, Vec<usize>>,
    /// By event, for a read: the write that it read from.
    pub(super) sources: Vec<Option<usize>>,
    /// By event, for the first half of an update: the second.
    pub(super) second_half: Vec<Option<usize>>,
    /// By event, for a write of known value: the first write of that value to that variable; else
    /// itself.
    pub(super) first_alike: Vec<usize>,
    /// By variable: no read of it asks for a certain write.
    pub(super) by_value: Vec<bool>,
    /// By thread and number of its events done: an index into `holdings`.
    held: Vec<Vec<usize>>,
    holdings: Vec<Vec<Holding>>,
}

impl<'a> ReorderingFacts<'a> {
    pub fn new(events: &'a [Event], initial: &dyn Fn(VarId) -> Option<Value>) -> Self {
        let thread_count = events.iter().map(|e| match e.op {
            Op::Fork { child } | Op::Join { child } => e.thread.index().max(child.index()) + 1,
            _ => e.thread.index() + 1,
        });
        let thread_count = thread_count.max().unwrap_or(0);
        let var_count = events.iter().filter_map(|e| var_of(e).map(|v| v.index() + 1)).max();
        let var_count = var_count.unwrap_or(0);
        let mut facts = Self {
            events,
            threads: vec![Vec::new(); thread_count],
            nth: Vec::new(),
            var_count,
            initial: (0..var_count as u32).map(|v| initial(VarId(v))).collect(),
            forks: vec![None; thread_count],
            causes: vec![None; events.len()],
            caused: HashMap::new(),
            sources: vec![None; events.len()],
            second_half: vec![None; events.len()],
            first_alike: (0..events.len()).collect(),
            by_value: vec![true; var_count],
            held: vec![vec![0]; thread_count],
            holdings: vec![Vec::new()],
        };
        facts.find_threads();
        facts.find_sources();
        facts.find_causes();
        facts.find_holds();
        facts
    }

    /// What a thread holds after so many of its events.
    pub(super) fn holds(&self, thread: usize, done: usize) -> &[Holding] {
        &self.holdings[self.held[thread][done]]
    }

    /// The value of the write, of the initial state without one.
    pub(super) fn value_of(&self, var: VarId, write: Option<usize>) -> Option<Value> {
        match write {
            Some(index) => self.events[index].value(),
            None => self.initial[var.index()],
        }
    }

    fn find_threads(&mut self) {
        for (index, event) in self.events.iter().enumerate() {
            let mine = &mut self.threads[event.thread.index()];
            if let (Some(&before), Op::Write { var, access: Access::Update, .. }) =
                (mine.last(), event.op)
                && matches!(self.events[before].op, Op::Read { var: read, access: Access::Update, .. } if read == var)
            {
                self.second_half[before] = Some(index);
            }
            self.nth.push(mine.len());
            mine.push(index);
            if let Op::Fork { child } = event.op {
                self.forks[child.index()].get_or_insert(index);
            }
        }
    }

    fn find_sources(&mut self) {
        let mut last = vec![None; self.var_count];
        let mut alike = HashMap::new();
        for (index, event) in self.events.iter().enumerate() {
            match event.op {
                Op::Read { var, .. } => {
                    self.sources[index] = last[var.index()];
                    let source = self.value_of(var, last[var.index()]);
                    if event.value().is_none() || source.is_none() {
                        self.by_value[var.index()] = false;
                    }
                }
                Op::Write { var, .. } => {
                    last[var.index()] = Some(index);
                    if let Some(value) = event.value() {
                        self.first_alike[index] = *alike.entry((var, value)).or_insert(index);
                    }
                }
                _ => {}
            }
        }
    }

    /// A notification wakes the thread that has waited longest.
    fn find_causes(&mut self) {
        let mut waiting: HashMap<LockId, VecDeque<(ThreadId, usize)>> = HashMap::new();
        let mut woken: HashMap<ThreadId, (usize, usize)> = HashMap::new();
        for (index, event) in self.events.iter().enumerate() {
            match event.op {
                Op::Wait { lock } => {
                    waiting.entry(lock).or_default().push_back((event.thread, index));
                }
                Op::Notify { lock, all } => {
                    let queue = waiting.entry(lock).or_default();
                    let count = if all { queue.len() } else { queue.len().min(1) };
                    for (thread, wait) in queue.drain(..count) {
                        woken.insert(thread, (wait, index));
                    }
                }
                Op::Resume { lock } => {
                    self.causes[index] = woken.remove(&event.thread);
                    if let Some((_, notify)) = self.causes[index] {
                        self.caused.entry(notify).or_default().push(index);
                    }
                    let queue = waiting.entry(lock).or_default();
                    queue.retain(|&(thread, _)| thread != event.thread);
                }
                _ => {}
            }
        }
    }

    fn find_holds(&mut self) {
        for thread in 0..self.threads.len() {
            let mut now: Vec<Holding> = Vec::new();
            let mut before_wait = 0;
            for &index in &self.threads[thread] {
                let changed = match self.events[index].op {
                    Op::Acquire { lock, hold } => change(&mut now, lock, |h| match hold {
                        Hold::Exclusive => h.exclusive += 1,
                        Hold::Shared => h.shared += 1,
                    }),
                    Op::Release { lock, hold } => change(&mut now, lock, |h| match hold {
                        Hold::Exclusive => h.exclusive = h.exclusive.saturating_sub(1),
                        Hold::Shared => h.shared = h.shared.saturating_sub(1),
                    }),
                    Op::Wait { lock } => change(&mut now, lock, |h| {
                        before_wait = std::mem::take(&mut h.exclusive);
                    }),
                    Op::Resume { lock } => change(&mut now, lock, |h| h.exclusive = before_wait),
                    _ => false,
                };
                if changed {
                    self.holdings.push(now.clone());
                }
                let same = *self.held[thread].last().unwrap_or(&0);
                self.held[thread].push(if changed { self.holdings.len() - 1 } else { same });
            }
        }
    }
}

fn change(now: &mut Vec<Holding>, lock: LockId, how: impl FnOnce(&mut Holding)) -> bool {
    let place = now.iter().position(|h| h.lock == lock).unwrap_or_else(|| {
        now.push(Holding { lock, exclusive: 0, shared: 0 });
        now.len() - 1
    });
    how(&mut now[place]);
    if now[place].exclusive == 0 && now[place].shared == 0 {
        now.swap_remove(place);
    }
    true
}

fn var_of(event: &Event) -> Option<VarId> {
    match event.op {
        Op::Read { var, .. } | Op::Write { var, .. } => Some(var),
        _ => None,
    }
}
