//! Programs behind scripts and build tools: which of the JVMs that a command starts is meant, and how it comes under
//! the agent.
//!
//! Every JVM below the command loads the agent, because `JAVA_TOOL_OPTIONS` names it. In those that are not meant the agent
//! returns before it asks the JVM for anything, and they have no option that they would not have without it. The one
//! that is meant is started anew in its own process, before any Java code has run, with the options of a program that the
//! command line starts by itself.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, OsString};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use jvmti_bindings::sys::jni::JavaVM;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::jvmti::Jvmti;
use crate::launch::{TOOL_OPTIONS, put_agent, release_of};
use crate::scope::matches;

/// What stands before the name of the file with the [`Choice`] in the options of the agent.
pub(crate) const CHOOSE: &str = "choose:";

/// Which of the JVMs is meant; patterns with `*`. With neither, there must be only one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Which {
    /// Its main class, its jar, or all of its command line behind the options.
    pub main: Option<String>,
    /// A test class that Maven has it run.
    pub test: Option<String>,
}

impl Which {
    pub fn is_any(&self) -> bool {
        self.main.is_none() && self.test.is_none()
    }

    /// Whether a JVM with that command, a main class or jar and arguments, is meant.
    fn means(&self, command: &str) -> bool {
        let main = command.split(' ').next().unwrap_or("");
        // A jar has a folder in front, a class of a module the module.
        let short = main.rsplit('/').next().unwrap_or("");
        let is_main = |pattern: &String| [command, main, short].iter().any(|t| matches(pattern, t));
        let is_test = |pattern: &String| {
            let simple = |test: &str| matches(pattern, test.rsplit('.').next().unwrap_or(""));
            tests_of(command).iter().any(|test| matches(pattern, test) || simple(test))
        };
        self.main.as_ref().is_none_or(is_main) && self.test.as_ref().is_none_or(is_test)
    }
}

/// The test classes that Maven Surefire, or Failsafe, has a JVM run: they stand in a file that its arguments name.
fn tests_of(command: &str) -> Vec<String> {
    let words: Vec<&str> = command.split(' ').collect();
    let [_, folder, _, file, ..] = words[..] else { return Vec::new() };
    let text = std::fs::read_to_string(Path::new(folder).join(file)).unwrap_or_default();
    // With a JVM for each class there is one of its own, and the list of all beside it.
    let own = text.lines().find_map(|line| line.strip_prefix("forkTestSet="));
    if let Some((_, own)) = own.and_then(|own| own.split_once('|')) {
        return vec![own.to_owned()];
    }
    let listed = text.lines().filter(|line| line.starts_with("tc."));
    listed.filter_map(|line| Some(line.split_once('=')?.1.to_owned())).collect()
}

/// What every JVM below a command finds: a file that the options of its agent name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Choice {
    pub(crate) which: Which,
    /// Of the agent, for the one that is meant.
    pub(crate) config: PathBuf,
    pub(crate) agent: PathBuf,
    /// Further options of the JVM.
    pub(crate) extra: Vec<String>,
    /// What `JAVA_TOOL_OPTIONS` was.
    pub(crate) tool_options: Option<String>,
    /// Where each JVM leaves a line; see [`Seen`].
    pub(crate) seen: PathBuf,
    /// Whoever makes this file is the one that is meant.
    pub(crate) claim: PathBuf,
}

/// A JVM that ran a program below the command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its main class or jar, and arguments.
    pub command: String,
    /// It is one of those that are meant.
    pub meant: bool,
}

