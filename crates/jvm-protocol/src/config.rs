//! What the command line tells the agent: one JSON file, named in the agent's options.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use untorn_trace::tables::RunMeta;

/// Everything that a recorded run depends on beside the program itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Where the trace goes.
    pub trace: PathBuf,
    /// Where the agent says, several times a second, how far it is; see `untorn_runtime_protocol::Progress`.
    pub progress: PathBuf,
    /// Kept in the trace: the command, the directory, the environment.
    pub meta: RunMeta,
    pub seed: u64,
    /// Name of the policy, see `untorn_schedule`.
    pub policy: String,
    /// Events after which a thread that never blocks lets others run.
    pub quantum: u64,
    pub scope: ScopeConfig,
    /// A schedule to repeat, encoded; the run fails loudly when it cannot.
    pub replay: Option<PathBuf>,
    /// What standard input answered in the run that is repeated, encoded.
    #[serde(default)]
    pub input: Option<PathBuf>,
    /// A plan to follow, as text.
    pub plan: Option<String>,
    /// Marks for a policy that holds threads at certain places, as text.
    #[serde(default)]
    pub marks: Option<String>,
    /// Milliseconds without an event after which the watchdog looks at the thread that has the token.
    pub patience_ms: u64,
    /// Keep controlled threads on one processor: hand-overs are several times faster there.
    pub pin: bool,
    /// What `JAVA_TOOL_OPTIONS` is to be for JVMs that the program starts, if they are to be seen.
    #[serde(default)]
    pub tool_options: Option<String>,
}

/// Which classes are rewritten and how; patterns are class names with `*`, as in `com.acme.*`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScopeConfig {
    /// Recorded in addition to the default (application classes, collections, string buffers).
    pub instrument: Vec<String>,
    /// Not recorded whatever else says so.
    pub exclude: Vec<String>,
    /// Methods that are meant to be atomic: `com.acme.Account.withdraw`, `*.transfer`.
    pub atomic: Vec<String>,
    /// Calls that are tracked: by the method that calls (`com/acme/Cart.remove(I)V`), where in its code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tracked_calls: BTreeMap<String, Vec<u32>>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the agent's configuration {}: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
}

impl Config {
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let fail = |reason: String| ConfigError::Read { path: path.to_owned(), reason };
        let text = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| fail(error.to_string()))
    }
}
