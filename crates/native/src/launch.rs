//! Starts a native program with the runtime in it.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use untorn_frontend::{FrontEndError, PrivateFolder, processes};
use untorn_native_protocol::{Config, LIBRARY, PRELOAD, VARIABLE};
use untorn_runtime_protocol::Progress;

/// Why a program cannot be started with the runtime.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    #[error("the runtime, {LIBRARY}, was not found beside {}", .0.display())]
    NoRuntime(PathBuf),
    #[error("the runtime, {LIBRARY}, cannot be unpacked: {0}")]
    Unpack(String),
    #[error("cannot write {}: {reason}", path.display())]
    Write { path: PathBuf, reason: String },
}

impl From<LaunchError> for FrontEndError {
    fn from(error: LaunchError) -> Self {
        let text = error.to_string();
        match error {
            LaunchError::NoRuntime(_) => Self::run(text).way_out(
                "install it with `cargo install --path crates/cli`, or set UNTORN_NATIVE_RUNTIME to its path",
            ),
            LaunchError::Unpack(_) | LaunchError::Write { .. } => Self::run(text),
        }
    }
}

/// The library that a variable names, or that is beside the executable or inside of it.
pub(crate) fn find_runtime() -> Result<PathBuf, LaunchError> {
    if let Some(path) = std::env::var_os("UNTORN_NATIVE_RUNTIME").map(PathBuf::from) {
        return if path.is_file() { Ok(path) } else { Err(LaunchError::NoRuntime(path)) };
    }
    untorn_embedded::find(LIBRARY).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            LaunchError::NoRuntime(std::env::current_exe().unwrap_or_default())
        }
        _ => LaunchError::Unpack(error.to_string()),
    })
}

/// A program about to be started, and the files through which it talks to its runtime. They are removed when this is
/// dropped.
#[derive(Debug)]
pub(crate) struct Launch {
    folder: PrivateFolder,
    runtime: PathBuf,
}

impl Launch {
    pub(crate) fn prepare() -> Result<Self, LaunchError> {
        let runtime = find_runtime()?;
        let parent = std::env::temp_dir();
        match PrivateFolder::create_in(&parent) {
            Ok(folder) => Ok(Self { folder, runtime }),
            Err(error) => Err(LaunchError::Write { path: parent, reason: error.to_string() }),
        }
    }

    pub(crate) fn progress_file(&self) -> PathBuf {
        self.folder.path().join("progress.json")
    }

    /// A file of our own with that content.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, LaunchError> {
        self.folder.write(name, content).map_err(|error| LaunchError::Write {
            path: self.folder.path().join(name),
            reason: error.to_string(),
        })
    }

    /// The command with the runtime in it. `surround` gives it its folder and its environment.
    pub(crate) fn command(
        &self,
        words: &[String],
        config: &Config,
        surround: impl FnOnce(&mut Command),
    ) -> Result<Command, LaunchError> {
        for name in ["progress.json", "fault"] {
            // Mostly there is none.
            let _ = std::fs::remove_file(self.folder.path().join(name));
        }
        let (name, arguments) =
            words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
        let mut command = Command::new(name);
        surround(&mut command);
        let set = command.get_envs().find(|(name, _)| *name == PRELOAD);
        let own = match set {
            Some((_, value)) => value.map(ToOwned::to_owned),
            None => std::env::var_os(PRELOAD),
        };
        let own = own.and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty());
        let config = Config { preload: own.clone(), ..config.clone() };
        let path = self.write("config.json", &serde_json::to_vec(&config).unwrap_or_default())?;
        let runtime = self.runtime.display().to_string();
        let preload = own.map_or(runtime.clone(), |own| format!("{runtime}:{own}"));
        command.args(arguments).env(VARIABLE, path).env(PRELOAD, preload);
        processes::at_fixed_addresses(&mut command);
        Ok(command)
    }

    /// What the runtime last said; `None` if it said nothing.
    pub(crate) fn progress(&self) -> Option<Progress> {
        let text = std::fs::read(self.progress_file()).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Why the runtime let the program run without it, if it did.
    pub(crate) fn fault(&self) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join("fault")).ok()
    }
}
