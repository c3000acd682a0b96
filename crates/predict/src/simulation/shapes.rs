//! The schedules that are tried for a prediction.
//!
//! T1 is the thread of i and k, T2 that of j; enc(e) is the outermost acquire around e, or e itself; h is
//! the latest event of T1 in (i, k] before which T1 holds the fewest locks; i⁺ is T1's event after i.
//!
//! Where two events of T2 come between, j is the first of them wherever T2 stops or is cut off before it, and
//! the last wherever T2 has to come there.
//!
//! If j came after k:
//! 1. the trace up to enc(j) without T1 from enc(i) on; T1 from enc(i) up to h; T2 from enc(j) to j; T1 from
//!    h to k: *T2 comes to its critical section, T1 stops where it holds least, T2 gets in between*.
//! 2. the trace up to j without T1 from h on; T1 from h to k: *T1 stops, all other threads continue*.
//! 3. T2 up to before j, others only as far as they were when T1 began; T1 up to before k; j; k: *T2
//!    goes far ahead*.
//!
//! If j came before i:
//! 1. the trace up to h without T2 from enc(j) on; T2 from enc(j) to j; the trace from h to k without T2.
//! 2. T1 to i, others only as far as they were when T2 began; T2 to j and up to the position of i⁺;
//!    T1 and T2 from there to k.
//! 3. the trace up to before k without T2 from j on, others only as far as they were at j; j; T2 up to the
//!    position of k; k.

use untorn_trace::ThreadId;

use crate::facts::HistoryIndex;
use crate::history::At;
use crate::simulation::Triple;

/// A stretch of the trace, from `from` on and up to before `to`, of some threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stretch {
    pub(super) from: At,
    pub(super) to: At,
    pub(super) who: ThreadSet,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ThreadSet {
    Only(ThreadId),
    Without(ThreadId),
    All,
    Both(ThreadId, ThreadId),
}

/// The trace up to before `cut`, then the stretches; an event that has been in one is not repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) cut: At,
    pub(super) parts: Vec<Stretch>,
}

const fn stretch(from: At, to: At, who: ThreadSet) -> Stretch {
    Stretch { from, to, who }
}

const fn after(at: At) -> At {
    At(at.0 + 1)
}

/// A thread is run from its very beginning only if that is not farther away than this, so that a
/// question about a long trace does not cost the whole trace.
const FAR: u32 = 20_000;

pub(super) fn of(facts: &HistoryIndex<'_>, triple: Triple) -> Vec<Shape> {
    let end = triple.k.max(triple.j);
    let mut shapes =
        if triple.j > triple.k { later(facts, triple) } else { earlier(facts, triple) };
    shapes.retain(|shape| end.0 - shape.cut.0 <= FAR);
    // What stays as it was must not contain the second event if the first one came later.
    shapes.retain(|shape| triple.from >= shape.cut || triple.i < triple.from);
    shapes
}

/// j came after k.
fn later(facts: &HistoryIndex<'_>, Triple { i, from, j, k }: Triple) -> Vec<Shape> {
    let (own, other) = (facts.thread(i), facts.thread(j));
    let (enc_i, enc_j, h) = (outermost(facts, i), outermost(facts, from), lightest(facts, i, k));
    let first = facts.history.of_thread(own)[0];
    vec![
        Shape {
            cut: enc_i.min(enc_j),
            parts: vec![
                stretch(enc_i.min(enc_j), enc_j.min(enc_i), ThreadSet::All),
                stretch(enc_i, enc_j, ThreadSet::Without(own)),
                stretch(enc_i.min(enc_j), h, ThreadSet::Only(own)),
                stretch(enc_j, after(j), ThreadSet::Only(other)),
                stretch(h, after(k), ThreadSet::Only(own)),
            ],
        },
        Shape {
            cut: h,
            parts: vec![
                stretch(h, after(j), ThreadSet::Without(own)),
                stretch(h, after(k), ThreadSet::Only(own)),
            ],
        },
        Shape {
            cut: first,
            parts: vec![
                stretch(first, from, ThreadSet::Only(other)),
                stretch(first, k, ThreadSet::Only(own)),
                stretch(from, after(j), ThreadSet::Only(other)),
                stretch(k, after(k), ThreadSet::Only(own)),
            ],
        },
    ]
}

/// j came before i.
fn earlier(facts: &HistoryIndex<'_>, Triple { i, from, j, k }: Triple) -> Vec<Shape> {
    let (own, other) = (facts.thread(i), facts.thread(j));
    let (enc_j, h) = (outermost(facts, from), lightest(facts, i, k));
    let first = facts.history.of_thread(other)[0];
    let next = facts.history.next(i).unwrap_or(k);
    vec![
        Shape {
            cut: enc_j,
            parts: vec![
                stretch(enc_j, h, ThreadSet::Without(other)),
                stretch(enc_j, after(j), ThreadSet::Only(other)),
                stretch(h, after(k), ThreadSet::Without(other)),
            ],
        },
        Shape {
            cut: first,
            parts: vec![
                stretch(first, after(i), ThreadSet::Only(own)),
                stretch(first, next, ThreadSet::Only(other)),
                stretch(next, after(k), ThreadSet::Both(own, other)),
            ],
        },
        Shape {
            cut: from,
            parts: vec![
                stretch(from, k, ThreadSet::Only(own)),
                stretch(from, k, ThreadSet::Only(other)),
                stretch(k, after(k), ThreadSet::Only(own)),
            ],
        },
    ]
}

/// The outermost acquire around an event.
fn outermost(facts: &HistoryIndex<'_>, at: At) -> At {
    facts.holds.at(at).first().map_or(at, |&id| facts.section(id).enter)
}

/// The latest event in (i, k] before which the thread holds the fewest locks.
fn lightest(facts: &HistoryIndex<'_>, i: At, k: At) -> At {
    let events = facts.history.of_thread(facts.thread(i));
    let (from, to) = (facts.history.nth(i) as usize, facts.history.nth(k) as usize);
    let mut best = (usize::MAX, k);
    for pair in events[from..=to].windows(2) {
        let held = facts.holds.after(pair[0], facts.history).count();
        if held <= best.0 {
            best = (held, pair[1]);
        }
    }
    best.1
}
