//! The programs of `examples/native`: each says in its header what is to be found.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use untorn_explore::{AtomicityViolation, Exploration, Options, Outcome, ReplayResult};
use untorn_frontend::compare::{Compared, compare, names};
use untorn_schedule::{PolicyKind, RunSpec};

use crate::harness::{Folder, random, stdout};

/// Enough for each of the programs several times over.
const RUNS: u32 = 120;

fn examples(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/native").join(folder);
    let files = std::fs::read_dir(&root).expect("the examples are there").flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn expected(source: &Path) -> String {
    let text = std::fs::read_to_string(source).expect("readable");
    let line = text.lines().find_map(|line| line.strip_prefix("// expect: "));
    line.unwrap_or_else(|| panic!("{} says nothing", source.display())).to_owned()
}

fn explore(source: &Path, atomic: &[&str]) -> Outcome {
    let folder = Folder::new();
    let program = folder.build(source);
    let mut runner = folder.prepare(&program, atomic);
    let options = Options { runs: RUNS, minimise: 0, ..Options::default() };
    let stop = AtomicBool::new(false);
    let mut watch = |_: untorn_explore::Progress<'_>| {};
    let exploration = Exploration::new(runner.as_mut(), options, folder.path(), &stop, &mut watch);
    exploration.run().expect("the program can be run")
}

/// Block and field of each violation.
fn torn(outcome: &Outcome) -> Vec<(String, String)> {
    let identities = outcome.violations.iter().map(|violation| violation.key.identity());
    identities.map(|identity| (identity.block, identity.field)).collect()
}

fn holds_what_it_says(source: &Path) {
    let (wanted, outcome) = (expected(source), explore(source, &[]));
    let name = source.display();
    let found = torn(&outcome);
    match wanted.split(' ').collect::<Vec<_>>()[..] {
        ["violation", "of", block, "on", field] => {
            let is_it = |(own, of): &(String, String)| own.ends_with(block) && of.contains(field);
            assert!(found.iter().any(is_it), "{name}: {found:?}");
            let is_exact =
                |violation: &AtomicityViolation| violation.evidence.replay == ReplayResult::Exact;
            let replayed = outcome.violations.iter().all(is_exact);
            assert!(replayed, "{name}");
        }
        ["deadlock"] => assert_eq!(outcome.deadlocks.len(), 1, "{name}"),
        ["failure"] => {
            let shown = !outcome.failures.is_empty() || !found.is_empty();
            assert!(shown, "{name}: {found:?}");
        }
        ["clean"] => {
            assert_eq!(found, [], "{name}");
            assert!(outcome.deadlocks.is_empty() && outcome.failures.is_empty(), "{name}");
        }
        _ => panic!("{name}: what is '{wanted}'?"),
    }
}

#[test]
fn what_can_be_torn_in_c_is_found() {
    examples("c/fail").iter().for_each(|source| holds_what_it_says(source));
}

#[test]
fn nothing_is_found_in_c_where_nothing_can_be_torn() {
    examples("c/pass").iter().for_each(|source| holds_what_it_says(source));
}

#[test]
fn cpp_is_explored_like_c() {
    ["cpp/fail", "cpp/pass"]
        .iter()
        .flat_map(|part| examples(part))
        .for_each(|source| holds_what_it_says(&source));
}

#[test]
fn a_function_can_be_named_as_atomic() {
    let source = &examples("c/fail").into_iter().find(|path| path.ends_with("lost_update.c"));
    let outcome = explore(source.as_deref().expect("the example is there"), &["bank_*"]);
    assert!(torn(&outcome).contains(&("bank_deposit".to_owned(), "balance".to_owned())));
}

/// The same description of a run gives the same bytes, and a replay the same events.
#[test]
fn runs_are_deterministic_and_replay_exactly() {
    for source in
        ["c/fail", "c/pass", "cpp/fail", "cpp/pass"].iter().flat_map(|part| examples(part))
    {
        let folder = Folder::new();
        let program = folder.build(&source);
        let mut runner = folder.prepare(&program, &[]);
        let [one, other, again] = ["one", "other", "again"].map(|name| folder.path().join(name));
        let pos = RunSpec::policy(PolicyKind::Pos, 5);
        for spec in [RunSpec::default(), random(1), random(2), pos] {
            let first = runner.run(&spec, &one).expect("it runs");
            let second = runner.run(&spec, &other).expect("it runs");
            let name = source.display();
            assert_eq!((first.exit, stdout(&first)), (second.exit, stdout(&second)), "{name}");
            let [left, right] = [&one, &other].map(|path| std::fs::read(path).expect("a trace"));
            assert!(left == right, "{name}: two runs of {spec:?} differ");
            let replayed = runner.replay(&one, &again).expect("it runs");
            assert_eq!((first.exit, stdout(&first)), (replayed.exit, stdout(&replayed)), "{name}");
            let compared = compare(&one, &again, &names).expect("two traces");
            assert!(
                matches!(compared, Compared::Same(events) if events > 0),
                "{name}: {compared:?}"
            );
        }
    }
}