/// All that were seen, in order.
pub(crate) fn read_seen(path: &Path) -> Vec<Seen> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// In a JVM below a command: comes back if it is to be left alone, whatever the reason.
///
/// # Safety
/// `vm` is the JVM that called `Agent_OnLoad`.
pub(crate) unsafe fn enter(vm: *mut JavaVM, path: &str) {
    // A JVM may outlive the command, and the file with it.
    let Some(choice) = read::<Choice>(Path::new(path)) else { return };
    let Ok(exe) = std::env::current_exe() else { return };
    // Compilers and other tools of the JDK are JVMs, too, and not what anybody wants to record.
    if exe.file_name() != Some(OsStr::new("java")) {
        return;
    }
    // SAFETY: by the caller's word.
    let Some(command) = (unsafe { java_command(vm) }) else { return };
    let meant = choice.which.means(&command);
    note(&choice.seen, &Seen { command, meant });
    if meant && OpenOptions::new().write(true).create_new(true).open(&choice.claim).is_ok() {
        start_anew(&choice, &exe);
    }
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// The main class or jar with its arguments; `None` if this JVM runs no program, but tells its version.
unsafe fn java_command(vm: *mut JavaVM) -> Option<String> {
    const NAME: &CStr = c"sun.java.command";
    // SAFETY: by the caller's word.
    let jvmti = unsafe { Jvmti::new(vm) }.ok()?;
    let command = jvmti.system_property(NAME);
    jvmti.dispose();
    command.filter(|command| !command.trim().is_empty())
}

fn note(path: &Path, seen: &Seen) {
    let Ok(mut line) = serde_json::to_vec(seen) else { return };
    line.push(b'\n');
    // In one piece, so that lines of JVMs that start at once do not mix. One that is missing is not complained of.
    let _ = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .and_then(|mut file| file.write_all(&line));
}

/// Starts this JVM anew in its own process. Comes back only if that fails; then the program runs without us, and the
/// command line sees that nothing was recorded.
fn start_anew(choice: &Choice, exe: &Path) {
    let Some(config) = read::<Config>(&choice.config) else { return };
    let Ok(line) = std::fs::read("/proc/self/cmdline") else { return };
    let mut words = line.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec()));
    let Some(name) = words.next() else { return };
    let mut words: Vec<OsString> = words.collect();
    // What stands behind the last word's end.
    words.pop();
    let mut command = Command::new(exe);
    command.arg0(name);
    put_agent(&mut command, &choice.agent, &choice.config, &config, release_of(exe));
    command.args(&choice.extra).args(words);
    match &choice.tool_options {
        Some(options) => command.env(TOOL_OPTIONS, options),
        None => command.env_remove(TOOL_OPTIONS),
    };
    let _ = command.exec();
}

/// Lets JVMs that the program starts be seen, too: the variable is set again after the JVM has read its own.
pub(crate) fn pass_on(options: &str) {
    // SAFETY: the agent is being loaded: the JVM has no other thread yet that could look at the environment.
    unsafe { std::env::set_var(TOOL_OPTIONS, options) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(main: &str, command: &str) -> bool {
        Which { main: Some(main.to_owned()), test: None }.means(command)
    }

    #[test]
    fn a_main_class_a_jar_and_a_command_line_are_recognised() {
        assert!(means("com.acme.Server", "com.acme.Server --port 80"));
        assert!(means("*.Server", "com.acme.Server"));
        assert!(means("app.jar", "build/libs/app.jar x"));
        assert!(means("com.acme.Server", "acme/com.acme.Server"));
        assert!(means("com.acme.Server*--port 81", "com.acme.Server --port 81"));
        assert!(!means("Server", "com.acme.Server"));
        assert!(!means("com.acme.Server*--port 81", "com.acme.Server --port 80"));
        assert!(Which::default().means("anything"));
    }

    #[test]
    fn the_tests_of_a_surefire_jvm_are_read_from_its_file() {
        let folder = std::env::temp_dir().join(format!("untorn-choose-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("writable");
        let write = |text: &str| std::fs::write(folder.join("props"), text).expect("writable");
        let command = format!("{0}/booter.jar {0} run1 props props2", folder.display());
        let means = |test: &str| Which { main: None, test: Some(test.to_owned()) }.means(&command);
        write("#surefire\nrunOrder=filesystem\ntc.0=com.acme.BankTest\ntc.1=com.acme.ShopTest\n");
        assert!(means("com.acme.BankTest") && means("ShopTest") && means("*.Shop*"));
        assert!(!means("Bank"));
        write("tc.0=com.acme.BankTest\nforkTestSet=java.lang.Class|com.acme.ShopTest\n");
        assert!(means("ShopTest") && !means("BankTest"));
        let _ = std::fs::remove_dir_all(&folder);
        assert!(!means("ShopTest"));
    }
}
