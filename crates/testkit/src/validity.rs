//! What a well-formed trace is, written naively: every question about an event is answered by
//! looking through all events before it.
//!
//! Quadratic on purpose. It is the oracle for the streaming validator, and the shrinker's guard.

use untorn_trace::{Event, EventIdx, Hold, LabelId, LockId, Op, ThreadId};

/// Why an event cannot have happened where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Defect {
    /// Gives back a lock, or a side of it, that the thread does not hold.
    ReleaseWithoutHold,
    /// Ends a block though none is open.
    EndWithoutBegin,
    /// Ends another block than the innermost open one; both are named.
    EndOfOtherBlock,
    /// The thread was joined before.
    AfterJoin,
    /// Takes a lock that another thread holds, one of the two exclusively.
    HeldTwice,
    /// Waits on a lock that the thread does not hold exclusively.
    WaitWithoutHold,
    /// Returns from a wait that it is not in.
    ResumeWithoutWait,
    /// Does something else than to return from its wait.
    ActsWhileWaiting,
    /// The thread was forked before.
    ForkedTwice,
    /// The thread did something, or was joined, before it was forked.
    ForkedLate,
    /// Forks or joins itself.
    Itself,
}

/// The first event that cannot have happened, and why.
pub fn first_defect(events: &[Event]) -> Option<(EventIdx, Defect)> {
    (0..events.len())
        .find_map(|i| defect(&events[..i], &events[i]).map(|d| (EventIdx(i as u64), d)))
}

/// Whether the events can have happened in this order. Blocks, waits and locks may stay open.
pub fn is_well_formed(events: &[Event]) -> bool {
    first_defect(events).is_none()
}

fn defect(past: &[Event], event: &Event) -> Option<Defect> {
    let thread = event.thread;
    if past.iter().any(|e| matches!(e.op, Op::Join { child } if child == thread)) {
        return Some(Defect::AfterJoin);
    }
    if let Some(awaited) = waits_on(past, thread) {
        return match event.op {
            Op::Resume { lock } if lock == awaited => held_by_others(past, thread, lock, true),
            Op::Resume { .. } => Some(Defect::ResumeWithoutWait),
            _ => Some(Defect::ActsWhileWaiting),
        };
    }
    let unless = |fine: bool, defect| if fine { None } else { Some(defect) };
    match event.op {
        Op::Acquire { lock, hold } => held_by_others(past, thread, lock, hold == Hold::Exclusive),
        Op::Release { lock, hold } => {
            unless(levels(past, thread, lock, hold) > 0, Defect::ReleaseWithoutHold)
        }
        Op::Wait { lock } => {
            unless(levels(past, thread, lock, Hold::Exclusive) > 0, Defect::WaitWithoutHold)
        }
        Op::Resume { .. } => Some(Defect::ResumeWithoutWait),
        Op::End { label } => match innermost(past, thread) {
            None => Some(Defect::EndWithoutBegin),
            Some(open) => {
                let unnamed = open == LabelId::NONE || label == LabelId::NONE;
                unless(unnamed || open == label, Defect::EndOfOtherBlock)
            }
        },
        Op::Fork { child } | Op::Join { child } if child == thread => Some(Defect::Itself),
        Op::Fork { child } => {
            if past.iter().any(|e| matches!(e.op, Op::Fork { child: c } if c == child)) {
                Some(Defect::ForkedTwice)
            } else {
                let is_over = |e: &Event| matches!(e.op, Op::Join { child: c } if c == child);
                unless(past.iter().all(|e| e.thread != child && !is_over(e)), Defect::ForkedLate)
            }
        }
        _ => None,
    }
}

/// The lock in whose wait the thread is.
fn waits_on(past: &[Event], thread: ThreadId) -> Option<LockId> {
    match past.iter().rfind(|e| e.thread == thread)?.op {
        Op::Wait { lock } => Some(lock),
        _ => None,
    }
}

/// How often the thread holds the lock on that side. A waiting thread does not hold exclusively.
fn levels(past: &[Event], thread: ThreadId, lock: LockId, hold: Hold) -> i64 {
    if hold == Hold::Exclusive && waits_on(past, thread) == Some(lock) {
        return 0;
    }
    let mine = past.iter().filter(|e| e.thread == thread);
    mine.map(|e| match e.op {
        Op::Acquire { lock: l, hold: h } if (l, h) == (lock, hold) => 1,
        Op::Release { lock: l, hold: h } if (l, h) == (lock, hold) => -1,
        _ => 0,
    })
    .sum()
}

fn held_by_others(past: &[Event], me: ThreadId, lock: LockId, exclusive: bool) -> Option<Defect> {
    let threads = past.iter().map(|e| e.thread.0 + 1).max().unwrap_or(0);
    let held = (0..threads).map(ThreadId).filter(|&other| other != me).any(|other| {
        levels(past, other, lock, Hold::Exclusive) > 0
            || exclusive && levels(past, other, lock, Hold::Shared) > 0
    });
    held.then_some(Defect::HeldTwice)
}

