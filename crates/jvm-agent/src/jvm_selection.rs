//! In a JVM below a script or a build tool: decides whether it is the selected one, and starts it again under the
//! agent.
//!
//! Every JVM below the command loads the agent, because `JAVA_TOOL_OPTIONS` names it. In JVMs that are not selected
//! the agent returns before it requests anything from the JVM, and they have no option that they would not have
//! without it. The selected one is started again in its own process, before any Java code has run, with the options
//! of a program that the command line starts directly.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, OsString};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use jvmti_bindings::sys::jni::JavaVM;
use serde::Deserialize;
use untorn_jvm_protocol::config::Config;
use untorn_jvm_protocol::java_home::release_of;
use untorn_jvm_protocol::jvm_options::{CONFIG_VARIABLE, TOOL_OPTIONS, put_agent};
use untorn_jvm_protocol::jvm_selection::{SeenJvm, Selection};

use crate::jvmti::Jvmti;

/// In a JVM below a command: returns if the JVM is not to be recorded, whatever the reason.
///
/// # Safety
/// `vm` is the JVM that called `Agent_OnLoad`.
pub(crate) unsafe fn enter(vm: *mut JavaVM, path: &str) {
    // A JVM may outlive the command, and the file with it.
    let Some(selection) = read::<Selection>(Path::new(path)) else { return };
    let Ok(exe) = std::env::current_exe() else { return };
    // Compilers and other tools of the JDK are JVMs, too, but never the program to record.
    if exe.file_name() != Some(OsStr::new("java")) {
        return;
    }
    // SAFETY: guaranteed by the caller.
    let Some(command) = (unsafe { java_command(vm) }) else { return };
    let meant = selection.selector.means(&command);
    note(&selection.seen, &SeenJvm { command, meant });
    if meant && OpenOptions::new().write(true).create_new(true).open(&selection.claim).is_ok() {
        start_anew(&selection, &exe);
    }
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// The main class or jar with its arguments; `None` if this JVM runs no program (`java -version`).
unsafe fn java_command(vm: *mut JavaVM) -> Option<String> {
    const NAME: &CStr = c"sun.java.command";
    // SAFETY: guaranteed by the caller.
    let jvmti = unsafe { Jvmti::new(vm) }.ok()?;
    let command = jvmti.system_property(NAME);
    jvmti.dispose();
    command.filter(|command| !command.trim().is_empty())
}

fn note(path: &Path, seen: &SeenJvm) {
    let Ok(mut line) = serde_json::to_vec(seen) else { return };
    line.push(b'\n');
    // In one write, so that lines of JVMs that start at once do not mix. A lost line is no error.
    let _ = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(&line));
}

/// Starts this JVM again in its own process. Returns only if that fails; then the program runs without the agent, and
/// the command line notices that nothing was recorded.
fn start_anew(selection: &Selection, exe: &Path) {
    let Some(config) = read::<Config>(&selection.config) else { return };
    let Ok(line) = std::fs::read("/proc/self/cmdline") else { return };
    let mut words = line.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec()));
    let Some(name) = words.next() else { return };
    let mut words: Vec<OsString> = words.collect();
    // The text ends with NUL, so the last part is empty.
    words.pop();
    let mut command = Command::new(exe);
    command.arg0(name);
    put_agent(&mut command, &selection.agent, &selection.config, &config, release_of(exe));
    command.args(&selection.extra).args(words);
    match &selection.tool_options {
        Some(options) => command.env(TOOL_OPTIONS, options),
        None => command.env_remove(TOOL_OPTIONS),
    };
    let _ = command.exec();
}

/// The configuration that the launcher put into the environment. It is removed, so that the program sees the same
/// environment in every run.
pub(crate) fn take_config() -> Option<PathBuf> {
    let path = std::env::var_os(CONFIG_VARIABLE)?;
    // SAFETY: the JVM loads agents before it starts threads of its own; the thread that started it waits for it.
    unsafe { std::env::remove_var(CONFIG_VARIABLE) };
    Some(PathBuf::from(path))
}

/// Passes the agent on to JVMs that the program starts: the variable is set again after the JVM has read its own.
pub(crate) fn propagate_options(options: &str) {
    // SAFETY: the agent is being loaded: the JVM has no other thread yet that could read the environment.
    unsafe { std::env::set_var(TOOL_OPTIONS, options) };
}
