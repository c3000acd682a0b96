//! What a person would notice: a crash, a deadlock, another result.
//!
//! A run is compared with runs that ended well and in which nothing was found. If there is none, because the program
//! fails in every run, it is compared with all runs in which nothing was found.

use std::collections::{BTreeMap, BTreeSet};

use untorn_frontend::{ExitKind, RunResult, UncaughtException, mask_noise};

use crate::failure::ended_well;

/// Something visible that no run without the violation showed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// An exception that nobody caught.
    Exception(UncaughtException),
    Exit(ExitKind),
    /// A line of output that no other run has, or not so often.
    Output(String),
    /// A line that every other run prints.
    Missing(String),
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exception(exception) => write!(f, "uncaught: {exception}"),
            Self::Exit(ExitKind::Exit(code)) => write!(f, "exit code {code}"),
            Self::Exit(ExitKind::Signal(signal)) => write!(f, "killed by signal {signal}"),
            Self::Exit(ExitKind::Deadlock) => write!(f, "deadlock"),
            Self::Exit(ExitKind::TimedOut) => write!(f, "did not end"),
            Self::Output(line) => write!(f, "printed \"{line}\""),
            Self::Missing(line) => write!(f, "did not print \"{line}\""),
        }
    }
}

/// Runs that are enough to say that a line is always printed.
const ENOUGH_RUNS: u32 = 3;

/// Lines of one run that may be effects. The first ones may be such as are different in each run.
const MAX_LINES: usize = 16;

/// What runs without a known violation look like.
#[derive(Clone, Debug, Default)]
pub(crate) struct NormalBehaviour {
    /// Runs that ended well.
    good: Sample,
    /// All runs, those that failed as well.
    all: Sample,
}

#[derive(Clone, Debug, Default)]
struct Sample {
    exits: BTreeSet<ExitKind>,
    /// By kind and place; messages contain values.
    exceptions: BTreeSet<(String, Option<String>)>,
    /// Fewest and most times that a line was printed in a run, in whatever order: the order of output depends on the
    /// schedule and means nothing.
    lines: BTreeMap<String, [u32; 2]>,
    runs: u32,
    /// Runs behind the first ones that printed lines which no run before had.
    surprising: u32,
}

impl NormalBehaviour {
    /// Adds a run in which nothing was found. One that failed says nothing of what is normal, as long as another one
    /// ended well.
    pub(crate) fn add_good_run(&mut self, result: &RunResult) {
        self.all.add_good_run(result);
        if ended_well(result) {
            self.good.add_good_run(result);
        }
    }

    /// What is new in a run.
    pub(crate) fn compare(&self, result: &RunResult) -> Vec<Effect> {
        self.sample().compare(result)
    }

    /// Whether an effect of another run shows in this one, too.
    pub(crate) fn shows(&self, effect: &Effect, result: &RunResult) -> bool {
        self.sample().shows(effect, result)
    }

    fn sample(&self) -> &Sample {
        if self.good.runs > 0 { &self.good } else { &self.all }
    }
}

impl Sample {
    fn add_good_run(&mut self, result: &RunResult) {
        if self.runs >= ENOUGH_RUNS {
            let is_surprising = self.new_lines(result).next().is_some();
            self.surprising += u32::from(is_surprising);
        }
        self.exits.insert(result.exit);
        self.exceptions.extend(result.uncaught.iter().map(source_of));
        let counts = count_lines(result);
        for (line, [fewest, _]) in &mut self.lines {
            *fewest = (*fewest).min(counts.get(line).copied().unwrap_or(0));
        }
        for (line, count) in counts {
            // One that earlier runs do not have is printed no times in some run.
            let fewest = if self.runs == 0 { count } else { 0 };
            let known = self.lines.entry(line).or_insert([fewest, count]);
            known[1] = known[1].max(count);
        }
        self.runs += 1;
    }

