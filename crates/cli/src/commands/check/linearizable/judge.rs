//! Judges runs of a scenario: are the results of its calls those of some sequential order?

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use untorn_frontend::{ExitKind, FrontEnd, FrontEndError, RunResult};
use untorn_jvm::SequentialJvm;
use untorn_linearizability::{
    History, Linearizability, Refutation, Scenario, SequentialError, SequentialTable, Unknown,
    decide,
};
use untorn_schedule::RunSpec;

/// What is known of one scenario.
#[derive(Debug)]
pub struct Judge<'a> {
    pub scenario: &'a Scenario,
    pub oracles: &'a mut Oracles,
    /// What sequential orders give, by the quick JVM and by the careful one.
    tables: [SequentialTable; 2],
    verdicts: HashMap<Vec<String>, Linearizability>,
    /// The results of runs that are wrong, by their traces.
    wrong: HashMap<PathBuf, Vec<String>>,
    /// Why runs could not be judged.
    pub unknown: Option<Unknown>,
    /// Runs that ended with calls that wait, as they do in a sequential order.
    pub waiting: u32,
}

/// The JVMs that make calls one after the other: one that is quick, and one that decides where the first finds fault.
#[derive(Debug)]
pub struct Oracles {
    pub quick: SequentialJvm,
    pub careful: SequentialJvm,
}

impl<'a> Judge<'a> {
    pub fn new(scenario: &'a Scenario, oracles: &'a mut Oracles) -> Self {
        Self {
            scenario,
            oracles,
            tables: [SequentialTable::default(), SequentialTable::default()],
            verdicts: HashMap::new(),
            wrong: HashMap::new(),
            unknown: None,
            waiting: 0,
        }
    }

    /// Looks at the result of a run.
    fn judge(&mut self, mut ran: RunResult, trace: &Path) -> RunResult {
        let is_stuck = ran.exit == ExitKind::Deadlock;
        if !is_stuck && ran.exit != ExitKind::Exit(0) {
            return ran;
        }
        let all_ended = |history: &History| {
            history.is_complete() && history.calls.len() == self.scenario.call_count()
        };
        let history = match History::parse(ran.observed.iter().map(String::as_str)) {
            Ok(history) if is_stuck || all_ended(&history) => history,
            // Somebody ended the program in the middle of a call.
            Ok(_) => {
                self.unknown = Some(cannot("the run ended before all calls returned"));
                return ran;
            }
            Err(error) => {
                self.unknown = Some(cannot(&error.to_string()));
                return ran;
            }
        };
        match self.verdict(&ran.observed, &history) {
            Linearizability::Linearizable(_) if is_stuck => {
                self.waiting += 1;
                ran.exit = ExitKind::Exit(0);
            }
            Linearizability::NotLinearizable(_) if !is_stuck => {
                ran.wrong = Some(headline(self.scenario));
                self.wrong.insert(trace.to_owned(), ran.observed.clone());
            }
            // A call that waits for ever where no sequential order waits is a deadlock.
            Linearizability::Linearizable(_) | Linearizability::NotLinearizable(_) => {}
            Linearizability::Unknown(why) => self.unknown = Some(why),
        }
        ran
    }

    fn verdict(&mut self, observed: &[String], history: &History) -> Linearizability {
        if let Some(known) = self.verdicts.get(observed) {
            return known.clone();
        }
        let verdict = self.decide(self.scenario, history);
        self.verdicts.insert(observed.to_vec(), verdict.clone());
        verdict
    }

    /// The quick JVM decides that all is well, the careful one that it is not.
    fn decide(&mut self, scenario: &Scenario, history: &History) -> Linearizability {
        let [quick, careful] = &mut self.tables;
        match decide(scenario, history, quick, &mut self.oracles.quick) {
            Linearizability::Linearizable(order) => Linearizability::Linearizable(order),
            _ => decide(scenario, history, careful, &mut self.oracles.careful),
        }
    }

    /// The results of a wrong run, and why they are.
    pub fn refutation(&self, trace: &Path) -> Option<(History, Refutation)> {
        let observed = self.wrong.get(trace)?;
        let history = History::parse(observed.iter().map(String::as_str)).ok()?;
        match self.verdicts.get(observed)? {
            Linearizability::NotLinearizable(why) => Some((history, why.clone())),
            _ => None,
        }
    }

    /// How many of the calls at the end are needed to show that a wrong run is wrong.
    pub fn needed_at_end(&mut self, trace: &Path) -> Option<usize> {
        let (history, _) = self.refutation(trace)?;
        let last = self.scenario.sections.len() - 1;
        let length = self.scenario.sections[last].len();
        (0..length).find(|&needed| {
            let mut less = self.scenario.clone();
            less.sections[last].truncate(needed);
            let kept = |call: &&_| {
                let call: &untorn_linearizability::CallRecord = call;
                call.id.section != last || call.id.index < needed
            };
            let calls = history.calls.iter().filter(kept).cloned().collect();
            let mut table = SequentialTable::default();
            let verdict = decide(&less, &History { calls }, &mut table, &mut self.oracles.careful);
            matches!(verdict, Linearizability::NotLinearizable(_))
        })
    }
}

fn cannot(why: &str) -> Unknown {
    Unknown::Sequential(SequentialError::CouldNotRun(why.to_owned()))
}

/// `Stack is not linearizable: push, pop beside pop`
fn headline(scenario: &Scenario) -> String {
    let simple = scenario.class.rsplit('.').next().unwrap_or(&scenario.class);
    let threads = scenario.threads().iter().map(|calls| {
        let names: Vec<&str> = calls.iter().map(|call| call.operation.name.as_str()).collect();
        names.join(", ")
    });
    format!("{simple} is not linearizable: {}", threads.collect::<Vec<_>>().join(" beside "))
}

/// The front end of one scenario: it runs, and its results are judged.
pub struct JudgedRuns<'j, 'a> {
    pub inner: &'j mut dyn FrontEnd,
    pub judge: &'j mut Judge<'a>,
}

impl FrontEnd for JudgedRuns<'_, '_> {
    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        let ran = self.inner.run(spec, trace)?;
        Ok(self.judge.judge(ran, trace))
    }

    fn run_fresh(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        let ran = self.inner.run_fresh(spec, trace)?;
        Ok(self.judge.judge(ran, trace))
    }

    fn replay(&mut self, recorded: &Path, again: &Path) -> Result<RunResult, FrontEndError> {
        self.inner.replay(recorded, again)
    }

    fn end_by(&mut self, moment: Option<Instant>) {
        self.inner.end_by(moment);
    }

    fn run_all(&mut self, calls: &[(RunSpec, PathBuf)]) -> Vec<Result<RunResult, FrontEndError>> {
        let all = self.inner.run_all(calls);
        let judged = all
            .into_iter()
            .zip(calls)
            .map(|(ran, (_, trace))| ran.map(|ran| self.judge.judge(ran, trace)));
        judged.collect()
    }
}
