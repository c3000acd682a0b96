//! Budgets, parts of the work, strategies: what they limit and what they must not change.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use untorn_explore::{Exploration, Judge, Options, Planning, Progress, Shard, Strategy};
use untorn_predict::candidates::BlockScope;
use untorn_schedule::{Marks, PolicyKind, RunSpec, Steering, ThreadId};

use crate::harness::{Folder, all, explore, explore_in, explore_with, options, program, two};

fn update(name: &str, var: &str) -> String {
    format!("call {name}\nread {var} r\nadd r 1\nwrite {var} r\nreturn {name}\n")
}

fn lost() -> String {
    two("x = 0", &update("C.add", "x"), &update("C.add", "x"))
}

/// Eight methods, each of which loses updates.
fn many() -> String {
    let body: String = (0..8).map(|n| update(&format!("C.m{n}"), &format!("x{n}"))).collect();
    let variables: String = (0..8).map(|n| format!("x{n} = 0\n")).collect();
    two(&variables, &body, &body)
}

#[test]
fn no_more_runs_than_allowed() {
    for runs in 1..6 {
        let outcome = explore_with(&many(), Options { runs, ..options() });
        assert!(outcome.runs <= runs, "{} of {runs}", outcome.runs);
    }
}

#[test]
fn more_runs_never_find_less() {
    let mut before = 0;
    for runs in [1, 2, 3, 4, 6, 8, 12, 20, 40] {
        let found = explore_with(&many(), Options { runs, ..options() }).violations.len();
        assert!(found >= before, "{found} with {runs} runs, {before} with fewer");
        before = found;
    }
    assert_eq!(before, 8);
}

#[test]
fn declared_blocks_on_top_never_find_less() {
    let plain = all(&explore(&lost()));
    let declared = lost()
        .replace("thread A\n", "thread A\natomic Whole.a\n")
        .replace("thread B\n", "end Whole.a\nthread B\natomic Whole.b\n")
        + "end Whole.b\n";
    assert!(all(&explore(&declared)).len() >= plain.len());
}

#[test]
fn without_time_there_is_one_run_and_no_more() {
    let outcome = explore_with(&lost(), Options { time: Duration::ZERO, ..options() });
    assert_eq!((outcome.runs, outcome.violations.len()), (1, 0));
}

#[test]
fn who_is_stopped_stops() {
    let (folder, stop) = (Folder::new(), AtomicBool::new(true));
    let mut front_end = program(&lost());
    let outcome = Exploration::new(&mut front_end, options(), &folder.0, &stop, &mut |_| {}).run();
    let outcome = outcome.expect("nothing went wrong");
    assert!(outcome.interrupted);
    assert_eq!(outcome.runs, 0);
}

#[test]
fn the_same_seed_finds_the_same() {
    let of = || {
        let outcome = explore(&many());
        (all(&outcome), outcome.runs, outcome.directed, outcome.events)
    };
    assert_eq!(of(), of());
}

#[test]
fn the_parts_of_the_work_find_together_what_one_finds() {
    let whole = all(&explore(&many()));
    for count in [2, 3, 5] {
        let mut parts: Vec<String> = (0..count)
            .flat_map(|index| {
                let shard = Shard { index, count };
                all(&explore_with(&many(), Options { shard, ..options() }))
            })
            .collect();
        parts.sort();
        parts.dedup();
        assert_eq!(parts, whole, "{count} parts");
    }
}

#[test]
fn several_jobs_find_what_one_finds() {
    let one = all(&explore(&many()));
    for jobs in [2, 4] {
        assert_eq!(all(&explore_with(&many(), Options { jobs, ..options() })), one);
    }
}

#[test]
fn inferred_blocks_can_be_left_out() {
    let outcome = explore_with(&lost(), Options { sources: BlockScope::Declared, ..options() });
    assert_eq!(outcome.violations.len(), 0);
}