    fn compare(&self, result: &RunResult) -> Vec<Effect> {
        if self.runs == 0 {
            return Vec::new();
        }
        let new = result.uncaught.iter().filter(|one| !self.exceptions.contains(&source_of(one)));
        let mut effects: BTreeSet<Effect> = new.cloned().map(Effect::Exception).collect();
        // To end well is no harm, and that a run does not end may be due to threads that we hold.
        let may_be_harm = !matches!(result.exit, ExitKind::Exit(0) | ExitKind::TimedOut);
        if may_be_harm && !self.exits.contains(&result.exit) {
            effects.insert(Effect::Exit(result.exit));
        }
        effects.extend(self.other_lines(result, !effects.is_empty()));
        effects.into_iter().collect()
    }

    fn shows(&self, effect: &Effect, result: &RunResult) -> bool {
        let count = |line: &String| count_lines(result).get(line).copied().unwrap_or(0);
        let usual = |line: &String| self.lines.get(line).copied().unwrap_or_default();
        match effect {
            Effect::Exception(exception) => {
                let source = source_of(exception);
                result.uncaught.iter().any(|own| source_of(own) == source)
            }
            Effect::Exit(exit) => result.exit == *exit,
            Effect::Output(line) => count(line) > usual(line)[1],
            Effect::Missing(line) => count(line) < usual(line)[0],
        }
    }

    /// Whether new lines say nothing, because most runs have some, whatever happens in them: logs are like that.
    fn is_noisy(&self) -> bool {
        let later = self.runs.saturating_sub(ENOUGH_RUNS);
        later >= ENOUGH_RUNS && 2 * self.surprising > later
    }

    /// Lines that no run before had, or not so often.
    fn new_lines(&self, result: &RunResult) -> impl Iterator<Item = String> {
        let counts = count_lines(result);
        let most = |line: &str| self.lines.get(line).map_or(0, |&[_, most]| most);
        let is_more = |line: &String| counts.get(line).is_some_and(|&n| n > most(line));
        lines(result).filter(is_more).collect::<Vec<_>>().into_iter()
    }

    /// The first lines that are printed too often; if there are none, one that is printed too seldom. A run that failed
    /// did not come to all of its lines.
    fn other_lines(&self, result: &RunResult, failed: bool) -> Vec<Effect> {
        if self.is_noisy() {
            return Vec::new();
        }
        let mut more: Vec<Effect> = Vec::new();
        for effect in self.new_lines(result).map(Effect::Output) {
            if more.len() < MAX_LINES && !more.contains(&effect) {
                more.push(effect);
            }
        }
        if !more.is_empty() {
            return more;
        }
        let counts = count_lines(result);
        let is_missing = |line: &str, fewest: u32| counts.get(line).copied().unwrap_or(0) < fewest;
        let mut missing = self.lines.iter().filter(|(line, [fewest, _])| is_missing(line, *fewest));
        let counts_less = !failed && self.runs >= ENOUGH_RUNS;
        let line = counts_less.then(|| missing.next()).flatten();
        line.map(|(line, _)| Effect::Missing(line.clone())).into_iter().collect()
    }
}

fn source_of(exception: &UncaughtException) -> (String, Option<String>) {
    (exception.kind.clone(), exception.place.clone())
}

