use untorn_trace::{Event, LabelId, SiteId, ThreadId, VarFacts};

use super::*;
use crate::random::name_tables;

fn at(thread: u32, op: Op) -> Event {
    Event::new(ThreadId(thread), op, SiteId::NONE)
}

fn r(thread: u32, value: i64) -> Event {
    at(thread, Op::read(VarId(0)).with_value(Value::int(value)))
}

fn w(thread: u32, value: i64) -> Event {
    at(thread, Op::write(VarId(0)).with_value(Value::int(value)))
}

fn begin(thread: u32) -> Event {
    at(thread, Op::begin(LabelId::NONE))
}

fn end(thread: u32) -> Event {
    at(thread, Op::End { label: LabelId::NONE })
}

fn truth(events: &[Event]) -> Truth {
    value_atomic(events, &name_tables(events))
}

#[test]
fn a_lost_update_is_not_atomic() {
    let events = [begin(0), r(0, 0), begin(1), r(1, 0), w(1, 1), end(1), w(0, 2), end(0)];
    assert_eq!(truth(&events), Truth::NotAtomic);
}

#[test]
fn a_third_block_may_bring_the_value_back() {
    let events = [w(2, 0), begin(0), r(0, 0), begin(1), r(1, 0), w(1, 1), end(1), w(0, 2), end(0)];
    assert_eq!(truth(&events), Truth::Atomic);
    let order = [1, 4, 0].map(|_| EventIdx(0));
    let tables = name_tables(&events);
    assert_eq!(check_serial_order(&events, &tables, &order), Err(OrderFault::NotAPermutation));
    let order = [EventIdx(2), EventIdx(0), EventIdx(4)];
    assert_eq!(check_serial_order(&events, &tables, &order), Ok(()));
    let order = [EventIdx(2), EventIdx(4), EventIdx(0)];
    let wrong = Err(OrderFault::WrongValue(EventIdx(4)));
    assert_eq!(check_serial_order(&events, &tables, &order), wrong);
}

#[test]
fn unknown_values_leave_it_open() {
    let write = at(0, Op::write(VarId(0)));
    // T1 reads 0 before and after T0 wrote something: only 0 can have been written.
    let events = [begin(1), r(1, 0), write, r(1, 0), end(1)];
    assert_eq!(truth(&events), Truth::Atomic);
    // T0 writes an unknown value and 0 again, in one block that T1's first read interrupts: T1 can run first.
    let events = [begin(0), write, begin(1), at(1, Op::read(VarId(0))), end(1), w(0, 0), end(0)];
    assert_eq!(truth(&events), Truth::Open);
}

#[test]
fn a_trace_that_contradicts_itself_is_never_atomic() {
    assert_eq!(truth(&[r(0, 1)]), Truth::Open);
    let mut tables = name_tables(&[r(0, 1)]);
    tables.set_var_facts(VarId(0), VarFacts::default());
    assert_eq!(value_atomic(&[r(0, 1)], &tables), Truth::Atomic);
}

#[test]
fn a_block_that_waits_for_its_own_child_is_cut() {
    let child = ThreadId(1);
    let fork = at(0, Op::Fork { child });
    let join = at(0, Op::Join { child });
    let events = [begin(0), w(0, 1), fork, r(1, 1), w(1, 2), join, r(0, 2), end(0)];
    assert_eq!(truth(&events), Truth::Atomic);
    let order = [1, 3, 4, 6].map(EventIdx);
    assert_eq!(check_serial_order(&events, &name_tables(&events), &order), Ok(()));
    let order = [3, 1, 4, 6].map(EventIdx);
    let broken = Err(OrderFault::OrderBroken(0));
    assert_eq!(check_serial_order(&events, &name_tables(&events), &order), broken);
}