#[test]
fn blocks_can_be_left_alone_by_name() {
    let not_atomic = vec!["C.*".to_owned()];
    assert_eq!(explore_with(&lost(), Options { not_atomic, ..options() }).violations.len(), 0);
    let not_atomic = vec!["D.*".to_owned()];
    assert_eq!(explore_with(&lost(), Options { not_atomic, ..options() }).violations.len(), 1);
}

#[test]
fn the_first_runs_are_those_that_were_asked_for() {
    let folder = Folder::new();
    let mut front_end = program(&lost());
    let initial = vec![RunSpec::policy(PolicyKind::Random, 7), RunSpec::policy(PolicyKind::PCT, 8)];
    let options = Options { initial: initial.clone(), ..options() };
    explore_in(&folder, &mut front_end, options).expect("it runs");
    assert_eq!(front_end.runs[..2], initial);
}

#[test]
fn a_violation_takes_one_directed_run() {
    let folder = Folder::new();
    let mut front_end = program(&lost());
    let outcome = explore_in(&folder, &mut front_end, options()).expect("it runs");
    let plans = front_end.runs.iter().filter(|spec| spec.steering.as_plan().is_some()).count();
    assert_eq!((outcome.violations.len(), outcome.directed as usize), (1, plans));
    assert!(plans <= 1, "{plans} plans");
}

#[test]
fn undirected_runs_are_made_when_nothing_is_left() {
    let folder = Folder::new();
    let mut front_end = program("thread main\nprint alone\n");
    let options = Options { explore: Some(5), ..options() };
    explore_in(&folder, &mut front_end, options.clone()).expect("it runs");
    assert_eq!(front_end.runs.len(), options.initial.len() + 5);
}

#[test]
fn a_program_that_cannot_be_run_is_an_error() {
    let folder = Folder::new();
    let mut front_end = program(&lost());
    front_end.fails_at = Some(1);
    let error = explore_in(&folder, &mut front_end, options()).expect_err("it cannot be run");
    assert_eq!(error.to_string(), "the program cannot be started");
}

#[test]
fn a_program_that_later_cannot_be_run_is_an_error_too() {
    let folder = Folder::new();
    let mut front_end = program(&lost());
    front_end.fails_at = Some(3);
    assert!(explore_in(&folder, &mut front_end, options()).is_err());
}

fn once(text: &str, planning: Planning) -> Vec<String> {
    let strategy = Strategy::PlansOnce(planning);
    all(&explore_with(text, Options { strategy, ..options() }))
}

#[test]
fn plans_that_locks_allow_tear_what_depends_on_what_was_read() {
    assert_eq!(once(&lost(), Planning::Locks), ["inferred C.add x RWW"]);
    // The second thread would have to read something else than it read.
    assert_eq!(once(&lost(), Planning::Precise), [] as [&str; 0]);
}

#[test]
fn precise_plans_tear_what_depends_on_nothing() {
    let text = two("x = 0", "atomic A.block\nread x r\nwrite x 1\nend A.block", "write x 2");
    for planning in [Planning::Locks, Planning::Precise] {
        assert_eq!(once(&text, planning), ["declared A.block x RWW"], "{planning:?}");
    }
}

fn undirected(policy: PolicyKind, judge: Judge) -> Options {
    let strategy = Strategy::Undirected { policies: vec![policy], judge };
    Options { strategy, runs: 300, ..options() }
}

#[test]
fn random_runs_find_a_lost_update_by_chance() {
    let outcome = explore_with(&lost(), undirected(PolicyKind::Random, Judge::Instances));
    assert_eq!(all(&outcome), ["inferred C.add x RWW"]);
    assert_eq!(outcome.directed, 0);
}

#[test]
fn pos_finds_a_lost_update_by_chance() {
    let outcome = explore_with(&lost(), undirected(PolicyKind::Pos, Judge::Instances));
    assert_eq!(all(&outcome), ["inferred C.add x RWW"]);
}

