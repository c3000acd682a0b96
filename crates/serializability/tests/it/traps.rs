//! Traces that are easy to get wrong, each named after the error it would show. All exact checkers
//! run all of them.

use untorn_serializability::aerodrome::AeroDrome;
use untorn_serializability::fast::Fast;
use untorn_serializability::velodrome::Velodrome;
use untorn_serializability::{Checker, Outcome, Verdict};
use untorn_testkit::{first_violation, script};
use untorn_trace::{EventIdx, Trace};

fn run(mut checker: impl Checker, trace: &Trace) -> Outcome {
    let _ = checker.events(EventIdx(0), &trace.events);
    checker.finish()
}

fn at(outcome: &Outcome) -> Option<u64> {
    match outcome.verdict {
        Verdict::NotSerializable { at, .. } => Some(at.0),
        _ => None,
    }
}

/// The trace violates atomicity first at step `expected`, counted from 0; or never.
fn expect(expected: Option<u64>, text: &str) {
    let trace = script(text);
    assert_eq!(first_violation(&trace.events).map(|at| at.0), expected, "oracle");
    assert_eq!(at(&run(Fast::new(), &trace)), expected, "fast");
    assert_eq!(at(&run(Velodrome::new(), &trace)), expected, "velodrome");
    let aerodrome = at(&run(AeroDrome::new(), &trace));
    assert_eq!(aerodrome.is_some(), expected.is_some(), "aerodrome");
}

#[test]
fn a_cycle_through_two_transactions_of_one_thread() {
    expect(
        Some(8),
        "T0 begin; T0 w(x); T1 begin; T1 r(x); T1 end; T1 begin; T1 w(y); T1 end; T0 w(y); T0 end",
    );
}

#[test]
fn an_outside_operation_is_not_part_of_a_running_transaction() {
    expect(Some(4), "T1 begin; T1 w(x); T2 r(x); T2 w(y); T1 r(y); T1 end");
}

#[test]
fn consecutive_outside_operations_are_two_transactions() {
    // T2 writes y before it hears of T1: T1 may come in between.
    expect(None, "T1 begin; T1 w(x); T2 w(y); T2 r(x); T1 r(y); T1 end");
}

#[test]
fn a_foreign_read_between_own_writes_counts() {
    expect(Some(3), "T1 begin; T1 w(x); T2 r(x); T1 w(x); T1 end");
}

#[test]
fn an_inner_end_does_not_close_the_transaction() {
    expect(Some(5), "T1 begin A; T1 begin B; T1 r(x); T1 end B; T2 w(x); T1 w(x); T1 end A");
}

#[test]
fn an_ended_transaction_is_forgotten() {
    expect(None, "T1 begin; T1 w(x); T2 r(x); T1 end; T1 begin; T2 w(y); T1 r(y); T1 end");
}

#[test]
fn new_ancestors_reach_finished_transactions() {
    // T3 finished after T2; only then T2 comes after T1; so T1 must not come after T3.
    expect(
        Some(8),
        "T1 begin; T1 w(a); T2 begin; T2 w(b); T3 r(b); T3 w(c); T2 r(a); T2 end; T1 r(c); T1 end",
    );
}

#[test]
fn new_ancestors_reach_open_transactions() {
    expect(
        Some(8),
        "T1 begin; T1 w(a); T2 begin; T2 w(b); T3 begin; T3 r(b); T2 r(a); T3 w(c); T1 r(c); T1 end",
    );
}

#[test]
fn joining_a_thread_that_never_ran_is_no_cycle() {
    expect(None, "T1 begin; T1 fork(T2); T1 join(T2); T1 end");
}

#[test]
fn a_block_that_forks_and_joins_a_thread_that_ran_is_a_cycle() {
    expect(Some(3), "T1 begin; T1 fork(T2); T2 r(x); T1 join(T2); T1 end");
}

#[test]
fn re_entering_a_lock_makes_no_edge() {
    expect(
        None,
        "T1 acq(m); T1 begin; T1 acq(m); T1 rel(m); T1 end; T1 rel(m); T2 acq(m); T2 rel(m)",
    );
}

#[test]
fn shared_holders_do_not_order_each_other() {
    expect(
        None,
        "T1 begin; T1 acqs(m); T2 begin; T2 acqs(m); T1 rels(m); T2 rels(m); T1 acqs(m); T1 rels(m); T1 end",
    );
}

#[test]
fn an_exclusive_holder_tears_two_shared_sections() {
    expect(
        Some(5),
        "T1 begin; T1 acqs(m); T1 rels(m); T2 acq(m); T2 rel(m); T1 acqs(m); T1 rels(m); T1 end",
    );
}

#[test]
fn waiting_gives_the_lock_away() {
    expect(
        Some(5),
        "T1 begin; T1 acq(m); T1 wait(m); T2 acq(m); T2 rel(m); T1 resume(m); T1 rel(m); T1 end",
    );
}

/// A read that only an edge of an already closed cycle kept alive was dropped, and with it the
/// blame for the second block.
#[test]
fn a_torn_block_is_blamed_after_an_earlier_cycle() {
    let trace = script(
        "T1 begin A; T1 r(x); T0 begin B; T0 w(x); T1 r(x); T1 end A; T0 r(x); T0 w(x); T0 end B",
    );
    let outcome = run(Velodrome::new(), &trace);
    let refuted: Vec<u64> =
        outcome.violations.iter().flat_map(|v| v.refuted.iter().map(|b| b.begin.0)).collect();
    assert_eq!(refuted, [0, 2]);
}

#[test]
fn more_blocks_open_at_once_than_a_machine_word() {
    for threads in [63, 64, 65, 300, 1100, 4096] {
        let mut text = String::new();
        for t in 0..threads {
            text += &format!("T{t} begin; T{t} w(x{t});");
        }
        for t in 1..threads {
            text += &format!("T{t} r(x{});", t - 1);
        }
        let clean = script(&text);
        assert_eq!(at(&run(Fast::new(), &clean)), None, "{threads} threads in a row");
        text += &format!("T0 r(x{})", threads - 1);
        let cyclic = script(&text);
        let last = cyclic.events.len() as u64 - 1;
        assert_eq!(at(&run(Fast::new(), &cyclic)), Some(last), "{threads} threads in a ring");
    }
}

#[test]
fn more_open_blocks_than_there_are_columns_is_said() {
    let text: String = (0..4097).map(|t| format!("T{t} begin;")).collect();
    assert_eq!(run(Fast::new(), &script(&text)).verdict, Verdict::Undecided);
}
