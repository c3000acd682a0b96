//! Inferred blocks: activations of methods. Only a lost update is reported by its values alone; everything
//! else needs something that a person would notice.

use crate::harness::{explore, finds, found, two, two_then};

fn method(lines: &str) -> String {
    format!("call Account.pay\n{lines}\nreturn Account.pay")
}

fn update() -> String {
    method("read x r\nadd r 1\nwrite x r")
}

finds! {
    a_lost_update_in_a_method: two("x = 0", &update(), &update())
        => ["inferred Account.pay x RWW"];
    a_method_under_a_lock: two(
        "x = 0",
        &format!("lock m\n{}\nunlock m", update()),
        &format!("lock m\n{}\nunlock m", update()),
    ) => [];
    a_method_that_takes_the_lock_itself: two(
        "x = 0",
        &method("lock m\nread x r\nadd r 1\nwrite x r\nunlock m"),
        &method("lock m\nread x r\nadd r 1\nwrite x r\nunlock m"),
    ) => [];
    a_method_that_takes_the_lock_twice: two(
        "x = 0",
        &method("lock m\nread x r\nunlock m\nadd r 1\nlock m\nwrite x r\nunlock m"),
        &method("lock m\nread x r\nunlock m\nadd r 1\nlock m\nwrite x r\nunlock m"),
    ) => ["inferred Account.pay x RWW"];
    two_reads_that_nobody_compares: two("x = 0", &method("read x r\nread x s"), "write x 2") => [];
    a_read_of_half_a_change_that_nobody_notices: two(
        "x = 0", &method("write x 1\nwrite x 2"), "read x r") => [];
    a_volatile_counter: two(
        "x = 0",
        &method("vread x r\nadd r 1\nvwrite x r"),
        &method("vread x r\nadd r 1\nvwrite x r"),
    ) => ["inferred Account.pay x RWW"];
    methods_of_two_variables_do_not_meet: two(
        "x = 0\ny = 0", &update(), &method("read y r\nadd r 1\nwrite y r")) => [];
}

finds! {
    two_reads_that_differ_and_fail: two(
        "x = 0",
        &method("read x r\nread x s\nif r == s goto same\nfail x changed\n.same"),
        "write x 2",
    ) => ["inferred Account.pay x RWR"];
    half_a_change_that_is_printed: two(
        "x = 0",
        &method("write x 1\nwrite x 2"),
        "read x r\nif r != 1 goto fine\nprint half\n.fine",
    ) => ["inferred Account.pay x WRW"];
    a_check_that_is_outdated_when_it_is_used: two(
        "x = 1",
        &method("read x r\nif r == 0 goto empty\nread x s\nif s != 0 goto empty\nfail taken\n.empty"),
        "write x 0",
    ) => ["inferred Account.pay x RWR"];
}

/// The paper's bank account: both see enough, and the balance is wrong in the end.
fn bank(balance: u32) -> String {
    let withdraw = |amount: u32| {
        format!(
            "call Account.withdraw\nread balance r\nif r < {amount} goto poor\nadd r -{amount}\n\
             write balance r\n.poor\nreturn Account.withdraw"
        )
    };
    two_then(
        &format!("balance = {balance}"),
        &withdraw(30),
        &withdraw(50),
        "read balance r\nprint balance $r",
    )
}

#[test]
fn a_withdrawal_is_lost() {
    assert_eq!(found(&bank(100)), ["inferred Account.withdraw balance RWW"]);
}

#[test]
fn the_lost_withdrawal_is_visible() {
    let outcome = explore(&bank(100));
    let effects: Vec<String> =
        outcome.violations[0].judged.effects.iter().map(ToString::to_string).collect();
    assert_eq!(effects.len(), 1, "{effects:?}");
    assert!(effects[0].contains("balance 70") || effects[0].contains("balance 50"), "{effects:?}");
}

#[test]
fn an_account_without_money_has_nothing_to_lose() {
    assert_eq!(found(&bank(0)), [] as [&str; 0]);
}

#[test]
fn two_methods_are_two_findings() {
    let lines = |name: &str, var: &str| {
        format!("call {name}\nread {var} r\nadd r 1\nwrite {var} r\nreturn {name}\n")
    };
    let body = lines("C.first", "x") + &lines("C.second", "y");
    let all = found(&two("x = 0\ny = 0", &body, &body));
    assert_eq!(all, ["inferred C.first x RWW", "inferred C.second y RWW"]);
}

#[test]
fn two_fields_of_one_method_are_two_findings() {
    let body = method("read x r\nadd r 1\nwrite x r\nread y r\nadd r 1\nwrite y r");
    let all = found(&two("x = 0\ny = 0", &body, &body));
    assert_eq!(all, ["inferred Account.pay x RWW", "inferred Account.pay y RWW"]);
}

#[test]
fn a_declared_block_is_one_finding_for_each_variable() {
    let body =
        "atomic A.block\nread x r\nadd r 1\nwrite x r\nread y r\nadd r 1\nwrite y r\nend A.block";
    assert_eq!(explore(&two("x = 0\ny = 0", body, body)).violations.len(), 2);
}
