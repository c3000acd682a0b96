//! What the command line tells the agent: one JSON file, named in the agent's options.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use untorn_runtime_protocol::Owner;
use untorn_schedule::RunSpec;
use untorn_trace::RunMeta;

use crate::jvm_selection::JvmSelector;

/// Everything that a recorded run depends on beside the program itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Where the trace goes.
    pub trace: PathBuf,
    /// Where the agent says, several times a second, how far it is; see `untorn_runtime_protocol::Progress`.
    pub progress: PathBuf,
    /// Kept in the trace: the command, the directory, the environment.
    pub meta: RunMeta,
    /// Who decides which thread runs.
    pub spec: RunSpec,
    pub scope: ScopeConfig,
    /// A schedule to repeat, encoded; the run fails loudly when it cannot.
    pub replay: Option<PathBuf>,
    /// What standard input answered in the run that is repeated, encoded.
    #[serde(default)]
    pub input: Option<PathBuf>,
    /// The file that is standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<PathBuf>,
    /// The arguments of the program, in a JVM that makes many runs and was started with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    /// The folder into which what threads compute is logged; see [`crate::path_log`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_log: Option<PathBuf>,
    /// Milliseconds without an event after which the watchdog looks at the thread that has the token.
    pub patience_ms: u64,
    /// Keep controlled threads on one processor: hand-overs are several times faster there.
    pub pin: bool,
    /// Whose run it is. When it is gone without having removed the folder of `progress`, it was killed, and the program
    /// ends, too.
    #[serde(default)]
    pub owner: Option<Owner>,
    /// What `JAVA_TOOL_OPTIONS` is to be for JVMs that the program starts, if they are to be seen.
    #[serde(default)]
    pub tool_options: Option<String>,
    /// The socket at which the agent asks for runs, if the JVM makes many of them; see [`crate::server`].
    #[serde(default)]
    pub server: Option<PathBuf>,
    /// What [`crate::SCENARIO_MAIN`] runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
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
    /// Methods whose activations are recorded whatever they do. The others are if they may take more than one step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activations: Vec<String>,
    /// Calls that are tracked: by the method that calls (`com/acme/Cart.remove(I)V`), where in its code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tracked_calls: BTreeMap<String, Vec<u32>>,
}

/// What a trace keeps for a replay beside the description of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JvmSetup {
    pub scope: ScopeConfig,
    /// Which of several JVMs was recorded.
    #[serde(skip_serializing_if = "JvmSelector::is_any")]
    pub selector: JvmSelector,
    /// The calls that a run made, if it was one of a scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The class files and archives of the class path, with their checksums.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub class_files: BTreeMap<String, String>,
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
