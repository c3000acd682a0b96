//! Rust programs: `examples/native/rust`, built by `untorn cargo`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use untorn_explore::{Exploration, Options, Outcome, ReplayResult};
use untorn_frontend::compare::{Compared, compare, names};
use untorn_native::cargo;

use crate::harness::{Folder, random, stdout};

/// Builds one of the programs.
fn build(folder: &Folder, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/native/rust");
    let words = ["build", "--quiet", "--offline", "--bin", name, "--manifest-path"];
    let mut words: Vec<OsString> = words.map(OsString::from).into();
    words.push(root.join("Cargo.toml").into());
    words.extend(["--target-dir".into(), folder.path().join("target").into()]);
    assert_eq!(cargo::run(&words), Ok(0), "{name}");
    folder.path().join("target/x86_64-unknown-linux-gnu/debug").join(name)
}

fn explore(name: &str) -> Outcome {
    let folder = Folder::new();
    let mut runner = folder.prepare(&build(&folder, name), &[]);
    let options = Options { runs: 40, minimise: 0, ..Options::default() };
    let stop = AtomicBool::new(false);
    let mut watch = |_: untorn_explore::Progress<'_>| {};
    let exploration = Exploration::new(runner.as_mut(), options, folder.path(), &stop, &mut watch);
    exploration.run().expect("the program can be run")
}

#[test]
fn an_update_between_two_guards_is_lost() {
    let outcome = explore("lost_update");
    let [violation] = &outcome.violations[..] else {
        panic!("{} violations", outcome.violations.len());
    };
    assert!(violation.key.identity().block.ends_with("deposit"));
    assert_eq!(violation.evidence.replay, ReplayResult::Exact);
}

/// The standard library's part of it counts as the line that called it.
#[test]
fn what_the_standard_library_does_belongs_to_its_caller() {
    for (name, function) in [("read_then_write", "get"), ("load_and_subtract", "reserve")] {
        let outcome = explore(name);
        let blocks = outcome.violations.iter().map(|violation| violation.key.identity().block);
        let blocks: Vec<String> = blocks.collect();
        assert!(blocks.iter().any(|block| block.ends_with(function)), "{name}: {blocks:?}");
    }
}

#[test]
fn nothing_is_found_where_nothing_can_be_torn() {
    for name in ["one_section", "compare_and_swap"] {
        let outcome = explore(name);
        assert_eq!(outcome.violations.len(), 0, "{name}");
        assert!(outcome.deadlocks.is_empty() && outcome.failures.is_empty(), "{name}");
    }
}

/// The standard library copies structures of which not all bytes were set: what the runtime left on the stack must not
/// be in them.
#[test]
fn runs_are_deterministic_and_replay_exactly() {
    let folder = Folder::new();
    let mut runner = folder.prepare(&build(&folder, "lost_update"), &[]);
    let [one, other, again] = ["one", "other", "again"].map(|name| folder.path().join(name));
    for seed in 1..4 {
        let first = runner.run(&random(seed), &one).expect("it runs");
        let second = runner.run(&random(seed), &other).expect("it runs");
        assert_eq!((first.exit, stdout(&first)), (second.exit, stdout(&second)));
        let [left, right] = [&one, &other].map(|path| std::fs::read(path).expect("a trace"));
        assert!(left == right, "two runs of seed {seed} differ");
        let replayed = runner.replay(&one, &again).expect("it runs");
        assert_eq!((first.exit, stdout(&first)), (replayed.exit, stdout(&replayed)));
        let compared = compare(&one, &again, &names).expect("two traces");
        assert!(matches!(compared, Compared::Same(events) if events > 0), "{compared:?}");
    }
}
