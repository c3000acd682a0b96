//! Does a violation matter? Each pattern without harm beside a twin that has some.

use untorn_explore::{Benign, Options, Outcome, Significance};
use untorn_schedule::{PolicyKind, RunSpec};

use crate::harness::{all, explore, explore_with, options, two, two_then, words};

/// What is without harm, and why.
fn benign(outcome: &Outcome) -> Vec<(String, Benign)> {
    let why = |found: &untorn_explore::AtomicityViolation| found.significance.benign();
    outcome.folded.iter().filter_map(|found| Some((words(found), why(found)?))).collect()
}

fn significances(outcome: &Outcome) -> Vec<Significance> {
    outcome.violations.iter().map(|found| found.significance).collect()
}

fn update(name: &str) -> String {
    format!("call {name}\nread x r\nadd r 1\nwrite x r\nreturn {name}")
}

#[test]
fn writing_what_is_there_loses_nothing() {
    let section = "sync m C.add\nread x r\nadd r 1\nwrite x r\nendsync m C.add";
    let outcome = explore(&two("x = 0", section, "write x 0"));
    assert_eq!(all(&outcome), [] as [&str; 0]);
    assert_eq!(benign(&outcome), [("declared C.add x RWW".to_owned(), Benign::SameValue)]);
    // Something else: that write is lost.
    let twin = explore(&two("x = 0", section, "write x 5"));
    assert_eq!(all(&twin), ["declared C.add x RWW"]);
}

/// A flag that says *busy* is meant to be seen, by those who only look.
#[test]
fn a_value_that_is_put_back_is_meant_to_be_seen() {
    let work = "sync m Job.run\nwrite busy 1\nwrite busy 0\nendsync m Job.run";
    let look = |end: &str| format!("call Job.peek\nread busy r\n{end}\nreturn Job.peek");
    let outcome = explore(&two("busy = 0", work, &look("")));
    assert_eq!(all(&outcome), [] as [&str; 0]);
    assert!(benign(&outcome).iter().any(|(_, why)| *why == Benign::PutBack));
    // Who writes down what it saw lets it out.
    let twin = explore(&two("busy = 0\nseen = 0", work, &look("write seen r")));
    assert_eq!(all(&twin), ["declared Job.run busy WRW"]);
}

/// Two reads of a critical section, and a write that some serial order puts before both.
#[test]
fn a_critical_section_that_might_have_been_serial_does_no_harm() {
    let section = |name: &str| (format!("sync m {name}"), format!("endsync m {name}"));
    let (open, close) = section("C.fill");
    let fill = format!("{open}\nwrite x 1\nwrite x 2\n{close}");
    let blind = "write x 7";
    let outcome = explore(&two("x = 0", &fill, blind));
    assert_eq!(all(&outcome), [] as [&str; 0]);
    assert!(
        benign(&outcome).iter().any(|(_, why)| *why == Benign::Serial),
        "{:?}",
        benign(&outcome)
    );
    // A block that the user named is meant to be atomic, whatever the values.
    let named = "atomic C.fill\nwrite x 1\nwrite x 2\nend C.fill";
    let outcome = explore(&two("x = 0", named, blind));
    assert_eq!(significances(&outcome), [Significance::ConflictOnly]);
}

#[test]
fn what_is_visible_is_never_without_harm() {
    let work = "sync m Job.run\nwrite busy 1\nwrite busy 0\nendsync m Job.run";
    let look =
        "call Job.peek\nread busy r\nif r == 0 goto idle\nprint busy\n.idle\nreturn Job.peek";
    let initial = vec![RunSpec::policy(PolicyKind::RunToBlock, 0)];
    let options = Options { initial, explore: Some(0), ..options() };
    let outcome = explore_with(&two("busy = 0", work, look), options);
    assert_eq!(significances(&outcome), [Significance::Visible]);
    assert_eq!(benign(&outcome), []);
}

/// A number that is counted beside something else, and that nobody ever looks at.
#[test]
fn a_statistic_matters_less_than_other_numbers() {
    let get = "call C.get\nread data d\nread hits r\nadd r 1\nwrite hits r\nreturn C.get";
    let outcome = explore(&two("data = 0\nhits = 0", get, get));
    assert_eq!(significances(&outcome), [Significance::Statistic]);
    let twin = explore(&two_then("data = 0\nhits = 0", get, get, "read hits r"));
    assert_eq!(significances(&twin), [Significance::LostUpdate]);
    // Counting is all that it does.
    let only = explore(&two("x = 0", &update("C.add"), &update("C.add")));
    assert_eq!(significances(&only), [Significance::LostUpdate]);
}

/// *If it is not there, put it there*, by two threads: who finds it leaves it.
#[test]
fn to_act_twice_on_one_check_is_told_apart_from_counting() {
    let reserve =
        "call Seat.reserve\nread x r\nif r != 0 goto taken\nwrite x 1\n.taken\nreturn Seat.reserve";
    let text = format!("x = 0\nthread main\nfork W\nfork W\nthread W\n{reserve}\n");
    assert_eq!(significances(&explore(&text)), [Significance::ActedTwice]);
}
