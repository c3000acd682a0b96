//! Marks: code positions at which a policy is asked before a thread continues.
//!
//! As text, one per line, in the syntax of a plan: `hold @ PLACE [kind]` or `watch @ PLACE [kind]`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::{Plan, PlanError, PlanPoint, PlanStep, PlanThread};

/// The effect of a mark.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// The policy may hold the thread.
    Hold,
    /// The policy lets the thread pass, and records that it passed.
    Watch,
}

impl Role {
    const fn word(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Watch => "watch",
        }
    }
}

/// Marked points. An event is announced to the policy with the indices of its marks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    pub marks: Vec<(Role, PlanPoint)>,
}

impl Marks {
    pub fn roles(&self) -> Vec<Role> {
        self.marks.iter().map(|(role, _)| *role).collect()
    }

    pub fn points(&self) -> Vec<PlanPoint> {
        self.marks.iter().map(|(_, point)| point.clone()).collect()
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.marks.iter().try_for_each(|(role, point)| {
            let thread = PlanThread::Name(role.word().to_owned());
            let step = PlanStep { thread, point: point.clone(), occurrence: 1 };
            writeln!(f, "{step}")
        })
    }
}

/// Why a text is not a list of marks.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum MarksError {
    #[error(transparent)]
    Line(#[from] PlanError),
    #[error("a mark is `hold @ PLACE` or `watch @ PLACE`, not `{0}`")]
    Role(String),
}

impl FromStr for Marks {
    type Err = MarksError;

    fn from_str(text: &str) -> Result<Self, MarksError> {
        let plan: Plan = text.parse()?;
        let mark = |step: PlanStep| match &step.thread {
            PlanThread::Name(name) if name == "hold" => Ok((Role::Hold, step.point)),
            PlanThread::Name(name) if name == "watch" => Ok((Role::Watch, step.point)),
            _ => Err(MarksError::Role(step.to_string())),
        };
        Ok(Self { marks: plan.steps.into_iter().map(mark).collect::<Result<_, _>>()? })
    }
}
