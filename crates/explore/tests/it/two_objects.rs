//! Blocks over two objects: what belongs together need not be part of one object.

use crate::harness::{finds, found, two, two_then};

/// A transfer between two accounts, each locked by itself, and somebody who adds them up.
fn transfer(lock: [&str; 2], unlock: [&str; 2]) -> String {
    let add = |number: u32, amount: i32| {
        format!(
            "lock m{number}\nread Purse#{number}.balance r\nadd r {amount}\n\
             write Purse#{number}.balance r\nunlock m{number}\n"
        )
    };
    let read = |number: u32, into: &str| {
        format!("lock m{number}\nread Purse#{number}.balance {into}\nunlock m{number}\n")
    };
    let clerk = format!(
        "call Bank.transfer\n{}\n{}{}{}\nreturn Bank.transfer",
        lock[0],
        add(1, -50),
        add(2, 50),
        unlock[0]
    );
    let auditor = format!(
        "call Bank.audit\n{}\n{}{}{}\nprint saw $a and $b\nreturn Bank.audit",
        lock[1],
        read(1, "a"),
        read(2, "b"),
        unlock[1]
    );
    two("Purse#1.balance = 100\nPurse#2.balance = 100", &clerk, &auditor)
}

#[test]
fn a_transfer_is_seen_half_done() {
    let all = found(&transfer([""; 2], [""; 2]));
    assert_eq!(all, ["inferred Bank.transfer Purse.balance WRRW"]);
}

#[test]
fn one_lock_around_both_protects() {
    assert_eq!(found(&transfer(["lock all"; 2], ["unlock all"; 2])), [] as [&str; 0]);
}

#[test]
fn another_lock_does_not() {
    let text = transfer(
        ["sync all Bank.transfer", "sync other Bank.audit"],
        ["endsync all Bank.transfer", "endsync other Bank.audit"],
    );
    // Two blocks that interrupt each other are one finding.
    let all = found(&text);
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].starts_with("declared Bank.") && all[0].contains(" Purse.balance "), "{all:?}");
}

/// Each leaves if the other one is there. In good runs one stays, and does not write.
fn skew(open: &str, close: &str) -> String {
    let leave = |own: u32, other: u32| {
        format!(
            "{open}\nread Doctor#{other}.is_there r\nif r == 0 goto stay\n\
             write Doctor#{own}.is_there 0\n.stay\n{close}"
        )
    };
    let end = "read Doctor#1.is_there a\nread Doctor#2.is_there b\nadd a b\n\
               if a != 0 goto fine\nfail nobody is there\n.fine";
    two_then("Doctor#1.is_there = 1\nDoctor#2.is_there = 1", &leave(1, 2), &leave(2, 1), end)
}

#[test]
fn write_skew_over_two_objects_is_found() {
    let all = found(&skew("call Ward.leave", "return Ward.leave"));
    assert_eq!(all, ["inferred Ward.leave Doctor.is_there RRWW"]);
}

#[test]
fn declaring_it_loses_nothing() {
    let all = found(&skew("atomic Ward.leave", "end Ward.leave"));
    assert_eq!(all, ["declared Ward.leave Doctor.is_there RRWW"]);
}

finds! {
    // Nothing to be seen: that two objects belong together is a guess, and nobody is harmed.
    two_objects_without_an_effect_are_no_violation: two(
        "A#1.x = 0\nB#1.y = 0",
        "call C.write\nwrite A#1.x 1\nwrite B#1.y 1\nreturn C.write",
        "call C.read\nread A#1.x r\nread B#1.y s\nreturn C.read",
    ) => [];
    // Of a declared block the values are enough.
    a_declared_block_needs_no_effect: two(
        "A#1.x = 0\nB#1.y = 0",
        "atomic C.write\nwrite A#1.x 1\nwrite B#1.y 1\nend C.write",
        "atomic C.read\nread A#1.x r\nread B#1.y s\nend C.read",
    ) => ["declared C.write A.x and B.y WRRW"];
    // Two blocks that write the same values in any order.
    a_declared_block_whose_values_are_serial_is_no_violation: two(
        "A#1.x = 0\nB#1.y = 0",
        "atomic C.one\nwrite A#1.x 1\nwrite B#1.y 1\nend C.one",
        "atomic C.two\nwrite A#1.x 1\nwrite B#1.y 1\nend C.two",
    ) => [];
}
