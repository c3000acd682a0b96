//! What a person would notice: a crash, a deadlock, another result.

use std::collections::BTreeSet;

use untorn_frontend::{ExitKind, RunResult};

/// Something visible that no run without the violation showed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// An exception that nobody caught, by its first line.
    Exception(String),
    Exit(ExitKind),
    /// A line of output that no other run has.
    Output(String),
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exception(line) => write!(f, "uncaught: {line}"),
            Self::Exit(ExitKind::Exit(code)) => write!(f, "exit code {code}"),
            Self::Exit(ExitKind::Signal(signal)) => write!(f, "killed by signal {signal}"),
            Self::Exit(ExitKind::Deadlock) => write!(f, "deadlock"),
            Self::Exit(ExitKind::TimedOut) => write!(f, "did not end"),
            Self::Output(line) => write!(f, "printed \"{line}\""),
        }
    }
}

/// What runs without a known violation look like.
#[derive(Clone, Debug, Default)]
pub(crate) struct Normal {
    ends: BTreeSet<ExitKind>,
    exceptions: BTreeSet<String>,
    /// Lines in whatever order: the order of output depends on the schedule and means nothing.
    lines: BTreeSet<String>,
    runs: u32,
}

impl Normal {
    pub(crate) fn learn(&mut self, ran: &RunResult) {
        self.ends.insert(ran.exit);
        self.exceptions.extend(ran.uncaught.iter().cloned());
        self.lines.extend(lines(&ran.stdout));
        self.runs += 1;
    }

    /// What is new in a run.
    pub(crate) fn compare(&self, ran: &RunResult) -> Vec<Effect> {
        if self.runs == 0 {
            return Vec::new();
        }
        let new = ran.uncaught.iter().filter(|line| !self.exceptions.contains(*line)).cloned();
        let mut effects: BTreeSet<Effect> = new.map(Effect::Exception).collect();
        if !self.ends.contains(&ran.exit) {
            effects.insert(Effect::Exit(ran.exit));
        }
        let mut printed = lines(&ran.stdout).filter(|line| !self.lines.contains(line));
        effects.extend(printed.next().map(Effect::Output));
        effects.into_iter().collect()
    }
}

fn lines(stdout: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(stdout).into_owned();
    text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(exit: ExitKind, stdout: &str, uncaught: &[&str]) -> RunResult {
        RunResult {
            stdout: stdout.into(),
            uncaught: uncaught.iter().map(|&text| text.to_owned()).collect(),
            ..RunResult::new(exit)
        }
    }

    #[test]
    fn only_what_is_new_counts_and_the_order_of_lines_does_not() {
        let mut normal = Normal::default();
        normal.learn(&ran(ExitKind::Exit(0), "a\nb\n", &[]));
        assert_eq!(normal.compare(&ran(ExitKind::Exit(0), "b\na\n", &[])), []);
        let bad = ran(ExitKind::Exit(1), "b\nlost 5\n", &["java.lang.AssertionError: \"x\" is 5"]);
        assert_eq!(
            normal.compare(&bad),
            [
                Effect::Exception("java.lang.AssertionError: \"x\" is 5".to_owned()),
                Effect::Exit(ExitKind::Exit(1)),
                Effect::Output("lost 5".to_owned()),
            ]
        );
    }
}
