//! Declared blocks: every unserializable interleaving of one variable is found, and no other is.

use untorn_explore::Options;

use crate::harness::{explore_with, finds, found, options, two};

/// A declared block with two accesses of `x`, and one access by another thread.
fn triple(first: &str, other: &str, last: &str) -> String {
    let access = |letter: &str, value: u32| match letter {
        "R" => "read x r".to_owned(),
        _ => format!("write x {value}"),
    };
    let a = format!("atomic A.block\n{}\n{}\nend A.block", access(first, 1), access(last, 3));
    two("x = 0", &a, &access(other, 2))
}

finds! {
    two_reads_with_a_write_between: triple("R", "W", "R") => ["declared A.block x RWR"];
    a_write_and_a_read_with_a_write_between: triple("W", "W", "R") => ["declared A.block x WWR"];
    a_lost_update: triple("R", "W", "W") => ["declared A.block x RWW"];
    an_intermediate_value_that_is_read: triple("W", "R", "W") => ["declared A.block x WRW"];
    three_reads_conflict_with_nothing: triple("R", "R", "R") => [];
    a_read_between_a_read_and_a_write: triple("R", "R", "W") => [];
    a_read_between_a_write_and_a_read: triple("W", "R", "R") => [];
    // Conflicts refute a declared block even if no values do.
    a_write_between_two_writes: triple("W", "W", "W") => ["declared A.block x WWW"];
}

/// The other side is a block as well.
fn both(a: [&str; 2], b: [&str; 2]) -> String {
    let block = |name: &str, lines: [&str; 2]| {
        format!("atomic {name}\n{}\n{}\nend {name}", lines[0], lines[1])
    };
    two("x = 0\ny = 0", &block("A.block", a), &block("B.block", b))
}

finds! {
    two_updates_lose_one: both(["read x r", "write x 1"], ["read x r", "write x 2"])
        => ["declared A.block x RWW", "declared B.block x RWW"];
    blocks_of_other_variables_do_not_meet: both(["read x r", "write x 1"], ["read y r", "write y 2"])
        => [];
    readers_do_not_disturb_each_other: both(["read x r", "read x s"], ["read x r", "read x s"]) => [];
    a_reader_sees_half_of_a_change: both(["write x 1", "write x 2"], ["read x r", "read x s"])
        => ["declared A.block x WRW", "declared B.block x RWR"];
}

/// Both accesses under a lock that is released between them, or not.
fn guarded(lock_a: &str, lock_b: &str, is_whole: bool) -> String {
    let a = if is_whole {
        format!("atomic A.block\nlock {lock_a}\nread x r\nwrite x 1\nunlock {lock_a}\nend A.block")
    } else {
        format!(
            "atomic A.block\nlock {lock_a}\nread x r\nunlock {lock_a}\nlock {lock_a}\nwrite x 1\n\
             unlock {lock_a}\nend A.block"
        )
    };
    two("x = 0", &a, &format!("lock {lock_b}\nwrite x 2\nunlock {lock_b}"))
}

finds! {
    a_lock_around_all_of_it_protects: guarded("m", "m", true) => [];
    another_lock_does_not_protect: guarded("m", "n", true) => ["declared A.block x RWW"];
    a_lock_around_each_access_does_not_protect: guarded("m", "m", false)
        => ["declared A.block x RWW"];
    two_locks_around_each_access_do_not_protect: guarded("m", "n", false)
        => ["declared A.block x RWW"];
}

/// A synchronized block is declared by its lock; what is inside is safe from those who take it.
fn synchronized(other: &str) -> String {
    two("x = 0", "sync m A.block\nread x r\nadd r 1\nwrite x r\nendsync m A.block", other)
}

finds! {
    a_synchronized_block_against_another: synchronized(
        "sync m B.block\nread x r\nadd r 1\nwrite x r\nendsync m B.block") => [];
    a_synchronized_block_against_one_who_takes_the_lock: synchronized("lock m\nwrite x 7\nunlock m")
        => [];
    a_synchronized_block_against_one_who_does_not: synchronized("write x 7")
        => ["declared A.block x RWW"];
    a_synchronized_block_against_one_who_takes_another: synchronized(
        "sync n B.block\nread x r\nadd r 1\nwrite x r\nendsync n B.block")
        => ["declared A.block x RWW", "declared B.block x RWW"];
}

