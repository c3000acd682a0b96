//! Threads that are not in a plan are held, so that they do not spoil what a tear would show.

use std::sync::atomic::AtomicBool;

use untorn_explore::{Exploration, Options, Progress};

use crate::harness::{Folder, explore_in, options, program};

/// Two threads tear each other; others overwrite the variable. Only while they have not done so, the check of A can
/// fail.
fn spoiled(bystanders: usize) -> String {
    let others = |word: &str| format!("{word} By\n").repeat(bystanders);
    let a = "call C.move\nread x r\nadd r 1\nwrite x r\nread x s\nif s != 1 goto fine\n\
             read done d\nif d == 0 goto fine\nfail lost\n.fine\nreturn C.move\n";
    let b = "call C.move\nread x r\nadd r 1\nwrite x r\nwrite done 1\nreturn C.move\n";
    format!(
        "x = 0\ndone = 0\nthread main\n{}fork A\nfork B\njoin A\njoin B\n\
         thread A\n{a}thread B\n{b}thread By\nwrite x 9\n",
        others("fork")
    )
}

#[test]
fn any_number_of_bystanders_spoils_nothing() {
    for bystanders in [0, 1, 2, 5, 20, 100] {
        let before = directed_until_found(&spoiled(bystanders), "C.move");
        let before = before.unwrap_or_else(|| panic!("{bystanders} bystanders: nothing found"));
        assert!(before <= 3, "{bystanders} bystanders: {before} directed runs");
    }
}

/// How many directed runs were made when a block was first found torn.
fn directed_until_found(text: &str, block: &str) -> Option<u32> {
    let folder = Folder::new();
    let (mut directed, mut first) = (0, None);
    let mut watch = |progress: Progress<'_>| match progress {
        Progress::Running { target: Some(_), .. } => directed += 1,
        Progress::Violation(found) if found.key.block == block => {
            first.get_or_insert(directed);
        }
        _ => {}
    };
    let (stop, mut front_end) = (AtomicBool::new(false), program(text));
    let options = Options { runs: 40, ..options() };
    let exploration = Exploration::new(&mut front_end, options, &folder.0, &stop, &mut watch);
    exploration.run().expect("it runs");
    first
}

/// The threads of the plan wait for the end of one that is not in it, and that touches the same variable.
#[test]
fn a_bystander_that_is_needed_is_let_go() {
    let add = "join C\ncall C.add\nread x r\nadd r 1\nwrite x r\nreturn C.add\n";
    let text = format!(
        "x = 0\nthread main\nfork C\nfork A\nfork B\njoin A\njoin B\n\
         thread A\n{add}thread B\n{add}thread C\nread y r\nwrite x 0\n"
    );
    let folder = Folder::new();
    let mut front_end = program(&format!("y = 0\n{text}"));
    let outcome = explore_in(&folder, &mut front_end, options()).expect("it runs");
    assert!(outcome.violations.iter().any(|found| found.key.block == "C.add"));
}
