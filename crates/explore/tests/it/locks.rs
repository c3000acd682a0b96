//! Deadlocks: locks that are taken in different orders are tried, and what got stuck is told.

use crate::harness::{explore, two};

fn pair(first: &str, second: &str) -> String {
    format!("lock {first}\nlock {second}\nunlock {second}\nunlock {first}")
}

#[test]
fn two_locks_in_two_orders_deadlock() {
    let outcome = explore(&two("", &pair("m", "n"), &pair("n", "m")));
    assert_eq!(outcome.deadlocks.len(), 1);
    assert!(outcome.deadlocked_runs >= 1);
}

#[test]
fn two_locks_in_one_order_do_not() {
    let outcome = explore(&two("", &pair("m", "n"), &pair("m", "n")));
    assert_eq!((outcome.deadlocked_runs, outcome.deadlocks.len()), (0, 0));
}

#[test]
fn a_gate_around_both_orders_protects() {
    let gated = |pair: String| format!("lock gate\n{pair}\nunlock gate");
    let outcome = explore(&two("", &gated(pair("m", "n")), &gated(pair("n", "m"))));
    assert_eq!(outcome.deadlocked_runs, 0);
}

#[test]
fn different_gates_do_not_protect() {
    let gated = |gate: &str, pair: String| format!("lock {gate}\n{pair}\nunlock {gate}");
    let outcome = explore(&two("", &gated("g", pair("m", "n")), &gated("h", pair("n", "m"))));
    assert_eq!(outcome.deadlocks.len(), 1);
}

fn three(orders: [[&str; 2]; 3]) -> String {
    let bodies = ["A", "B", "C"]
        .iter()
        .zip(orders)
        .map(|(name, [first, second])| format!("thread {name}\n{}\n", pair(first, second)));
    format!(
        "thread main\nfork A\nfork B\nfork C\njoin A\njoin B\njoin C\n{}",
        bodies.collect::<String>()
    )
}

#[test]
fn three_locks_in_a_circle_deadlock() {
    let outcome = explore(&three([["l", "m"], ["m", "n"], ["n", "l"]]));
    assert_eq!(outcome.deadlocks.len(), 1);
    assert_eq!(outcome.deadlocks[0].stuck.threads.len(), 3);
}

#[test]
fn three_locks_in_one_order_do_not() {
    assert_eq!(explore(&three([["l", "m"], ["m", "n"], ["l", "n"]])).deadlocked_runs, 0);
}

#[test]
fn a_lock_taken_again_is_no_circle() {
    let again = "lock m\nlock m\nunlock m\nunlock m";
    assert_eq!(explore(&two("", again, again)).deadlocked_runs, 0);
}

#[test]
fn orders_of_one_thread_alone_are_no_circle() {
    let both = format!("{}\n{}", pair("m", "n"), pair("n", "m"));
    assert_eq!(explore(&format!("thread main\n{both}\n")).deadlocked_runs, 0);
}

#[test]
fn what_is_ordered_by_a_join_is_no_deadlock() {
    let text =
        format!("thread main\nfork A\njoin A\n{}\nthread A\n{}\n", pair("m", "n"), pair("n", "m"));
    assert_eq!(explore(&text).deadlocked_runs, 0);
}

#[test]
fn a_forgotten_notification_is_a_deadlock() {
    let outcome = explore(&two("", "lock m\nwait m\nunlock m", "print nobody notifies"));
    assert!(outcome.deadlocked_runs > 0);
    assert_eq!(outcome.deadlocks.len(), 1);
}

#[test]
fn a_notification_that_comes_too_early_is_a_deadlock_in_some_order() {
    let outcome = explore(&two("", "lock m\nwait m\nunlock m", "lock m\nnotify m\nunlock m"));
    assert_eq!(outcome.deadlocks.len(), 1);
}

#[test]
fn a_wait_in_a_loop_with_its_condition_is_fine() {
    let waits =
        "lock m\n.again\nread ready r\nif r == 1 goto done\nwait m\ngoto again\n.done\nunlock m";
    let notifies = "lock m\nwrite ready 1\nnotifyall m\nunlock m";
    assert_eq!(explore(&two("ready = 0", waits, notifies)).deadlocked_runs, 0);
}

#[test]
fn the_deadlock_names_who_holds_what() {
    let outcome = explore(&two("", &pair("m", "n"), &pair("n", "m")));
    let stuck = &outcome.deadlocks[0].stuck;
    let holders = stuck.threads.iter().filter(|thread| !thread.holds.is_empty()).count();
    assert_eq!(holders, 2);
    assert!(stuck.threads.iter().filter_map(|thread| thread.wants()).count() == 2);
}

#[test]
fn a_deadlock_and_a_violation_are_both_found() {
    let add = "call C.add\nread x r\nadd r 1\nwrite x r\nreturn C.add\n";
    let outcome = explore(&two(
        "x = 0",
        &format!("{add}{}", pair("m", "n")),
        &format!("{add}{}", pair("n", "m")),
    ));
    assert_eq!((outcome.violations.len(), outcome.deadlocks.len()), (1, 1));
}
