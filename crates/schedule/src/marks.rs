//! Marks: places of the code at which a policy is asked before a thread goes on.
//!
//! As text, one a line, in the words of a plan: `hold @ PLACE [kind]` or `watch @ PLACE [kind]`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::{Place, Plan, PlanError, PlanStep, PlanThread};

/// What a policy does with a thread at a mark.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// May hold it.
    Hold,
    /// Lets it pass, and notes that it came by.
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

/// Marked places; an event is told to the policy by the positions of its marks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    pub marks: Vec<(Role, Place)>,
}

impl Marks {
    pub fn roles(&self) -> Vec<Role> {
        self.marks.iter().map(|(role, _)| *role).collect()
    }

    pub fn places(&self) -> Vec<Place> {
        self.marks.iter().map(|(_, place)| place.clone()).collect()
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.marks.iter().try_for_each(|(role, place)| {
            let thread = PlanThread::Name(role.word().to_owned());
            let step = PlanStep { thread, place: place.clone(), occurrence: 1 };
            writeln!(f, "{step}")
        })
    }
}

/// Why a text is no list of marks.
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
            PlanThread::Name(name) if name == "hold" => Ok((Role::Hold, step.place)),
            PlanThread::Name(name) if name == "watch" => Ok((Role::Watch, step.place)),
            _ => Err(MarksError::Role(step.to_string())),
        };
        Ok(Self { marks: plan.steps.into_iter().map(mark).collect::<Result<_, _>>()? })
    }
}
