//! The options and the variables of the environment with which a JVM comes under the agent.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::config::Config;

/// The variable of the environment by which the agent finds its configuration. The program can look at the options of
/// its JVM, and they shall be the same in every run; the agent removes the variable before the program begins.
pub const CONFIG_VARIABLE: &str = "UNTORN_CONFIG";
/// The variable from which every JVM takes options.
pub const TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// Gives a command the options of a JVM under the agent.
pub fn put_agent(
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

fn jvm_options(config: &Config, release: Option<u32>) -> Vec<String> {
    let mut options = vec![
        // Identities of objects become small numbers in the order in which they are asked for.
        "-XX:+UnlockExperimentalVMOptions".to_owned(),
        "-XX:hashCode=3".to_owned(),
        // The compiler would make chains of calls of a string builder into something of its own, without our
        // probes, and when it does so differs from run to run.
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
    if config.server.is_some() {
        // Each run has new classes: code that takes long to compile is rarely run long enough to be worth it.
        options.push("-XX:TieredStopAtLevel=1".to_owned());
    }
    if config.pin {
        // Controlled threads share a processor, which is not to be seen by the program.
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        options.push(format!("-XX:ActiveProcessorCount={count}"));
    }
    options
}
