//! Other inputs: a program whose blocks depend on two arguments, and that can only be torn if both let their thread write.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use untorn_explore::{Options, Outcome, explore};
use untorn_frontend::{FrontEnd, FrontEndError, RunResult};
use untorn_schedule::{InputPlace, Inputs, RunSpec};
use untorn_symbolic::path::{Activation, Aspect, CodePlace, Flow, Interest, Path as RunPath};
use untorn_symbolic::path::{Source, Step, Way};
use untorn_symbolic::term::CmpOp;
use untorn_testkit::simulated::Simulated;

use crate::harness::{Folder, all, options, program, two_then};

/// Two threads withdraw their arguments from a balance of 20, if they may.
struct Account {
    given: Inputs,
    /// Runs without inputs of their own, and those with a path log.
    runs: [u32; 2],
}

impl Account {
    fn with(first: &str, second: &str) -> Self {
        Self { given: Inputs::arguments([first, second]), runs: [0; 2] }
    }

    fn amounts(&self, inputs: &Inputs) -> [i64; 2] {
        let all = inputs.or(&self.given);
        [0, 1].map(|at| {
            let text = all.get(&InputPlace::Argument(at)).expect("both are given");
            text.parse().expect("they are numbers")
        })
    }

    fn program(&self, inputs: &Inputs) -> Simulated {
        let withdraw = |amount: i64| {
            // The language has no numbers below zero in comparisons; nobody withdraws those here.
            format!(
                "call Account.withdraw\nread balance r\nif r < {amount} goto poor\nadd r -{amount}\n\
                 write balance r\n.poor\nreturn Account.withdraw"
            )
        };
        let [first, second] = self.amounts(inputs);
        let end = "read balance r\nprint balance $r";
        program(&two_then("balance = 20", &withdraw(first), &withdraw(second), end))
    }
}

impl FrontEnd for Account {
    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.runs[usize::from(spec.path_log)] += 1;
        self.program(&spec.inputs).run(spec, trace)
    }

    fn replay(&mut self, recorded: &Path, again: &Path) -> Result<RunResult, FrontEndError> {
        let meta = untorn_frontend::RecordedTrace::read(recorded)?.meta;
        let run = meta.setup.map(|setup| setup.run).unwrap_or_default();
        let spec: RunSpec = serde_json::from_value(run).unwrap_or_default();
        self.program(&spec.inputs).replay(recorded, again)
    }

    fn end_by(&mut self, _: Option<std::time::Instant>) {}

    fn inputs(&self) -> Inputs {
        self.given.clone()
    }

    /// One thread runs after the other: the second sees what the first has left.
    fn path(&mut self, _: &Path, inputs: &Inputs) -> Result<Option<RunPath>, FrontEndError> {
        let mut path = RunPath { inputs: inputs.clone(), ..RunPath::default() };
        path.flows.push(Flow {
            name: "withdraw".to_owned(),
            next: vec![vec![1, 2], vec![2], vec![]],
            interest: vec![Interest::Access, Interest::Access, Interest::None],
        });
        let mut balance = path.terms.constant(32, 20);
        for thread in 0..2 {
            let source = Source::whole(InputPlace::Argument(thread));
            let amount = path.var(&source, Aspect::Number, 32).expect("it is a number");
            let poor = path.terms.cmp(CmpOp::Less, balance, amount);
            let rich = path.terms.not(poor);
            let is_rich = path.terms.value(rich) == 1;
            let (condition, other) = if is_rich { (rich, poor) } else { (poor, rich) };
            path.activations.push(Activation { flow: 0, caller: None });
            let target = Some(if is_rich { 2 } else { 1 });
            path.covered.extend([(0, 0), (0, 2)]);
            path.steps.push(Step {
                at: CodePlace { flow: 0, index: 0 },
                thread,
                activation: thread,
                outcome: u32::from(is_rich),
                condition,
                others: vec![Way { outcome: u32::from(!is_rich), condition: other, target }],
            });
            if is_rich {
                path.covered.insert((0, 1));
                balance = path.terms.bin(untorn_symbolic::term::BinOp::Sub, balance, amount);
            }
        }
        Ok(Some(path))
    }
}

fn explored(front_end: &mut Account, options: Options) -> (Folder, Outcome) {
    let (folder, stop) = (Folder::new(), AtomicBool::new(false));
    let outcome = explore(front_end, options, &folder.0, &stop, &mut |_| {});
    (folder, outcome.expect("the program runs"))
}

fn searching() -> Options {
    Options { searches_inputs: true, ..options() }
}

#[test]
fn inputs_that_let_both_threads_write_are_found_and_said() {
    let mut account = Account::with("100", "100");
    let (folder, outcome) = explored(&mut account, searching());
    assert_eq!(all(&outcome), ["inferred Account.withdraw balance RWW"]);
    let evidence = &outcome.violations[0].evidence;
    let [first, second] = account.amounts(&evidence.inputs);
    assert!(first <= 20 && second <= 20 - first, "{}", evidence.inputs);
    assert!(evidence.trace.exists() && evidence.trace.starts_with(&folder.0));
    let search = outcome.input_search.expect("inputs were looked for");
    assert_eq!(search.tried[0], account.given);
    assert!((3..=10).contains(&search.runs) && search.divergences == 0, "{search:?}");
}

#[test]
fn own_inputs_that_tear_it_need_no_others() {
    let mut account = Account::with("3", "4");
    let (_folder, outcome) = explored(&mut account, searching());
    assert_eq!(all(&outcome), ["inferred Account.withdraw balance RWW"]);
    assert!(outcome.violations[0].evidence.inputs.is_empty());
}

#[test]
fn nothing_is_looked_for_unless_it_is_wanted() {
    let mut account = Account::with("100", "100");
    let (_folder, outcome) = explored(&mut account, options());
    assert_eq!(all(&outcome), [""; 0]);
    assert_eq!((account.runs[1], outcome.input_search), (0, None));
}

#[test]
fn a_program_without_inputs_runs_as_often_as_before() {
    let text = two_then("x = 0", "read x r\nwrite x r", "write x 2", "");
    let stop = AtomicBool::new(false);
    let runs = |searches_inputs| {
        let folder = Folder::new();
        let mut front_end = program(&text);
        let options = Options { searches_inputs, ..options() };
        let outcome = explore(&mut front_end, options, &folder.0, &stop, &mut |_| {});
        (outcome.expect("the program runs").runs, front_end.runs)
    };
    assert_eq!(runs(true), runs(false));
}

#[test]
fn the_number_of_runs_is_that_of_all_together() {
    let mut account = Account::with("100", "100");
    let (_folder, outcome) = explored(&mut account, Options { runs: 40, ..searching() });
    assert!(outcome.runs <= 40 && account.runs.iter().sum::<u32>() <= 60, "{}", outcome.runs);
}
