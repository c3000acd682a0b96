//! The one description of a run, from the exploration down to the agent.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Inputs, Marks, Plan, PolicyKind};

/// The default quantum.
pub const DEFAULT_QUANTUM: u64 = 1_000_000;

/// How to make one run. Two runs of a deterministic program by the same description are equal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunSpec {
    #[serde(alias = "control")]
    pub steering: Steering,
    /// The seed of all random choices.
    pub seed: u64,
    /// Events after which a thread that never blocks lets others run.
    pub quantum: u64,
    /// What the program is given instead of its own inputs.
    #[serde(default, skip_serializing_if = "Inputs::is_empty")]
    pub inputs: Inputs,
    /// Besides the trace, what its threads computed is recorded, so that they can be re-executed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub path_log: bool,
}

/// What decides which thread runs next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steering {
    Policy(PolicyKind),
    /// A policy that holds threads at marks.
    Marks {
        policy: PolicyKind,
        marks: Marks,
    },
    /// A plan is followed as far as possible, then a policy decides.
    Plan {
        plan: Plan,
        policy: PolicyKind,
    },
}

impl RunSpec {
    pub const fn policy(policy: PolicyKind, seed: u64) -> Self {
        Self::by(Steering::Policy(policy), seed)
    }

    pub const fn marked(policy: PolicyKind, seed: u64, marks: Marks) -> Self {
        Self::by(Steering::Marks { policy, marks }, seed)
    }

    pub const fn plan(plan: Plan) -> Self {
        let policy = PolicyKind::RunToBlock;
        Self::by(Steering::Plan { plan, policy }, 0)
    }

    const fn by(steering: Steering, seed: u64) -> Self {
        let inputs = Inputs::none();
        Self { steering, seed, quantum: DEFAULT_QUANTUM, inputs, path_log: false }
    }
}

impl Default for RunSpec {
    fn default() -> Self {
        Self::policy(PolicyKind::RunToBlock, 0)
    }
}

impl Steering {
    /// The policy, or the one that decides where the plan does not.
    pub const fn policy_kind(&self) -> PolicyKind {
        match self {
            Self::Policy(policy) | Self::Marks { policy, .. } | Self::Plan { policy, .. } => {
                *policy
            }
        }
    }

    pub const fn as_plan(&self) -> Option<&Plan> {
        match self {
            Self::Plan { plan, .. } => Some(plan),
            Self::Policy(_) | Self::Marks { .. } => None,
        }
    }
}

/// Serialised as text.
fn as_text<T: fmt::Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

fn of_text<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

macro_rules! text {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                as_text(self, to)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                of_text(from)
            }
        }
    )*};
}

text!(PolicyKind, Plan, Marks);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_comes_back_from_its_text() {
        let plan: Plan = "#1 @ Bank.java:12 read #2\n".parse().expect("a plan");
        let marks: Marks = "hold @ a.B.c(I)V@7 write\n".parse().expect("marks");
        let specs = [
            RunSpec::default(),
            RunSpec::policy(PolicyKind::Pct { depth: 4, length: 77 }, u64::MAX),
            RunSpec::marked(PolicyKind::AtomFuzzer, 3, marks),
            RunSpec { quantum: 5, ..RunSpec::plan(plan) },
            RunSpec {
                inputs: Inputs::arguments(["a b", ""]),
                path_log: true,
                ..RunSpec::default()
            },
        ];
        for spec in specs {
            let text = serde_json::to_string(&spec).expect("text");
            assert_eq!(serde_json::from_str::<RunSpec>(&text).expect("the same"), spec, "{text}");
        }
    }

    #[test]
    fn a_description_without_inputs_is_written_as_before() {
        let text = serde_json::to_string(&RunSpec::default()).expect("text");
        assert_eq!(text, r#"{"steering":{"policy":"run-to-block"},"seed":0,"quantum":1000000}"#);
    }

    #[test]
    fn what_is_no_policy_is_refused_in_words() {
        let text = r#"{"control":{"policy":"fair"},"seed":0,"quantum":1}"#;
        let error = serde_json::from_str::<RunSpec>(text).expect_err("no such policy").to_string();
        assert!(error.contains("no policy 'fair'"), "{error}");
    }
}
