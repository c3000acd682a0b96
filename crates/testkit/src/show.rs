//! Events as text a person can read and paste into a bug report.

use std::fmt::Write as _;

use untorn_trace::{Access, Event, Hold, LabelId, Op, SiteId};

/// One line an event, in the manner of RAPID's STD format: `T0|w(x1)|7`. What STD cannot express
/// (values, shared holds, waits, …) is added in the same spirit.
pub fn show(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        text.push_str(&show_event(event));
        text.push('\n');
    }
    text
}

fn show_event(event: &Event) -> String {
    let mut text = format!("T{}|{}", event.thread.0, show_op(&event.op));
    if let Some(value) = event.value() {
        // Writing into a string cannot fail.
        let _ = write!(text, "={}", value.0.cast_signed());
    }
    if event.site != SiteId::NONE {
        let _ = write!(text, "|{}", event.site.0);
    }
    text
}

fn show_op(op: &Op) -> String {
    let side = |hold| if hold == Hold::Shared { "shared-" } else { "" };
    let label =
        |id: LabelId| if id == LabelId::NONE { String::new() } else { format!("B{}", id.0) };
    match *op {
        Op::Read { var, access, .. } => format!("{}(x{})", access_name("r", access), var.0),
        Op::Write { var, access, .. } => format!("{}(x{})", access_name("w", access), var.0),
        Op::Acquire { lock, hold } => format!("{}acq(L{})", side(hold), lock.0),
        Op::Release { lock, hold } => format!("{}rel(L{})", side(hold), lock.0),
        Op::Request { lock } => format!("req(L{})", lock.0),
        Op::Wait { lock } => format!("wait(L{})", lock.0),
        Op::Resume { lock } => format!("resume(L{})", lock.0),
        Op::Notify { lock, all: false } => format!("notify(L{})", lock.0),
        Op::Notify { lock, all: true } => format!("notify-all(L{})", lock.0),
        Op::Fork { child } => format!("fork(T{})", child.0),
        Op::Join { child } => format!("join(T{})", child.0),
        Op::Begin { label: id, .. } => format!("begin({})", label(id)),
        Op::End { label: id } => format!("end({})", label(id)),
        Op::Branch { count } => format!("branch({count})"),
        Op::Call { method, .. } => format!("call({})", label(method)),
        Op::Return { method, .. } => format!("return({})", label(method)),
        Op::Input { source, .. } => format!("input({})", label(source)),
        Op::Argument { number, method, .. } => format!("argument({number}, {})", label(method)),
        Op::Allocate { object, .. } => format!("allocate({})", object.0),
        Op::Deallocate { object } => format!("deallocate({})", object.0),
    }
}

fn access_name(base: &str, access: Access) -> String {
    match access {
        Access::Plain => base.to_owned(),
        Access::Volatile => format!("volatile-{base}"),
        Access::Update => format!("update-{base}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use untorn_trace::{LockId, ThreadId, Value, VarId};

    #[test]
    fn a_line_says_thread_operation_value_and_place() {
        let event = |op, site| Event::new(ThreadId(1), op, site);
        let text = show(&[
            event(Op::read(VarId(2)).with_value(Value::int(-1)), SiteId(7)),
            event(Op::Acquire { lock: LockId(0), hold: Hold::Shared }, SiteId::NONE),
            event(Op::begin(LabelId::NONE), SiteId::NONE),
        ]);
        assert_eq!(text, "T1|r(x2)=-1|7\nT1|shared-acq(L0)\nT1|begin()\n");
    }
}
