//! Where a program runs: its folder and its environment, the same in a replay.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use untorn_trace::secrets::{is_secret_name, without_secret};
use untorn_trace::{RunMeta, RunSetup};

use crate::Program;
use crate::seal;

/// Where the program runs: its directory and its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    pub directory: String,
    /// The variables that a trace keeps, with their values.
    pub environment: BTreeMap<String, String>,
    /// The names of all others; unknown of a run that somebody else made, or an older version.
    pub others: Option<BTreeSet<String>>,
}

/// Variables that the JVM, or what most programs do, depends on, beside those that the user names.
const KEPT: [&str; 9] = [
    "CLASSPATH",
    "JDK_JAVA_OPTIONS",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "PATH",
    "TZ",
    "TZDIR",
    "_JAVA_OPTIONS",
];
const KEPT_PREFIXES: [&str; 2] = ["JAVA_", "LC_"];

/// Whether a trace keeps a variable that nobody has named.
fn is_kept(name: &str, value: &str) -> bool {
    let is_needed =
        KEPT.contains(&name) || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_needed && !is_secret_name(name) && without_secret(value) == value
}

/// What the shell counts.
fn is_of_shell(name: &str) -> bool {
    matches!(name, "_" | "SHLVL" | "PWD" | "OLDPWD")
}

/// Whether a variable changes words and times only, and never which code is run.
fn is_harmless(name: &str) -> bool {
    matches!(name, "LANG" | "LANGUAGE" | "TZ") || name.starts_with("LC_")
}

/// The variables of this process whose names and values are texts.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

impl Surroundings {
    /// Those of a program that is about to be run.
    pub fn of(program: &Program) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let directory = program.directory.clone().unwrap_or(here);
        let (kept, others): (BTreeMap<_, _>, BTreeMap<_, _>) = variables()
            .filter(|(name, _)| !is_of_shell(name))
            .partition(|(name, value)| program.variables.contains(name) || is_kept(name, value));
        Self {
            directory: directory.display().to_string(),
            environment: kept,
            others: Some(others.into_keys().collect()),
        }
    }

    /// Variables that are kept are as they were. The others come from here and now, if they were there.
    pub fn apply(&self, command: &mut std::process::Command) {
        if let Some(others) = &self.others {
            let was_there =
                |name: &str| self.environment.contains_key(name) || others.contains(name);
            for (name, _) in std::env::vars_os() {
                if name.to_str().is_some_and(|name| !is_of_shell(name) && !was_there(name)) {
                    command.env_remove(name);
                }
            }
        }
        command.envs(&self.environment);
        if Path::new(&self.directory).is_dir() {
            command.current_dir(&self.directory);
        }
    }

    /// The metadata of a run there, sealed: see [`seal`].
    pub fn describe(
        &self,
        mut meta: RunMeta,
        run: serde_json::Value,
        own: serde_json::Value,
    ) -> RunMeta {
        meta.setup = Some(RunSetup {
            directory: self.directory.clone(),
            environment: self.environment.clone(),
            other_variables: self.others.iter().flatten().cloned().collect(),
            run,
            front_end: own,
            seal: String::new(),
        });
        let seal = seal::seal(&sealed_text(&meta));
        meta.setup = meta.setup.map(|setup| RunSetup { seal, ..setup });
        meta
    }
}

/// What decides which code a replay runs: everything but the order of the threads, and what standard input answered.
pub(crate) fn sealed_text(meta: &RunMeta) -> Vec<u8> {
    let setup = meta.setup.as_ref().map(|setup| RunSetup { seal: String::new(), ..setup.clone() });
    // Texts and maps of texts: that cannot fail.
    serde_json::to_vec(&("trace", &meta.front_end, &meta.command, setup)).unwrap_or_default()
}

/// The variables of a run that somebody else made, without those that could have other code run.
pub(crate) fn harmless(environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let kept = environment.iter().filter(|(name, _)| is_harmless(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_keeps_what_it_needs_and_no_secrets() {
        for (name, value) in [
            ("DATABASE_URL", "postgres://ann:pw@host/db"),
            ("MYSQL_PWD", "pw"),
            ("SLACK_WEBHOOK_URL", "https://host/x"),
            ("MAVEN_OPTS", "-Xmx1g"),
            ("HOME", "/home/ann"),
            ("JAVA_KEYSTORE_PASSWORD", "pw"),
            ("JAVA_TOOL_OPTIONS", "-Ddb.password=pw"),
        ] {
            assert!(!is_kept(name, value), "{name}");
        }
        for (name, value) in
            [("LC_ALL", "C"), ("TZ", "UTC"), ("JAVA_TOOL_OPTIONS", "-Xmx1g"), ("PATH", "/bin")]
        {
            assert!(is_kept(name, value), "{name}");
        }
    }

    #[test]
    fn a_changed_command_breaks_the_seal() {
        let program = Program { command: vec!["java".to_owned()], ..Program::default() };
        let meta = RunMeta { command: program.command.clone(), ..RunMeta::default() };
        let own = serde_json::json!({"b": 1, "a": [2]});
        let meta = Surroundings::of(&program).describe(meta, serde_json::Value::Null, own);
        let text = sealed_text(&meta);
        // As it is read from a file again.
        let file = serde_json::to_string(&meta).expect("JSON");
        let read: RunMeta = serde_json::from_str(&file).expect("the same");
        assert_eq!(sealed_text(&read), text);
        let mut other = read;
        other.command.push("Main".to_owned());
        assert_ne!(sealed_text(&other), text);
    }
}
