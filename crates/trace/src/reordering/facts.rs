//! What the definition of a plan asks of the trace itself.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::{Access, Event, Hold, LockId, Op, ThreadId, Value, VarId};

/// How deep a thread holds a lock, on either side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Holding {
    pub(super) lock: LockId,
    pub(super) exclusive: u32,
    pub(super) shared: u32,
}

/// Events, one for each of many; `None` takes no space beside.
#[derive(Clone, Debug)]
pub(super) struct EventOf(Vec<u32>);

impl EventOf {
    fn none(count: usize) -> Self {
        Self(vec![u32::MAX; count])
    }

    pub(super) fn get(&self, index: usize) -> Option<usize> {
        Some(self.0[index]).filter(|&at| at != u32::MAX).map(|at| at as usize)
    }

    fn set(&mut self, index: usize, event: Option<usize>) {
        self.0[index] = event.map_or(u32::MAX, |at| at as u32);
    }
}

/// What stays the same whatever is asked of a trace. Traces of 4 billion events are not held in memory, so 32 bits
/// are plenty for an event.
#[derive(Debug)]
pub struct ReorderingFacts<'a> {
    pub(super) events: &'a [Event],
    pub(super) threads: Vec<Vec<u32>>,
    /// By event: how many events of its thread come before it.
    pub(super) nth: Vec<u32>,
    pub(super) var_count: usize,
    initial: Vec<Option<Value>>,
    /// By thread: its fork.
    pub(super) forks: Vec<Option<usize>>,
    /// Of a resume that was notified: the wait and the notification.
    pub(super) causes: FxHashMap<usize, (usize, usize)>,
    /// By notification: the resumes that it caused, in order.
    pub(super) caused: FxHashMap<usize, Vec<usize>>,
    /// By event, for a read: the write that it read from.
    pub(super) sources: EventOf,
    /// By event, for the first half of an update: the second.
    pub(super) second_half: EventOf,
    /// By event, for a write of known value: the first write of that value to that variable; else
    /// itself.
    pub(super) first_alike: Vec<u32>,
    /// By variable: no read of it asks for a certain write.
    pub(super) by_value: Vec<bool>,
    /// By thread: from how many of its events done on it holds what, as an index into `holdings`.
    held: Vec<Vec<(u32, u32)>>,
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
            nth: Vec::with_capacity(events.len()),
            var_count,
            initial: (0..var_count as u32).map(|v| initial(VarId(v))).collect(),
            forks: vec![None; thread_count],
            causes: FxHashMap::default(),
            caused: FxHashMap::default(),
            sources: EventOf::none(events.len()),
            second_half: EventOf::none(events.len()),
            first_alike: (0..events.len() as u32).collect(),
            by_value: vec![true; var_count],
            held: vec![Vec::new(); thread_count],
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
        let changes = &self.held[thread];
        let place = changes.partition_point(|&(from, _)| from as usize <= done);
        let set = place.checked_sub(1).map_or(0, |last| changes[last].1);
        &self.holdings[set as usize]
    }

    /// Whether a read may return the value of another write than its own: that value and its own write's are known, and
    /// are one. If not, something wrote that was not recorded, and no other write is known to be as good.
    pub(super) fn is_about_value(&self, read: usize, var: VarId) -> bool {
        let value = self.events[read].value();
        value.is_some() && self.value_of(var, self.sources.get(read)) == value
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
                && matches!(self.events[before as usize].op, Op::Read { var: read, access: Access::Update, .. } if read == var)
            {
                self.second_half.set(before as usize, Some(index));
            }
            self.nth.push(mine.len() as u32);
            mine.push(index as u32);
            if let Op::Fork { child } = event.op {
                self.forks[child.index()].get_or_insert(index);
            }
        }
    }

    fn find_sources(&mut self) {
        let mut last = vec![None; self.var_count];
        let mut alike = FxHashMap::default();
        for (index, event) in self.events.iter().enumerate() {
            match event.op {
                Op::Read { var, .. } => {
                    self.sources.set(index, last[var.index()]);
                    self.by_value[var.index()] &= self.is_about_value(index, var);
                }
                Op::Write { var, .. } => {
                    last[var.index()] = Some(index);
                    if let Some(value) = event.value() {
                        self.first_alike[index] =
                            *alike.entry((var, value)).or_insert(index as u32);
                    }
                }
                _ => {}
            }
        }
    }

    /// A notification wakes the thread that has waited longest.
    fn find_causes(&mut self) {
        let mut waiting: FxHashMap<LockId, VecDeque<(ThreadId, usize)>> = FxHashMap::default();
        let mut woken: FxHashMap<ThreadId, (usize, usize)> = FxHashMap::default();
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
                    if let Some((wait, notify)) = woken.remove(&event.thread) {
                        self.causes.insert(index, (wait, notify));
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
            for (done, &index) in (1..).zip(&self.threads[thread]) {
                let changed = match self.events[index as usize].op {
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
                    // Most of the time nothing is held.
                    let set = if now.is_empty() { 0 } else { self.holdings.len() as u32 };
                    if set > 0 {
                        self.holdings.push(now.clone());
                    }
                    self.held[thread].push((done, set));
                }
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
