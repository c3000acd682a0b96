//! What a person would notice: a crash, a deadlock, another result.

use std::collections::BTreeSet;

use crate::runner::{Ended, Ran};

/// Something visible that no run without the violation showed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// An exception that nobody caught, by its first line.
    Exception(String),
    Exit(Ended),
    /// A line of output that no other run has.
    Output(String),
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exception(line) => write!(f, "uncaught: {line}"),
            Self::Exit(Ended::Exit(code)) => write!(f, "exit code {code}"),
            Self::Exit(Ended::Signal(signal)) => write!(f, "killed by signal {signal}"),
            Self::Exit(Ended::Deadlock) => write!(f, "deadlock"),
            Self::Exit(Ended::TimedOut) => write!(f, "did not end"),
            Self::Output(line) => write!(f, "printed \"{line}\""),
        }
    }
}

/// What runs without a known violation look like.
#[derive(Clone, Debug, Default)]
pub(crate) struct Normal {
    ends: BTreeSet<Ended>,
    exceptions: BTreeSet<String>,
    /// Lines in whatever order: the order of output depends on the schedule and means nothing.
    lines: BTreeSet<String>,
    runs: u32,
}

impl Normal {
    pub(crate) fn learn(&mut self, ran: &Ran) {
        self.ends.insert(ran.ended);
        self.exceptions.extend(exceptions(&ran.stderr));
        self.lines.extend(lines(&ran.stdout));
        self.runs += 1;
    }

    /// What is new in a run.
    pub(crate) fn compare(&self, ran: &Ran) -> Vec<Effect> {
        if self.runs == 0 {
            return Vec::new();
        }
        let new = exceptions(&ran.stderr).filter(|line| !self.exceptions.contains(line));
        let mut effects: BTreeSet<Effect> = new.map(Effect::Exception).collect();
        if !self.ends.contains(&ran.ended) {
            effects.insert(Effect::Exit(ran.ended));
        }
        let mut printed = lines(&ran.stdout).filter(|line| !self.lines.contains(line));
        effects.extend(printed.next().map(Effect::Output));
        effects.into_iter().collect()
    }
}

/// The first lines of stack traces that the JVM printed.
fn exceptions(stderr: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(stderr).into_owned();
    let found: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("Exception in thread "))
        // The name of the thread says nothing of what happened.
        .filter_map(|line| Some(line.strip_prefix('"')?.split_once("\" ")?.1.trim().to_owned()))
        .collect();
    found.into_iter()
}

fn lines(stdout: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(stdout).into_owned();
    text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(ended: Ended, stdout: &str, stderr: &str) -> Ran {
        Ran {
            ended,
            stdout: stdout.into(),
            stderr: stderr.into(),
            followed: None,
            preemptions: None,
            unseen: Vec::new(),
        }
    }

    #[test]
    fn only_what_is_new_counts_and_the_order_of_lines_does_not() {
        let mut normal = Normal::default();
        normal.learn(&ran(Ended::Exit(0), "a\nb\n", ""));
        assert_eq!(normal.compare(&ran(Ended::Exit(0), "b\na\n", "")), []);
        let bad = ran(
            Ended::Exit(1),
            "b\nlost 5\n",
            "Exception in thread \"Bob\" java.lang.AssertionError: \"x\" is 5\n\tat Bank.main\n",
        );
        assert_eq!(
            normal.compare(&bad),
            [
                Effect::Exception("java.lang.AssertionError: \"x\" is 5".to_owned()),
                Effect::Exit(Ended::Exit(1)),
                Effect::Output("lost 5".to_owned()),
            ]
        );
    }
}
