//! Makes a failing trace as small as it can be made.
//!
//! Greedy: whole threads, blocks, chunks, matched pairs and single events are deleted, then
//! variables, locks and threads are merged and details erased, again and again until nothing more
//! can go. The result is 1-minimal: deleting any one event, or any one matched pair, makes the
//! failure disappear.

use untorn_trace::{Access, Event, Hold, LabelId, LockId, Op, SiteId, ThreadId, Value, VarId};

use crate::validity::is_well_formed;

/// Shrinks `events` as long as `fails` holds. If it does not hold at first, they are returned as
/// they are.
pub fn shrink(events: &[Event], fails: impl FnMut(&[Event]) -> bool) -> Vec<Event> {
    let mut shrinker = Shrinker { best: events.to_vec(), fails };
    if !(shrinker.fails)(events) {
        return shrinker.best;
    }
    // Every accepted candidate is shorter, or as long and simpler, so this ends.
    while shrinker.threads()
        | shrinker.blocks()
        | shrinker.chunks()
        | shrinker.pairs()
        | shrinker.merges()
        | shrinker.details()
    {}
    shrinker.best
}

/// As [`shrink`], keeping the trace well-formed.
pub fn shrink_well_formed(events: &[Event], mut fails: impl FnMut(&[Event]) -> bool) -> Vec<Event> {
    shrink(events, |candidate| is_well_formed(candidate) && fails(candidate))
}

struct Shrinker<F> {
    /// The smallest failing trace so far.
    best: Vec<Event>,
    fails: F,
}

impl<F: FnMut(&[Event]) -> bool> Shrinker<F> {
    fn accept(&mut self, candidate: Vec<Event>) -> bool {
        let better = candidate != self.best && (self.fails)(&candidate);
        if better {
            self.best = candidate;
        }
        better
    }

    /// Tries to do without the events that `gone` names by position.
    fn without(&mut self, gone: impl Fn(usize, &Event) -> bool) -> bool {
        let kept = self.best.iter().enumerate().filter(|(i, e)| !gone(*i, e));
        let candidate: Vec<_> = kept.map(|(_, event)| *event).collect();
        candidate.len() < self.best.len() && self.accept(candidate)
    }

    fn threads(&mut self) -> bool {
        let mut progress = false;
        for thread in (0..self.count(|e| Some(e.thread.0))).map(ThreadId) {
            progress |= self.without(|_, e| {
                e.thread == thread
                    || matches!(e.op, Op::Fork { child } | Op::Join { child } if child == thread)
            });
        }
        progress
    }

    /// Deletes whole blocks, else only their begin and end.
    fn blocks(&mut self) -> bool {
        let (mut progress, mut at) = (false, 0);
        while at < self.best.len() {
            let event = self.best[at];
            if matches!(event.op, Op::Begin { .. }) {
                let end = partner(&self.best, at);
                let inside = |i: usize, e: &Event| {
                    e.thread == event.thread && i >= at && end.is_none_or(|end| i <= end)
                };
                if self.without(inside) || self.without(|i, _| i == at || Some(i) == end) {
                    progress = true;
                    continue;
                }
            }
            at += 1;
        }
        progress
    }

    fn chunks(&mut self) -> bool {
        let mut progress = false;
        let mut size = self.best.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < self.best.len() {
                if self.without(|i, _| (at..at + size).contains(&i)) {
                    progress = true;
                } else {
                    at += size;
                }
            }
            size /= 2;
        }
        progress
    }

    /// Deletes an acquire with its release, a wait with its return, an update's two halves.
    fn pairs(&mut self) -> bool {
        let (mut progress, mut at) = (false, 0);
        while at < self.best.len() {
            match partner(&self.best, at) {
                Some(other) if self.without(|i, _| i == at || i == other) => progress = true,
                _ => at += 1,
            }
        }
        progress
    }

    /// Replaces an id by a smaller one everywhere.
    fn merges(&mut self) -> bool {
        let mut progress = false;
        let rename: [fn(&mut Event, u32, u32); 3] = [rename_var, rename_lock, rename_thread];
        let counts = [
            self.count(|e| var_of(&e.op).map(|v| v.0)),
            self.count(|e| lock_of(&e.op).map(|l| l.0)),
            self.count(|e| match e.op {
                Op::Fork { child } | Op::Join { child } => Some(e.thread.0.max(child.0)),
                _ => Some(e.thread.0),
            }),
        ];
        for (rename, count) in rename.into_iter().zip(counts) {
            for from in 1..count {
                for to in 0..from {
                    let mut candidate = self.best.clone();
                    candidate.iter_mut().for_each(|e| rename(e, from, to));
                    if self.accept(candidate) {
                        progress = true;
                        break;
                    }
                }
            }
        }
        progress
    }

    /// Erases places, values and labels, of all events at once if possible, else one by one.
    fn details(&mut self) -> bool {
        let mut progress = false;
        for erase in [erase_site, erase_value, erase_label, make_plain] {
            let mut candidate = self.best.clone();
            candidate.iter_mut().for_each(erase);
            if self.accept(candidate) {
                progress = true;
                continue;
            }
            for i in 0..self.best.len() {
                let mut candidate = self.best.clone();
                erase(&mut candidate[i]);
                progress |= self.accept(candidate);
            }
        }
        progress
    }

    /// One more than the largest id.
    fn count(&self, id: impl Fn(&Event) -> Option<u32>) -> u32 {
        self.best.iter().filter_map(id).map(|id| id + 1).max().unwrap_or(0)
    }
}

