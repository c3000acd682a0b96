//! Marks: code positions at which a policy is asked before a thread continues.
//!
//! As text, one per line, in the syntax of a plan: `hold @ PLACE [kind]` or `watch @ PLACE [kind]`. Before them there may
//! be a line for each thread, in the order of their numbers, that says how many events at marks it is expected to have,
//! and which thread starts it: `expect 12` or `expect 12 from 0`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use untorn_trace::ids::ThreadId;

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
    /// By thread; empty if nobody has counted.
    pub expected: Vec<ExpectedEvents>,
}

/// What a thread did in an earlier run.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct ExpectedEvents {
    /// The thread that started it.
    pub parent: Option<ThreadId>,
    /// Its events at marks.
    pub events: u64,
}

impl fmt::Display for ExpectedEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{EXPECT}{}", self.events)?;
        self.parent.map_or(Ok(()), |parent| write!(f, "{FROM}{}", parent.0))
    }
}

const EXPECT: &str = "expect ";
const FROM: &str = " from ";

impl ExpectedEvents {
    /// `None` if the line is none of these; else what it says, if it says it rightly.
    fn parse(line: &str) -> Option<Result<Self, MarksError>> {
        let said = line.strip_prefix(EXPECT)?;
        let (events, parent) = match said.split_once(FROM) {
            Some((events, parent)) => (events, Some(parent.trim().parse().map(ThreadId))),
            None => (said, None),
        };
        let numbers = events
            .trim()
            .parse()
            .and_then(|events| parent.transpose().map(|parent| Self { parent, events }));
        Some(numbers.map_err(|_| MarksError::Expected(line.to_owned())))
    }
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
        self.expected.iter().try_for_each(|own| writeln!(f, "{own}"))?;
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
    #[error(
        "what is expected of a thread is `expect EVENTS` or `expect EVENTS from THREAD`, not `{0}`"
    )]
    Expected(String),
}

impl FromStr for Marks {
    type Err = MarksError;

    fn from_str(text: &str) -> Result<Self, MarksError> {
        let (mut expected, mut rest) = (Vec::new(), text);
        while let Some(own) = rest.lines().next().and_then(ExpectedEvents::parse) {
            expected.push(own?);
            rest = rest.split_once('\n').map_or("", |(_, behind)| behind);
        }
        let plan: Plan = rest.parse()?;
        let mark = |step: PlanStep| match &step.thread {
            PlanThread::Name(name) if name == "hold" => Ok((Role::Hold, step.point)),
            PlanThread::Name(name) if name == "watch" => Ok((Role::Watch, step.point)),
            _ => Err(MarksError::Role(step.to_string())),
        };
        Ok(Self { marks: plan.steps.into_iter().map(mark).collect::<Result<_, _>>()?, expected })
    }
}
