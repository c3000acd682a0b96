//! Where a program runs: its folder and its environment, the same in a replay.

use std::collections::BTreeMap;
use std::path::Path;

/// Where the program runs: its directory and its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    pub directory: String,
    pub environment: BTreeMap<String, String>,
}

/// Not kept: what the shell counts, and what nobody wants to find in a file that is passed on.
fn is_kept(name: &str) -> bool {
    let upper = name.to_uppercase();
    let secret = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL", "COOKIE", "AUTH"];
    !matches!(name, "_" | "SHLVL" | "PWD" | "OLDPWD")
        && !secret.iter().any(|word| upper.contains(word))
}

impl Surroundings {
    /// As they are now, in this folder or the current one.
    pub fn at(folder: Option<&Path>) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let directory = folder.map_or(here, Path::to_owned);
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| is_kept(name));
        Self { directory: directory.display().to_string(), environment: environment.collect() }
    }

    /// Variables that are kept are as they were; those that are not come from here and now.
    pub fn apply(&self, command: &mut std::process::Command) {
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(is_kept) {
                command.env_remove(name);
            }
        }
        command.envs(&self.environment);
        if Path::new(&self.directory).is_dir() {
            command.current_dir(&self.directory);
        }
    }
}
