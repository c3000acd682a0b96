//! A part of a trace.
//!
//! A window is judged as a separate trace: it starts with the memory that the events before it
//! left, and what lies outside is ignored. Blocks may be reordered across its borders in
//! a serial order of the whole trace, so neither answer about a window is one about the whole
//! (except own-read, which needs nothing but one block).

use untorn_trace::{Event, EventIdx, Op};

/// The events from `from` up to, but not including, `to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    pub from: EventIdx,
    pub to: EventIdx,
}

impl Window {
    pub fn all(events: &[Event]) -> Self {
        Self { from: EventIdx(0), to: EventIdx(events.len() as u64) }
    }

    /// The smallest window that holds the given events and the whole outermost blocks around
    /// them. `None` if an event is not in the trace or none is given.
    pub fn around(events: &[Event], instance: &[EventIdx]) -> Option<Self> {
        let mut from = EventIdx(u64::MAX);
        let mut to = EventIdx(0);
        for &at in instance {
            let (first, last) = extent(events, at)?;
            from = from.min(first);
            to = to.max(EventIdx(last.0 + 1));
        }
        (from < to).then_some(Self { from, to })
    }
}

/// First and last event of the outermost block around an event; the event itself outside.
fn extent(events: &[Event], at: EventIdx) -> Option<(EventIdx, EventIdx)> {
    let position = usize::try_from(at.0).ok().filter(|&at| at < events.len())?;
    let thread = events[position].thread;
    let own = |&(_, event): &(usize, &Event)| event.thread == thread;
    let (mut depth, mut begin) = (0_u32, position);
    for (i, event) in events[..position].iter().enumerate().filter(own) {
        match event.op {
            Op::Begin { .. } => {
                if depth == 0 {
                    begin = i;
                }
                depth += 1;
            }
            Op::End { .. } => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if depth == 0 && !matches!(events[position].op, Op::Begin { .. }) {
        return Some((at, at));
    }
    let mut last = position;
    let begin = if depth == 0 { position } else { begin };
    for (i, event) in events.iter().enumerate().skip(position).filter(own) {
        last = i;
        match event.op {
            Op::Begin { .. } => depth += 1,
            Op::End { .. } => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    Some((EventIdx(begin as u64), EventIdx(last as u64)))
}
