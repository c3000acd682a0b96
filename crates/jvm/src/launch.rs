//! Starts a Java program under the agent.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use untorn_jvm_protocol::config::Config;
use untorn_jvm_protocol::java_home::{is_java, release_of};
use untorn_jvm_protocol::jvm_options::{TOOL_OPTIONS, put_agent};
use untorn_jvm_protocol::jvm_selection::{JvmSelector, SELECT, SeenJvm, Selection, read_seen};
use untorn_runtime_protocol::Progress;

use untorn_frontend::{ExitKind, FrontEndError, PrivateFolder, RecordedTrace, processes};

use crate::jdk::find_program;

/// The file name of the agent.
const LIBRARY: &str = "libuntorn_jvm_agent.so";

/// What is to be started.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// A command. If it is not `java` itself, it starts it.
    pub words: &'a [String],
    pub selector: &'a JvmSelector,
    pub config: &'a Config,
    /// Further options of the JVM.
    pub extra: &'a [String],
}

impl Start<'_> {
    /// Whether the JVM is started by somebody else.
    pub fn is_indirect_launch(&self) -> bool {
        is_indirect_launch(self.words, self.selector)
    }
}

/// Whether a command is not `java` itself, or more than one JVM may be meant.
pub fn is_indirect_launch(words: &[String], selector: &JvmSelector) -> bool {
    !words.first().is_some_and(|word| is_java(word)) || !selector.is_any()
}

/// Why a program cannot be started under the agent.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("there is no command")]
    NoCommand,
    #[error("'{0}' was not found")]
    NotFound(String),
    #[error("the agent, {LIBRARY}, was not found beside {}", .0.display())]
    NoAgent(PathBuf),
    #[error("the agent, {LIBRARY}, cannot be unpacked: {0}")]
    Unpack(String),
    #[error("cannot write {}: {reason}", path.display())]
    Write { path: PathBuf, reason: String },
}

/// The same with the way out.
impl From<LaunchError> for FrontEndError {
    fn from(error: LaunchError) -> Self {
        let text = error.to_string();
        match error {
            LaunchError::NoCommand => Self::input(text).way_out(
                "write the command as you would start it: untorn record -- java -cp classes Main",
            ),
            LaunchError::NotFound(name) if name.ends_with("java") => Self::run(text).way_out(
                "install a JDK (Debian: default-jdk-headless), or name it: /path/to/bin/java",
            ),
            LaunchError::NotFound(_) => Self::run(text)
                .way_out("name the command as your shell would find it, or by its path"),
            LaunchError::NoAgent(_) => Self::run(text).way_out(
                "install it with `cargo install --path crates/cli`, or set UNTORN_AGENT to its path",
            ),
            LaunchError::Unpack(_) | LaunchError::Write { .. } => Self::run(text),
        }
    }
}

/// A program about to be started, and the files through which it talks to its agent. They are removed when this
/// is dropped.
#[derive(Debug)]
pub struct Launch {
    folder: PrivateFolder,
    agent: PathBuf,
}