finds! {
    what_happens_before_the_fork_is_ordered:
        "x = 0\nthread main\natomic M.block\nread x r\nwrite x 1\nend M.block\nfork A\njoin A\n\
         thread A\nwrite x 2\n" => [];
    what_happens_after_the_join_is_ordered:
        "x = 0\nthread main\nfork A\njoin A\natomic M.block\nread x r\nwrite x 1\nend M.block\n\
         thread A\nwrite x 2\n" => [];
    what_happens_beside_the_thread_is_not:
        "x = 0\nthread main\nfork A\natomic M.block\nread x r\nwrite x 1\nend M.block\njoin A\n\
         thread A\nwrite x 2\n" => ["declared M.block x RWW"];
    one_thread_alone_is_never_interrupted:
        "x = 0\nthread main\natomic M.block\nread x r\nwrite x 1\nend M.block\n" => [];
}

finds! {
    a_nested_block_is_part_of_the_outer_one: two(
        "x = 0",
        "atomic A.outer\nread x r\natomic A.inner\nwrite x 1\nend A.inner\nend A.outer",
        "write x 2",
    ) => ["declared A.outer x RWW"];
    two_blocks_one_after_the_other_are_two: two(
        "x = 0",
        "atomic A.one\nread x r\nend A.one\natomic A.two\nwrite x 1\nend A.two",
        "write x 2",
    ) => [];
    an_update_by_one_instruction_is_one_step: two("x = 0", "inc x", "inc x") => [];
    a_branch_that_the_plan_must_take: two(
        "x = 0\ngo = 1",
        "read go g\nif g == 0 goto out\natomic A.block\nread x r\nwrite x 1\nend A.block\n.out",
        "write x 2",
    ) => ["declared A.block x RWW"];
    a_loop_in_which_the_second_round_is_torn: two(
        "x = 0",
        "set i 0\n.again\natomic A.block\nread x r\nadd r 1\nwrite x r\nend A.block\nadd i 1\n\
         if i < 3 goto again",
        "write x 9",
    ) => ["declared A.block x RWW"];
}

#[test]
fn the_same_block_in_many_threads_is_one_finding() {
    let body = "atomic Counter.add\nread x r\nadd r 1\nwrite x r\nend Counter.add\n";
    let threads = ["A", "B", "C", "D"];
    let forks: String = threads.iter().map(|name| format!("fork {name}\n")).collect();
    let joins: String = threads.iter().map(|name| format!("join {name}\n")).collect();
    let bodies: String = threads.iter().map(|name| format!("thread {name}\n{body}")).collect();
    let text = format!("x = 0\nthread main\n{forks}{joins}{bodies}");
    assert_eq!(found(&text), ["declared Counter.add x RWW"]);
}

/// *If it is not in there, add it*, by two threads that run the same code: in good runs only one of them adds.
fn add_once(open: &str, act: &str, close: &str) -> String {
    format!(
        "x = 0\nthread main\nfork W\nfork W\n\
         thread W\n{open}\nread x r\nif r != 0 goto there\n{act}\n.there\n{close}\n"
    )
}

#[test]
fn declaring_a_check_then_act_loses_nothing() {
    let finds = |text: &str| {
        // One good run, and then directed ones only.
        let initial = options().initial[..1].to_vec();
        let options = Options { explore: Some(0), initial, ..options() };
        !explore_with(text, options).violations.is_empty()
    };
    assert!(finds(&add_once("call Set.add", "write x 1", "return Set.add")), "inferred");
    assert!(finds(&add_once("atomic Set.add", "write x 1", "end Set.add")), "declared");
    // An atomic update, whose read comes between the check and the act.
    assert!(finds(&add_once("atomic Set.add", "inc x", "end Set.add")), "declared update");
}

/// Every method is taken to be atomic, but for the body of a thread: what its calls do together is looked at all the same.
#[test]
fn declaring_every_method_loses_nothing_between_them() {
    let body = "atomic Worker.run\natomic C.look\nread x r\nend C.look\natomic C.pay\nadd r -1\n\
                write x r\nend C.pay\nend Worker.run\n";
    let text = format!("x = 5\nentry Worker.run\nthread main\nfork W\nfork W\nthread W\n{body}");
    let outcome = explore_with(&text, Options { all_methods: true, ..options() });
    assert_eq!(crate::harness::all(&outcome), ["inferred Worker.run x RWW"]);
}

/// A method that is refuted because of one variable is still looked at for others.
#[test]
fn a_refuted_method_goes_on_being_chased() {
    let body =
        "atomic C.move\nread x r\nadd r 1\nwrite x r\nread y r\nadd r 1\nwrite y r\nend C.move\n";
    let text = format!("x = 0\ny = 0\nthread main\nfork W\nfork W\nthread W\n{body}");
    let outcome = explore_with(&text, Options { all_methods: true, ..options() });
    let all = crate::harness::all(&outcome);
    for variable in ["x", "y"] {
        let is_about = |one: &String| one.contains(&format!("C.move {variable} RWW"));
        assert!(all.iter().any(is_about), "no {variable}: {all:?}");
    }
}