#[test]
fn pct_finds_a_lost_update_by_chance() {
    let outcome = explore_with(&lost(), undirected(PolicyKind::PCT, Judge::Instances));
    assert_eq!(all(&outcome), ["inferred C.add x RWW"]);
}

#[test]
fn surw_counts_the_accesses_of_an_earlier_run() {
    let folder = Folder::new();
    let mut front_end = program(&lost());
    let options = undirected(PolicyKind::Surw, Judge::Instances);
    let outcome = explore_in(&folder, &mut front_end, options).expect("it runs");
    assert_eq!(all(&outcome), ["inferred C.add x RWW"]);
    let marks = |spec: &RunSpec| match &spec.steering {
        Steering::Marks { policy: PolicyKind::Surw, marks } => Some(marks.clone()),
        _ => None,
    };
    let marked: Vec<Marks> = front_end.runs.iter().filter_map(marks).collect();
    assert!(!marked.is_empty());
    for marks in marked {
        // Each of the two threads reads and writes once; main starts both.
        let events: Vec<u64> = marks.expected.iter().map(|own| own.events).collect();
        assert_eq!(events, [0, 2, 2], "{marks}");
        assert_eq!(marks.expected[1].parent, Some(ThreadId(0)));
    }
}

#[test]
fn the_adversarial_policy_holds_at_suspicious_accesses() {
    let folder = Folder::new();
    let mut front_end = program(&lost());
    let options = undirected(PolicyKind::Adversarial, Judge::Instances);
    let outcome = explore_in(&folder, &mut front_end, options).expect("it runs");
    assert_eq!(outcome.violations.len(), 1);
    let marked = |spec: &&RunSpec| matches!(spec.steering, Steering::Marks { .. });
    assert!(front_end.runs.iter().filter(marked).count() > 0);
}

#[test]
fn velodrome_counts_declared_blocks_only() {
    let outcome = explore_with(&lost(), undirected(PolicyKind::Random, Judge::Velodrome));
    assert_eq!(outcome.violations.len(), 0);
    let declared = two(
        "x = 0",
        "atomic C.add\nread x r\nadd r 1\nwrite x r\nend C.add",
        "atomic C.add\nread x r\nadd r 1\nwrite x r\nend C.add",
    );
    let outcome = explore_with(&declared, undirected(PolicyKind::Random, Judge::Velodrome));
    assert_eq!(outcome.violations.len(), 1);
    let outcome = explore_with(&declared, undirected(PolicyKind::Random, Judge::TwoPass));
    assert_eq!(outcome.violations.len(), 1);
}

#[test]
fn every_run_is_told() {
    let (folder, stop) = (Folder::new(), AtomicBool::new(false));
    let mut front_end = program(&lost());
    let (mut begun, mut ended, mut found) = (0, 0, 0);
    let mut watch = |progress: Progress<'_>| match progress {
        Progress::Running { .. } => begun += 1,
        Progress::RunEnded { .. } => ended += 1,
        Progress::Violation(_) => found += 1,
        Progress::Better(_)
        | Progress::Deadlock(_)
        | Progress::Simplifying { .. }
        | Progress::Failure(_)
        | Progress::SimplifyingFailure { .. } => {}
    };
    let outcome = Exploration::new(&mut front_end, options(), &folder.0, &stop, &mut watch).run();
    let outcome = outcome.expect("it runs");
    assert_eq!((begun, ended, found), (outcome.runs, outcome.runs, 1));
}

#[test]
fn a_finding_stops_the_search_for_it_alone() {
    let outcome = explore(&many());
    assert_eq!(outcome.violations.len(), 8);
    assert_eq!(outcome.unreached.len(), 0, "{:?}", outcome.unreached);
}

#[test]
fn few_events_look_at_little_and_say_so() {
    let outcome = explore_with(&lost(), Options { max_events: 4, ..options() });
    assert!(outcome.left_out > 0);
}
