//! Starts a Java program under the agent.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::choose::{CHOOSE, Choice, Seen, Which, read_seen};
use crate::config::{Config, Progress};

/// The file name of the agent.
pub const LIBRARY: &str = "libuntorn_jvm.so";

/// The variable of the environment by which the agent finds its configuration. The program can look at the options of
/// its JVM, and they shall be the same in every run; the agent removes the variable before the program begins.
const CONFIG_VARIABLE: &str = "UNTORN_CONFIG";
/// The variable from which every JVM takes options.
pub(crate) const TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// What is to be started.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// A command. If it is not `java` itself, it starts it.
    pub words: &'a [String],
    pub which: &'a Which,
    pub config: &'a Config,
    /// Further options of the JVM.
    pub extra: &'a [String],
}

impl Start<'_> {
    /// Whether the JVM is started by somebody else.
    pub fn is_behind(&self) -> bool {
        !self.words.first().is_some_and(|word| is_java(word)) || !self.which.is_any()
    }
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
    #[error("cannot write {}: {reason}", path.display())]
    Write { path: PathBuf, reason: String },
}

/// A program about to be started, and the files through which it talks to its agent. They are removed when this
/// is dropped.
#[derive(Debug)]
pub struct Launch {
    directory: PathBuf,
    agent: PathBuf,
}

impl Launch {
    /// Finds the agent and makes a place for its files.
    pub fn prepare() -> Result<Self, LaunchError> {
        let agent = find_agent()?;
        // Several may be prepared by one process.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // Always of the same length: the JVM keeps it in its own memory, and what lies behind must not move.
        let directory = std::env::temp_dir().join(format!("untorn-{process:010}-{number:06}"));
        let fail = |error: std::io::Error| LaunchError::Write {
            path: directory.clone(),
            reason: error.to_string(),
        };
        std::fs::create_dir_all(&directory).map_err(fail)?;
        Ok(Self { directory, agent })
    }

    pub fn progress_file(&self) -> PathBuf {
        self.directory.join("progress.json")
    }

