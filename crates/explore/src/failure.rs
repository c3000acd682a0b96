//! Runs that fail: an uncaught exception, an exit code other than 0, a signal, a run that does not end.
//!
//! A deadlock is a failure, too; it has its own type, because more is known of it (see [`crate::deadlock`]).

use untorn_frontend::{ExitKind, RunResult, UncaughtException};

/// How a run failed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FailureKind {
    /// Exceptions ended threads. The first of each type and place, in order; messages may differ from run to run.
    Uncaught(Vec<UncaughtException>),
    /// An exit code other than 0, without an uncaught exception.
    Exit(i32),
    Signal(i32),
    /// It did not end in time.
    Hang,
}

/// What makes two failures the same: kinds and places of exceptions, or how the process ended. Messages, which often
/// contain values, do not count.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FailureSignature {
    Uncaught(Vec<(String, Option<String>)>),
    Exit(i32),
    Signal(i32),
    Hang,
}

impl FailureKind {
    /// How a run failed, if it did. Deadlocks are not counted here.
    pub fn of(ran: &RunResult) -> Option<Self> {
        if ran.exit == ExitKind::Deadlock {
            return None;
        }
        if !ran.uncaught.is_empty() {
            let mut distinct: Vec<UncaughtException> = Vec::new();
            for one in &ran.uncaught {
                if !distinct.iter().any(|known| source_of(known) == source_of(one)) {
                    distinct.push(one.clone());
                }
            }
            return Some(Self::Uncaught(distinct));
        }
        match ran.exit {
            ExitKind::Exit(0) | ExitKind::Deadlock => None,
            ExitKind::Exit(code) => Some(Self::Exit(code)),
            ExitKind::Signal(signal) => Some(Self::Signal(signal)),
            ExitKind::TimedOut => Some(Self::Hang),
        }
    }

    pub fn signature(&self) -> FailureSignature {
        match self {
            Self::Uncaught(all) => {
                let mut sources: Vec<_> = all.iter().map(source_of).collect();
                sources.sort();
                FailureSignature::Uncaught(sources)
            }
            &Self::Exit(code) => FailureSignature::Exit(code),
            &Self::Signal(signal) => FailureSignature::Signal(signal),
            Self::Hang => FailureSignature::Hang,
        }
    }
}

fn source_of(exception: &UncaughtException) -> (String, Option<String>) {
    (exception.kind.clone(), exception.place.clone())
}

impl std::fmt::Display for FailureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uncaught(all) => {
                for (nth, one) in all.iter().enumerate() {
                    let comma = if nth > 0 { ", " } else { "" };
                    write!(f, "{comma}{one}")?;
                }
                Ok(())
            }
            Self::Exit(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Hang => f.write_str("the run did not end"),
        }
    }
}

/// Whether a run ended as a run of a correct program does.
pub(crate) fn ended_well(ran: &RunResult) -> bool {
    ran.exit == ExitKind::Exit(0) && ran.uncaught.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::tests::result;

    #[test]
    fn messages_do_not_make_a_failure_another_one() {
        let kind = |message: &str| {
            let ran = result(ExitKind::Exit(1), "", &[("Error", message, Some("a(A.java:1)"))]);
            FailureKind::of(&ran).expect("a failure").signature()
        };
        assert_eq!(kind("x is 5"), kind("x is 6"));
    }

    #[test]
    fn another_place_is_another_failure() {
        let at = |place| {
            let ran = result(ExitKind::Exit(1), "", &[("Error", "", Some(place))]);
            FailureKind::of(&ran).expect("a failure").signature()
        };
        assert_ne!(at("a(A.java:1)"), at("b(B.java:2)"));
    }

    #[test]
    fn an_exit_code_is_a_failure_and_zero_is_none() {
        assert_eq!(FailureKind::of(&result(ExitKind::Exit(0), "", &[])), None);
        let failed = FailureKind::of(&result(ExitKind::Exit(3), "", &[]));
        assert_eq!(failed, Some(FailureKind::Exit(3)));
        let hung = FailureKind::of(&result(ExitKind::TimedOut, "", &[]));
        assert_eq!(hung, Some(FailureKind::Hang));
    }

    #[test]
    fn a_thread_that_dies_fails_the_run_whatever_the_exit_code() {
        let ran = result(ExitKind::Exit(0), "", &[("Error", "", None)]);
        assert!(matches!(FailureKind::of(&ran), Some(FailureKind::Uncaught(_))));
        assert!(!ended_well(&ran));
    }
}
