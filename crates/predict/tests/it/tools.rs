//! Other people's planners and solvers agree: pyperplan and unified-planning on PDDL, z3 on SMT-LIB.
//!
//! They live in a Python environment that `./dev setup` makes under `target/solvers`
//! (`UNTORN_SOLVERS` names another place). Without it these tests fail: an unasked solver agrees
//! with everything.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{STRENGTHS, goals, history, indices, validate, zero};
use untorn_predict::export::Exported;
use untorn_predict::{Goal, Reordering};
use untorn_testkit::{Knobs, ReorderingOracle, Rng, TraceGen};
use untorn_trace::Event;

fn solver(name: &str) -> PathBuf {
    let folder = std::env::var_os("UNTORN_SOLVERS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/solvers"),
        PathBuf::from,
    );
    let program = folder.join("bin").join(name);
    assert!(program.exists(), "{} is missing: run `./dev setup`", program.display());
    program
}

/// An empty folder of this test run.
fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("untorn-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    folder
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the solver starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {error}{}",
        String::from_utf8_lossy(&output.stdout)
    );
    String::from_utf8(output.stdout).expect("text")
}

/// Random questions with the answers of the oracle, a strength after the other.
fn questions(seeds: std::ops::Range<u64>) -> Vec<(Vec<Event>, Goal, usize, bool)> {
    let mut traces = TraceGen::new(Knobs::planning());
    let mut all = Vec::new();
    for seed in seeds {
        let events = traces.generate(seed).to_vec();
        if events.is_empty() {
            continue;
        }
        let oracle = ReorderingOracle::new(&events, &zero);
        let kind = seed as usize % 3;
        for goal in goals(&history(&events), &mut Rng::new(seed), 2) {
            let expected =
                oracle.exists_reordering(&indices(&goal.events), STRENGTHS[kind].1).is_some();
            all.push((events.clone(), goal, kind, expected));
        }
    }
    all
}

#[test]
fn z3_agrees_on_smt_lib() {
    let questions = questions(0..600);
    let mut text = String::new();
    for (events, goal, kind, _) in &questions {
        let history = history(events);
        let exported = Exported::new(&history, STRENGTHS[*kind].0, goal, 1000).expect("small");
        assert!(exported.is_whole());
        text.push_str(&exported.smt_lib());
        text.push_str("(reset)\n");
    }
    let file = scratch("smt").join("all.smt2");
    std::fs::write(&file, text).expect("a temporary file");
    let answers = output(Command::new(solver("z3")).arg(&file));
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), questions.len());
    for ((events, goal, kind, expected), answer) in questions.iter().zip(answers) {
        let wanted = if *expected { "sat" } else { "unsat" };
        let trace = untorn_testkit::show(events);
        assert_eq!(answer, wanted, "{:?} {goal:?}\n{trace}", STRENGTHS[*kind]);
    }
}

#[test]
fn pyperplan_solves_pddl_and_unified_planning_validates_it() {
    let questions = questions(1000..1040);
    let folder = scratch("pddl");
    for (i, (events, goal, kind, _)) in questions.iter().enumerate() {
        let history = history(events);
        let exported = Exported::new(&history, STRENGTHS[*kind].0, goal, 1000).expect("small");
        let pddl = exported.pddl();
        let write = |what: &str, text: &str| {
            std::fs::write(folder.join(format!("{i:04}.{what}.pddl")), text).expect("a file");
        };
        write("domain", &pddl.domain);
        write("problem", &pddl.problem);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tools/solve_pddl.py");
    let answers = output(Command::new(solver("python")).arg(script).arg(&folder));
    assert_eq!(answers.lines().count(), questions.len());
    for ((events, goal, kind, expected), line) in questions.iter().zip(answers.lines()) {
        let mut words = line.split(' ').skip(1).peekable();
        let found = words.peek() != Some(&"none");
        assert_eq!(found, *expected, "{line}: {goal:?}\n{}", untorn_testkit::show(events));
        if found {
            let history = history(events);
            let (strength, rule) = STRENGTHS[*kind];
            let exported = Exported::new(&history, strength, goal, 1000).expect("small");
            let reordering =
                Reordering { steps: exported.read_plan(words).expect("our own actions") };
            validate(events, goal, &reordering, rule).expect("a reordering");
        }
    }
}
