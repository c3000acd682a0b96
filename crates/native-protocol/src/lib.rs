//! What the command line tells the runtime inside of a native program: one JSON file, named in its environment.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use untorn_runtime_protocol::Owner;
use untorn_schedule::RunSpec;
use untorn_trace::RunMeta;

/// The file name of the runtime, which is its name in the executables that need it, too.
pub const LIBRARY: &str = "libuntorn_native_runtime.so";

/// The variable that names the configuration. Without it, the runtime lets the program run as if it were not there.
pub const VARIABLE: &str = "UNTORN_NATIVE_RUN";

/// The variable by which the runtime comes into the program before everything else.
pub const PRELOAD: &str = "LD_PRELOAD";

/// Everything that a recorded run depends on beside the program itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Where the trace goes.
    pub trace: PathBuf,
    /// Where the runtime says how far it is; see `untorn_runtime_protocol::Progress`.
    pub progress: PathBuf,
    /// Kept in the trace: the command, the directory, the environment.
    pub meta: RunMeta,
    /// Who decides which thread runs.
    pub spec: RunSpec,
    pub setup: NativeSetup,
    /// A schedule to repeat, encoded.
    pub replay: Option<PathBuf>,
    /// What the program read in the run that is repeated, encoded.
    pub input: Option<PathBuf>,
    /// Milliseconds without an event after which the watchdog looks at the thread that has the token.
    pub patience_ms: u64,
    /// Keep controlled threads on one processor: hand-overs are several times faster there.
    pub pin: bool,
    /// Whose run it is. When it is gone without having removed the folder of `progress`, the program ends, too.
    #[serde(default)]
    pub owner: Option<Owner>,
    /// What the program's own [`PRELOAD`] was; it finds that again.
    #[serde(default)]
    pub preload: Option<String>,
}

/// What a trace keeps for a replay beside the description of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NativeSetup {
    /// Functions that are meant to be atomic: `bank_*`, `Account::withdraw`.
    pub atomic: Vec<String>,
    /// Functions and files that the user does not want to hear of.
    pub exclude: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the configuration {}: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
}

impl Config {
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let fail = |reason: String| ConfigError::Read { path: path.to_owned(), reason };
        let text = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| fail(error.to_string()))
    }
}