/// The event that belongs to the one at `at`: the end of a begin, the release of an acquire, the
/// return from a wait, the write of an update's read.
fn partner(events: &[Event], at: usize) -> Option<usize> {
    let first = events[at];
    let mut depth = 0;
    for (i, event) in events.iter().enumerate().skip(at) {
        if event.thread != first.thread {
            continue;
        }
        match (first.op, event.op) {
            (Op::Begin { .. }, Op::Begin { .. }) => depth += 1,
            (Op::Begin { .. }, Op::End { .. }) => depth -= 1,
            (Op::Acquire { lock, hold }, Op::Acquire { lock: l, hold: h })
                if (l, h) == (lock, hold) =>
            {
                depth += 1;
            }
            (Op::Acquire { lock, hold }, Op::Release { lock: l, hold: h })
                if (l, h) == (lock, hold) =>
            {
                depth -= 1;
            }
            (Op::Wait { .. }, Op::Resume { .. })
            | (Op::Read { access: Access::Update, .. }, Op::Write { .. }) => return Some(i),
            _ => continue,
        }
        if depth == 0 {
            return Some(i);
        }
    }
    None
}

fn var_of(op: &Op) -> Option<VarId> {
    match *op {
        Op::Read { var, .. } | Op::Write { var, .. } => Some(var),
        _ => None,
    }
}

fn lock_of(op: &Op) -> Option<LockId> {
    match *op {
        Op::Acquire { lock, .. }
        | Op::Release { lock, .. }
        | Op::Request { lock }
        | Op::Wait { lock }
        | Op::Resume { lock }
        | Op::Notify { lock, .. } => Some(lock),
        _ => None,
    }
}

fn rename_var(event: &mut Event, from: u32, to: u32) {
    if let Op::Read { var, .. } | Op::Write { var, .. } = &mut event.op
        && var.0 == from
    {
        *var = VarId(to);
    }
}

fn rename_lock(event: &mut Event, from: u32, to: u32) {
    if let Op::Acquire { lock, .. }
    | Op::Release { lock, .. }
    | Op::Request { lock }
    | Op::Wait { lock }
    | Op::Resume { lock }
    | Op::Notify { lock, .. } = &mut event.op
        && lock.0 == from
    {
        *lock = LockId(to);
    }
}

fn rename_thread(event: &mut Event, from: u32, to: u32) {
    if event.thread.0 == from {
        event.thread = ThreadId(to);
    }
    if let Op::Fork { child } | Op::Join { child } = &mut event.op
        && child.0 == from
    {
        *child = ThreadId(to);
    }
}

fn erase_site(event: &mut Event) {
    event.site = SiteId::NONE;
}

fn erase_value(event: &mut Event) {
    if let Op::Read { known, value, .. }
    | Op::Write { known, value, .. }
    | Op::Call { known, value, .. }
    | Op::Return { known, value, .. }
    | Op::Input { known, value, .. } = &mut event.op
    {
        *known = false;
        *value = Value(0);
    }
}

fn erase_label(event: &mut Event) {
    if let Op::Begin { label, .. } | Op::End { label } = &mut event.op {
        *label = LabelId::NONE;
    }
}

fn make_plain(event: &mut Event) {
    match &mut event.op {
        Op::Read { access, .. } | Op::Write { access, .. } => *access = Access::Plain,
        Op::Acquire { hold, .. } | Op::Release { hold, .. } => *hold = Hold::Exclusive,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::first_violation;
    use crate::random::{Knobs, TraceGen};

    #[test]
    fn violations_shrink_to_minimal_ones() {
        let mut traces = TraceGen::new(Knobs::small());
        let fails = |events: &[Event]| first_violation(events).is_some();
        let mut shrunk = 0;
        for seed in 0..400 {
            let events = traces.generate(seed);
            if !fails(events) {
                continue;
            }
            let small = shrink_well_formed(events, fails);
            assert!(is_well_formed(&small) && fails(&small));
            for i in 0..small.len() {
                let mut less = small.clone();
                less.remove(i);
                assert!(!(is_well_formed(&less) && fails(&less)), "seed {seed} event {i}");
            }
            shrunk += 1;
        }
        assert!(shrunk > 50);
    }

    #[test]
    fn what_does_not_fail_stays() {
        let mut traces = TraceGen::new(Knobs::small());
        let events = traces.generate(1).to_vec();
        assert_eq!(shrink(&events, |_| false), events);
    }
}
