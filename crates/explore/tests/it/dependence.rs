//! A check and its act in different activations: one step if the value of the one decides the other.

use crate::harness::{explore, finds, found};

/// Three calls deep, each way: far below the method that makes both.
fn deep(name: &str, line: &str) -> String {
    format!("call {name}.a\ncall {name}.b\n{line}\nreturn {name}.b\nreturn {name}.a\n")
}

/// A read and a write below one method, and what is written.
fn far(write: &str) -> String {
    let (look, pay) = (deep("Look", "read x r"), deep("Pay", write));
    format!("call Shop.sell\n{look}{pay}return Shop.sell")
}

/// Two threads that run the same code.
fn twice(variables: &str, body: &str) -> String {
    format!("{variables}\nthread main\nfork W\nfork W\nthread W\n{body}\n")
}

finds! {
    a_value_that_is_handed_on_makes_one_step: twice("x = 5", &far("add r -1\nwrite x r"))
        => ["inferred Shop.sell x RWW"];
    // Whatever was read, the same is written: the one has nothing to do with the other.
    a_value_that_does_not_matter_makes_none: twice("x = 5", &far("write x 7")) => [];
}

/// The act happens only if the check says so.
#[test]
fn a_check_far_from_its_act_is_one_step() {
    let (check, act) = (deep("Look", "read x r"), deep("Take", "write x 1"));
    let body =
        format!("call Seat.reserve\n{check}if r != 0 goto taken\n{act}.taken\nreturn Seat.reserve");
    assert_eq!(found(&twice("x = 0", &body)), ["inferred Seat.reserve x RWW"]);
}

/// The body of a thread as a whole is no step, but what it reads, changes and writes back is.
#[test]
fn what_a_body_writes_back_is_one_step() {
    let body = |write: &str| format!("call Worker.run\nread x r\n{write}\nreturn Worker.run");
    let text = |write: &str| twice("x = 5\nentry Worker.run", &body(write));
    assert_eq!(found(&text("add r -1\nwrite x r")), ["inferred Worker.run x RWW"]);
    let constant = explore(&text("write x 7"));
    assert_eq!(constant.violations.len(), 0);
    assert!(constant.bodies > 0);
}

/// The same line of something that the body calls twice is no statement of the body.
#[test]
fn two_calls_in_a_body_are_two_statements() {
    let put = "call Queue.put\nlock m\nread x r\nprint saw $r\nunlock m\nreturn Queue.put\n";
    let text = format!(
        "x = 0\nentry Main.main\nthread main\nfork A\nfork B\n\
         thread A\ncall Main.main\n{put}{put}return Main.main\nthread B\nlock m\nwrite x 1\nunlock m\n"
    );
    assert_eq!(found(&text), [] as [&str; 0]);
}
