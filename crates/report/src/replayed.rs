//! Whether the run of a finding could be repeated, as reports say it.

use serde::{Deserialize, Serialize};

use crate::phrasing::number;

/// What came of the one replay of a finding's run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replayed {
    /// There was no time, or it could not be run.
    #[default]
    NotTried,
    /// Every event was the same.
    Exactly,
    /// The first event that was another one, counted from 0.
    DiffersAt(u64),
}

impl Replayed {
    /// The label of the finding.
    pub fn label(self) -> String {
        match self {
            Self::NotTried => "replay not tried".to_owned(),
            Self::Exactly => Self::REPLAYABLE.to_owned(),
            Self::DiffersAt(at) => {
                format!("did not repeat exactly: differs at event {}", number(at))
            }
        }
    }

    /// The label of a finding whose run was repeated.
    pub const REPLAYABLE: &'static str = "replayable";
}