/// The label of the innermost open block.
fn innermost(past: &[Event], thread: ThreadId) -> Option<LabelId> {
    let mut open = Vec::new();
    for event in past.iter().filter(|e| e.thread == thread) {
        match event.op {
            Op::Begin { label, .. } => open.push(label),
            Op::End { .. } => {
                open.pop();
            }
            _ => {}
        }
    }
    open.pop()
}

#[cfg(test)]
mod tests {
    use super::*;
    use untorn_trace::{SiteId, VarId};

    const L: LockId = LockId(0);
    const READ: Op = Op::read(VarId(0));

    fn defect_of(steps: &[(u32, Op)]) -> Option<(u64, Defect)> {
        let event = |&(thread, op)| Event::new(ThreadId(thread), op, SiteId::NONE);
        let events: Vec<_> = steps.iter().map(event).collect();
        first_defect(&events).map(|(at, defect)| (at.0, defect))
    }

    #[test]
    fn locks() {
        let acquire = Op::acquire(L);
        let release = Op::release(L);
        let share = Op::Acquire { lock: L, hold: Hold::Shared };
        let unshare = Op::Release { lock: L, hold: Hold::Shared };
        assert_eq!(defect_of(&[(0, acquire), (0, acquire), (0, release), (0, release)]), None);
        assert_eq!(defect_of(&[(0, release)]), Some((0, Defect::ReleaseWithoutHold)));
        assert_eq!(defect_of(&[(0, share), (0, release)]), Some((1, Defect::ReleaseWithoutHold)));
        assert_eq!(defect_of(&[(0, acquire), (1, acquire)]), Some((1, Defect::HeldTwice)));
        assert_eq!(defect_of(&[(0, share), (1, acquire)]), Some((1, Defect::HeldTwice)));
        assert_eq!(defect_of(&[(0, acquire), (1, share)]), Some((1, Defect::HeldTwice)));
        assert_eq!(defect_of(&[(0, share), (1, share), (0, unshare), (1, unshare)]), None);
        assert_eq!(defect_of(&[(0, acquire), (0, share), (0, release), (1, share)]), None);
    }

    #[test]
    fn waits() {
        let (acquire, release) = (Op::acquire(L), Op::release(L));
        let (wait, resume) = (Op::Wait { lock: L }, Op::Resume { lock: L });
        let handed_over = [(0, acquire), (0, acquire), (0, wait), (1, acquire), (1, release)];
        let back = [(0, resume), (0, release), (0, release)];
        assert_eq!(defect_of(&[&handed_over[..], &back].concat()), None);
        assert_eq!(defect_of(&[(0, wait)]), Some((0, Defect::WaitWithoutHold)));
        assert_eq!(defect_of(&[(0, resume)]), Some((0, Defect::ResumeWithoutWait)));
        let acts = [(0, acquire), (0, wait), (0, READ)];
        assert_eq!(defect_of(&acts), Some((2, Defect::ActsWhileWaiting)));
        let too_early = [(0, acquire), (0, wait), (1, acquire), (0, resume)];
        assert_eq!(defect_of(&too_early), Some((3, Defect::HeldTwice)));
    }

    #[test]
    fn blocks_end_in_order() {
        let begin = |label| Op::begin(LabelId(label));
        let end = |label| Op::End { label: LabelId(label) };
        let bare = Op::End { label: LabelId::NONE };
        assert_eq!(defect_of(&[(0, begin(1)), (0, begin(2)), (0, bare), (0, end(1))]), None);
        assert_eq!(defect_of(&[(0, begin(1)), (1, bare)]), Some((1, Defect::EndWithoutBegin)));
        let crossed = [(0, begin(1)), (0, begin(2)), (0, end(1))];
        assert_eq!(defect_of(&crossed), Some((2, Defect::EndOfOtherBlock)));
    }

    #[test]
    fn threads() {
        let fork = |child| Op::Fork { child: ThreadId(child) };
        let join = |child| Op::Join { child: ThreadId(child) };
        assert_eq!(defect_of(&[(0, fork(1)), (1, READ), (0, join(1)), (2, join(1))]), None);
        assert_eq!(defect_of(&[(0, join(1)), (1, READ)]), Some((1, Defect::AfterJoin)));
        assert_eq!(defect_of(&[(0, fork(1)), (2, fork(1))]), Some((1, Defect::ForkedTwice)));
        assert_eq!(defect_of(&[(1, READ), (0, fork(1))]), Some((1, Defect::ForkedLate)));
        assert_eq!(defect_of(&[(0, fork(0))]), Some((0, Defect::Itself)));
        assert_eq!(defect_of(&[(0, join(0))]), Some((0, Defect::Itself)));
    }
}