impl Launch {
    /// Finds the agent and makes a place for its files.
    pub fn prepare() -> Result<Self, LaunchError> {
        let agent = find_agent()?;
        let parent = std::env::temp_dir();
        match PrivateFolder::create_in(&parent) {
            Ok(folder) => Ok(Self { folder, agent }),
            Err(error) => Err(LaunchError::Write { path: parent, reason: error.to_string() }),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn progress_file(&self) -> PathBuf {
        self.folder.path().join("progress.json")
    }

    /// A file of our own with that content.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, LaunchError> {
        self.folder.write(name, content).map_err(|error| LaunchError::Write {
            path: self.folder.path().join(name),
            reason: error.to_string(),
        })
    }

    /// The command with the agent in it. `surround` gives it its folder and its environment.
    pub fn command(
        &self,
        start: &Start<'_>,
        surround: impl FnOnce(&mut Command),
    ) -> Result<Command, LaunchError> {
        let (name, arguments) = start.words.split_first().ok_or(LaunchError::NoCommand)?;
        let mut command = Command::new(name);
        surround(&mut command);
        self.forget();
        if start.is_indirect_launch() {
            self.put_into_environment(start, &mut command)?;
        } else {
            let program = find_program(name).ok_or_else(|| LaunchError::NotFound(name.clone()))?;
            let path = self.write_json("config.json", start.config)?;
            let release = release_of(&program);
            put_agent(&mut command, &self.agent, &path, start.config, release);
            command.args(start.extra);
        }
        command.args(arguments);
        processes::at_fixed_addresses(&mut command);
        Ok(command)
    }

    /// What an earlier run left.
    fn forget(&self) {
        for path in [self.progress_file(), self.seen_file(), self.claim_file()] {
            // Mostly there is none.
            let _ = std::fs::remove_file(path);
        }
    }

    fn seen_file(&self) -> PathBuf {
        self.folder.path().join("seen")
    }

    fn claim_file(&self) -> PathBuf {
        self.folder.path().join("claim")
    }

    fn write_json(
        &self,
        name: &str,
        value: &impl serde::Serialize,
    ) -> Result<PathBuf, LaunchError> {
        self.write(name, &serde_json::to_vec(value).unwrap_or_default())
    }

    /// Every JVM below the command finds the agent in its environment, and chooses.
    fn put_into_environment(
        &self,
        start: &Start<'_>,
        command: &mut Command,
    ) -> Result<(), LaunchError> {
        let before = tool_options(command);
        let path = self.folder.path().join("selection.json");
        let agent = format!("-agentpath:{}={SELECT}{}", self.agent.display(), path.display());
        // The JVM splits the variable at blanks that are not between quotes.
        let agent =
            if agent.contains(char::is_whitespace) { format!("\"{agent}\"") } else { agent };
        let options = before.iter().chain([&agent]).cloned().collect::<Vec<_>>().join(" ");
        command.env(TOOL_OPTIONS, &options);
        let mut config = start.config.clone();
        // If nobody says which JVM is meant, one that the program itself starts counts, too.
        config.tool_options = start.selector.is_any().then_some(options);
        let selection = Selection {
            selector: start.selector.clone(),
            config: self.write_json("config.json", &config)?,
            agent: self.agent.clone(),
            extra: start.extra.to_vec(),
            tool_options: before,
            seen: self.seen_file(),
            claim: self.claim_file(),
        };
        self.write_json("selection.json", &selection)?;
        Ok(())
    }

    /// The JVMs that ran a program below the command, if it was not `java` itself.
    pub fn seen(&self) -> Vec<SeenJvm> {
        read_seen(&self.seen_file())
    }

    /// Whether the agent could write all of the trace. A part of it looks like that of another run.
    pub(crate) fn has_written(&self, trace: &Path, ended: ExitKind) -> Result<(), FrontEndError> {
        let Some(fault) = self.progress().and_then(|said| said.fault) else { return Ok(()) };
        match RecordedTrace::read(trace) {
            Ok(whole) if whole.cut.is_none() => Ok(()),
            _ => Err(FrontEndError::run(fault)
                .details([format!(
                    "{} is not whole; the program ended with {ended}",
                    trace.display()
                )])
                .way_out(
                    "make room, or have the trace written elsewhere: -o of record, --out of check",
                )),
        }
    }

    /// What the agent last said; `None` if it said nothing.
    pub fn progress(&self) -> Option<Progress> {
        let text = std::fs::read(self.progress_file()).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// What a command has in that variable.
fn tool_options(command: &Command) -> Option<String> {
    let set = command.get_envs().find(|(name, _)| *name == OsStr::new(TOOL_OPTIONS));
    let value = match set {
        Some((_, value)) => value.map(OsStr::to_owned),
        None => std::env::var_os(TOOL_OPTIONS),
    };
    value.and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())
}

/// The agent that a variable names, or that is beside the executable or inside of it.
pub(crate) fn find_agent() -> Result<PathBuf, LaunchError> {
    if let Some(path) = std::env::var_os("UNTORN_AGENT").map(PathBuf::from) {
        return if path.is_file() { Ok(path) } else { Err(LaunchError::NoAgent(path)) };
    }
    untorn_embedded::find(LIBRARY).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            LaunchError::NoAgent(std::env::current_exe().unwrap_or_default())
        }
        _ => LaunchError::Unpack(error.to_string()),
    })
}
