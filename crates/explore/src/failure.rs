//! Runs that fail: an uncaught exception, an exit code other than 0, a signal, a run that does not end, results that
//! somebody judged to be wrong.
//!
//! A deadlock is no failure here: more is known of it (see [`crate::deadlock`]).

use untorn_frontend::{ExitKind, PlainRun, RunResult, UncaughtException};
use untorn_schedule::{RunSpec, Steering};

/// The signal by which programs end themselves.
const SIGABRT: i32 = 6;

/// How a run failed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FailureKind {
    /// An exception ended a thread.
    Uncaught(UncaughtException),
    /// An exit code other than 0, without an uncaught exception.
    Exit(i32),
    Signal(i32),
    /// It did not end in time.
    Hang,
    /// Whoever ran it judged its results to be wrong; why, in words.
    WrongResults(String),
}

/// What makes two failures the same: the type and the place of an exception, or how the process ended. Messages, which
/// often contain values, do not count.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FailureSignature {
    Uncaught { kind: String, place: Option<String> },
    Exit(i32),
    Signal(i32),
    Hang,
    WrongResults,
}

impl FailureKind {
    /// The ways in which a run failed, each once: threads may die of different exceptions. Deadlocks are not counted
    /// here, nor is a run that did not end while threads were held: holding may be the reason.
    pub fn all_of(result: &RunResult, spec: &RunSpec) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for exception in &result.uncaught {
            let kind = Self::Uncaught(exception.clone());
            if !all.iter().any(|known| known.signature() == kind.signature()) {
                all.push(kind);
            }
        }
        all.extend(result.wrong.clone().map(Self::WrongResults));
        let holds_nobody = matches!(spec.steering, Steering::Policy(_));
        match result.exit {
            ExitKind::Exit(code) if code != 0 && all.is_empty() => all.push(Self::Exit(code)),
            // The last that an uncaught exception, an assertion or a panic does is to abort.
            ExitKind::Signal(SIGABRT) if !result.uncaught.is_empty() => {}
            ExitKind::Signal(signal) => all.push(Self::Signal(signal)),
            ExitKind::TimedOut if holds_nobody => all.push(Self::Hang),
            ExitKind::Exit(_) | ExitKind::TimedOut | ExitKind::Deadlock => {}
        }
        all
    }

    /// Whether somebody who sees no more than the exit code and the output would notice it.
    pub(crate) fn shows_outside(&self, result: &RunResult) -> bool {
        let printed = |name: &str| {
            [&result.stdout, &result.stderr]
                .iter()
                .any(|stream| String::from_utf8_lossy(stream).contains(name))
        };
        match self {
            Self::Uncaught(exception) => {
                result.exit != ExitKind::Exit(0) || printed(&exception.kind)
            }
            Self::Exit(_) | Self::Signal(_) | Self::Hang => true,
            Self::WrongResults(_) => false,
        }
    }

    /// Whether a run that nobody recorded fails so, or in another way.
    pub(crate) fn shows_in(&self, plain: &PlainRun) -> bool {
        let is_printed = match self {
            Self::Uncaught(exception) => plain.output.contains(&exception.kind),
            Self::Exit(_) | Self::Signal(_) | Self::Hang | Self::WrongResults(_) => false,
        };
        plain.exit != ExitKind::Exit(0) || is_printed
    }

    pub fn signature(&self) -> FailureSignature {
        match self {
            Self::Uncaught(UncaughtException { kind, place, .. }) => {
                FailureSignature::Uncaught { kind: kind.clone(), place: place.clone() }
            }
            &Self::Exit(code) => FailureSignature::Exit(code),
            &Self::Signal(signal) => FailureSignature::Signal(signal),
            Self::Hang => FailureSignature::Hang,
            Self::WrongResults(_) => FailureSignature::WrongResults,
        }
    }
}

impl std::fmt::Display for FailureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uncaught(exception) => write!(f, "{exception}"),
            Self::Exit(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Hang => f.write_str("the run did not end"),
            Self::WrongResults(why) => f.write_str(why),
        }
    }
}

/// Whether a run ended as a run of a correct program does.
pub(crate) fn ended_well(result: &RunResult) -> bool {
    result.exit == ExitKind::Exit(0) && result.uncaught.is_empty() && result.wrong.is_none()
}

/// Whether the program itself ended a run badly. One that was stopped because it did not end, or got stuck, did not.
pub(crate) fn failed(result: &RunResult) -> bool {
    !ended_well(result) && !matches!(result.exit, ExitKind::TimedOut | ExitKind::Deadlock)
}

#[cfg(test)]
mod tests {
    use untorn_schedule::Plan;

    use super::*;
    use crate::effects::tests::run_result;

    fn kinds(result: &RunResult) -> Vec<FailureKind> {
        FailureKind::all_of(result, &RunSpec::default())
    }

    fn signature(message: &str, place: &str) -> FailureSignature {
        let result = run_result(ExitKind::Exit(1), "", &[("Error", message, Some(place))]);
        kinds(&result)[0].signature()
    }

    #[test]
    fn messages_do_not_make_a_failure_another_one_and_places_do() {
        assert_eq!(signature("x is 5", "a(A.java:1)"), signature("x is 6", "a(A.java:1)"));
        assert_ne!(signature("", "a(A.java:1)"), signature("", "b(B.java:2)"));
    }

    #[test]
    fn an_exit_code_is_a_failure_and_zero_is_none() {
        assert_eq!(kinds(&run_result(ExitKind::Exit(0), "", &[])), []);
        assert_eq!(kinds(&run_result(ExitKind::Exit(3), "", &[])), [FailureKind::Exit(3)]);
        assert_eq!(kinds(&run_result(ExitKind::TimedOut, "", &[])), [FailureKind::Hang]);
    }

    #[test]
    fn a_run_that_a_plan_held_does_not_hang() {
        let held = RunSpec::plan(Plan::default());
        assert_eq!(FailureKind::all_of(&run_result(ExitKind::TimedOut, "", &[]), &held), []);
    }

    #[test]
    fn an_assertion_explains_that_the_program_aborts_and_no_other_signal() {
        let signals = |signal, uncaught: &[_]| {
            kinds(&run_result(ExitKind::Signal(signal), "", uncaught)).len()
        };
        let assertion = [("assertion", "full", Some("take(a.c:1)"))];
        assert_eq!(signals(SIGABRT, &assertion), 1);
        assert_eq!(signals(SIGABRT, &[]), 1);
        assert_eq!(signals(11, &assertion), 2);
    }

    #[test]
    fn every_exception_is_a_failure_of_its_own_whatever_the_exit_code() {
        let both = [("Error", "", None), ("Other", "", None), ("Error", "again", None)];
        let result = run_result(ExitKind::Exit(0), "", &both);
        assert_eq!(kinds(&result).len(), 2);
        assert!(!ended_well(&result));
    }
}