fn count_lines(result: &RunResult) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for line in lines(result) {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// The lines of both streams. Uncaught exceptions are effects of their own, and their stack traces are not lines.
fn lines(result: &RunResult) -> impl Iterator<Item = String> {
    let stdout = String::from_utf8_lossy(&result.stdout);
    let stderr = String::from_utf8_lossy(&result.stderr);
    let out = stdout.lines().map(mask_noise);
    let heads: BTreeSet<String> = result.uncaught.iter().map(ToString::to_string).collect();
    let is_trace = |line: &str| {
        let line = line.trim_start();
        line.starts_with("at ")
            || line.starts_with("... ")
            || heads.iter().any(|head| line.ends_with(head.as_str()))
    };
    let err = stderr.lines().filter(|line| !is_trace(line)).map(mask_noise);
    out.chain(err).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn run_result(
        exit: ExitKind,
        stdout: &str,
        uncaught: &[(&str, &str, Option<&str>)],
    ) -> RunResult {
        let exception = |&(kind, message, place): &(&str, &str, Option<&str>)| UncaughtException {
            kind: kind.to_owned(),
            message: message.to_owned(),
            place: place.map(str::to_owned),
        };
        RunResult {
            stdout: stdout.into(),
            uncaught: uncaught.iter().map(exception).collect(),
            ..RunResult::new(exit)
        }
    }

    fn good(stdout: &str) -> RunResult {
        run_result(ExitKind::Exit(0), stdout, &[])
    }

    fn printed(effects: &[Effect]) -> Vec<String> {
        effects.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_what_is_new_counts_and_the_order_of_lines_does_not() {
        let mut normal = NormalBehaviour::default();
        normal.add_good_run(&good("a\nb\n"));
        assert_eq!(normal.compare(&good("b\na\n")), []);
        let failed = [("java.lang.AssertionError", "\"x\" is 5", None)];
        let bad = run_result(ExitKind::Exit(1), "b\nlost 5\n", &failed);
        assert_eq!(
            printed(&normal.compare(&bad)),
            ["uncaught: java.lang.AssertionError: \"x\" is 5", "exit code 1", "printed \"lost 5\""]
        );
    }

    #[test]
    fn a_crash_is_never_learned_as_normal_once_a_run_ended_well() {
        let crash = run_result(ExitKind::Exit(1), "", &[("Error", "", None)]);
        for order in [[&good("a\n"), &crash], [&crash, &good("a\n")]] {
            let mut normal = NormalBehaviour::default();
            order.into_iter().for_each(|result| normal.add_good_run(result));
            assert!(printed(&normal.compare(&crash)).contains(&"uncaught: Error".to_owned()));
        }
    }

    /// A log that is another one in each run is no evidence; what it says of exceptions and exit codes still is.
    #[test]
    fn lines_of_a_noisy_program_are_no_effect() {
        let mut normal = NormalBehaviour::default();
        for run in 0..2 * ENOUGH_RUNS {
            normal.add_good_run(&good(&format!("took {run} steps\n")));
        }
        assert_eq!(normal.compare(&good("took 77 steps\n")), []);
        let bad = run_result(ExitKind::Exit(1), "took 78 steps\n", &[("Error", "x", None)]);
        assert_eq!(printed(&normal.compare(&bad)), ["uncaught: Error: x", "exit code 1"]);
        let mut calm = NormalBehaviour::default();
        for _ in 0..2 * ENOUGH_RUNS {
            calm.add_good_run(&good("took 5 steps\n"));
        }
        assert_eq!(printed(&calm.compare(&good("took 77 steps\n"))), ["printed \"took 77 steps\""]);
    }

    #[test]
    fn a_line_that_is_printed_twice_is_new() {
        let mut normal = NormalBehaviour::default();
        normal.add_good_run(&good("sold seat 7\n"));
        let twice = good("sold seat 7\nsold seat 7\n");
        assert_eq!(printed(&normal.compare(&twice)), ["printed \"sold seat 7\""]);
    }

    #[test]
    fn a_line_that_is_always_printed_is_missed() {
        let mut normal = NormalBehaviour::default();
        for _ in 0..ENOUGH_RUNS {
            normal.add_good_run(&good("a\ndone\n"));
        }
        assert_eq!(printed(&normal.compare(&good("a\n"))), ["did not print \"done\""]);
        normal.add_good_run(&good("a\n"));
        assert_eq!(normal.compare(&good("a\n")), []);
    }

    #[test]
    fn standard_error_counts_and_stack_traces_count_once() {
        let mut normal = NormalBehaviour::default();
        normal.add_good_run(&good(""));
        let mut bad = run_result(ExitKind::Exit(0), "", &[("Error", "x", None)]);
        bad.stderr = b"Exception in thread \"t\" Error: x\n\tat A.b(A.java:1)\n".to_vec();
        assert_eq!(printed(&normal.compare(&bad)), ["uncaught: Error: x"]);
        let mut warned = good("");
        warned.stderr = b"SEVERE: the cache is inconsistent\n".to_vec();
        assert_eq!(
            printed(&normal.compare(&warned)),
            ["printed \"SEVERE: the cache is inconsistent\""]
        );
    }
}