    /// A file of our own with that content.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, LaunchError> {
        let path = self.directory.join(name);
        match std::fs::write(&path, content) {
            Ok(()) => Ok(path),
            Err(error) => Err(LaunchError::Write { path, reason: error.to_string() }),
        }
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
        if start.is_behind() {
            self.put_into_environment(start, &mut command)?;
        } else {
            let program = find_program(name).ok_or_else(|| LaunchError::NotFound(name.clone()))?;
            let path = self.write_json("config.json", start.config)?;
            let release = release_of(&program);
            put_agent(&mut command, &self.agent, &path, start.config, release);
            command.args(start.extra);
        }
        command.args(arguments);
        at_fixed_addresses(&mut command);
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
        self.directory.join("seen")
    }

    fn claim_file(&self) -> PathBuf {
        self.directory.join("claim")
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
        let path = self.directory.join("choice.json");
        let agent = format!("-agentpath:{}={CHOOSE}{}", self.agent.display(), path.display());
        // The JVM splits the variable at blanks that are not between quotes.
        let agent =
            if agent.contains(char::is_whitespace) { format!("\"{agent}\"") } else { agent };
        let options = before.iter().chain([&agent]).cloned().collect::<Vec<_>>().join(" ");
        command.env(TOOL_OPTIONS, &options);
        let mut config = start.config.clone();
        // If nobody says which JVM is meant, one that the program itself starts counts, too.
        config.tool_options = start.which.is_any().then_some(options);
        let choice = Choice {
            which: start.which.clone(),
            config: self.write_json("config.json", &config)?,
            agent: self.agent.clone(),
            extra: start.extra.to_vec(),
            tool_options: before,
            seen: self.seen_file(),
            claim: self.claim_file(),
        };
        self.write_json("choice.json", &choice)?;
        Ok(())
    }

    /// The JVMs that ran a program below the command, if it was not `java` itself.
    pub fn seen(&self) -> Vec<Seen> {
        read_seen(&self.seen_file())
    }

    /// What the agent last said; `None` if it said nothing.
    pub fn progress(&self) -> Option<Progress> {
        let text = std::fs::read(self.progress_file()).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        // Left-overs in the directory for temporary files do no harm.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// In the agent: the configuration that the launcher left in the environment. It is taken out, so that the program
/// sees the same environment in every run.
#[expect(unsafe_code, reason = "the environment of the whole process changes")]
pub(crate) fn take_config() -> Option<PathBuf> {
    let path = std::env::var_os(CONFIG_VARIABLE)?;
    // SAFETY: the JVM loads agents before it starts threads of its own; the thread that started it waits for it.
    unsafe { std::env::remove_var(CONFIG_VARIABLE) };
    Some(PathBuf::from(path))
}

/// The verifier of old class files loads classes in an order that depends on where the JVM lies in memory, and with the
/// order of loading go the identities of objects. So it always lies at the same place, if the system lets it.
#[expect(unsafe_code, reason = "a system call between fork and exec")]
fn at_fixed_addresses(command: &mut Command) {
    const ASK: libc::c_ulong = 0xffff_ffff;
    let fix = || {
        // SAFETY: personality(2) takes a number and is nothing but a system call, which is all that may be done
        // between fork and exec.
        unsafe {
            let now = libc::personality(ASK);
            if now >= 0 {
                // A sandbox may refuse it: then some programs with old class files do not replay.
                libc::personality(now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            }
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls and nothing else.
    unsafe { command.pre_exec(fix) };
}

/// Gives a command the options of a JVM under the agent.
pub(crate) fn put_agent(
    command: &mut Command,
    agent: &Path,
    config_file: &Path,
    config: &Config,
    release: Option<u32>,
) {
    let mut option = OsString::from("-agentpath:");
    option.push(agent);
    command.env(CONFIG_VARIABLE, config_file).arg(option).args(jvm_options(config, release));
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

fn jvm_options(config: &Config, release: Option<u32>) -> Vec<String> {
    let mut options = vec![
        // Identities of objects become small numbers in the order in which they are asked for.
        "-XX:+UnlockExperimentalVMOptions".to_owned(),
        "-XX:hashCode=3".to_owned(),
        // The compiler would make chains of calls of a string builder into something of its own, without our probes, and
        // when it does so differs from run to run.
        "-XX:-OptimizeStringConcat".to_owned(),
        // Soft references are cleared when memory runs out and not before: how much is used differs from run to run.
        "-XX:SoftRefLRUPolicyMSPerMB=1000000000".to_owned(),
        // Probes make methods longer; the JVM would no longer compile the longest.
        "-XX:-DontCompileHugeMethods".to_owned(),
    ];
    if release.is_some_and(|release| release < 15) {
        // The header of an object that only one thread ever locked would not tell whether it has an identity.
        options.push("-XX:-UseBiasedLocking".to_owned());
    }
    if release.is_some_and(|release| release >= 21) {
        // Every virtual thread gets a thread of its own, which can be controlled.
        options.push("-XX:-VMContinuations".to_owned());
    }
    if config.pin {
        // Controlled threads share a processor, which is not to be seen by the program.
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        options.push(format!("-XX:ActiveProcessorCount={count}"));
    }
    options
}

/// Whether a word of a command starts a JVM by itself.
pub fn is_java(word: &str) -> bool {
    Path::new(word).file_name() == Some(OsStr::new("java"))
}

/// The folder of the JDK that a program, `bin/java` of it, belongs to.
pub fn home_of(java: &Path) -> Option<PathBuf> {
    java.canonicalize().ok()?.ancestors().nth(2).map(Path::to_owned)
}

/// Which release of Java a program belongs to, by the file `release` of its JDK: 17 for `JAVA_VERSION="17.0.15"`.
pub fn release_of(java: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(home_of(java)?.join("release")).ok()?;
    let version = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    version.trim_matches('"').split(['.', '-', '+', '_']).next()?.parse().ok()
}

/// Beside the executable, where `cargo` and an installation put it.
fn find_agent() -> Result<PathBuf, LaunchError> {
    if let Some(path) = std::env::var_os("UNTORN_AGENT").map(PathBuf::from) {
        return if path.is_file() { Ok(path) } else { Err(LaunchError::NoAgent(path)) };
    }
    let exe = std::env::current_exe().unwrap_or_default();
    let beside = exe.parent().unwrap_or(Path::new(""));
    [".", "deps", "..", "../lib/untorn"]
        .iter()
        .map(|place| beside.join(place).join(LIBRARY))
        .find(|path| path.is_file())
        .and_then(|path| path.canonicalize().ok())
        .ok_or(LaunchError::NoAgent(exe))
}

/// Where a command is found, as a shell would look for it.
pub fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|place| place.join(name)).find(|path| path.is_file())
}
