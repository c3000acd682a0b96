//! Programs behind scripts and build tools: which of the JVMs that a command starts is meant.
//!
//! Every JVM below the command loads the agent, because `JAVA_TOOL_OPTIONS` names it, and finds a [`Selection`] in
//! the file that the options of the agent name. What it does then is the agent's `jvm_selection`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use untorn_trace::glob::matches;

/// What stands before the name of the file with the [`Selection`] in the options of the agent.
pub const SELECT: &str = "select:";

/// Which of the JVMs is meant; patterns with `*`. With neither, there must be only one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JvmSelector {
    /// Its main class, its jar, or all of its command line behind the options.
    pub main: Option<String>,
    /// A test class that Maven has it run.
    pub test: Option<String>,
}

impl JvmSelector {
    pub fn is_any(&self) -> bool {
        self.main.is_none() && self.test.is_none()
    }

    /// Whether a JVM with that command, a main class or jar and arguments, is meant.
    pub fn means(&self, command: &str) -> bool {
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
pub struct Selection {
    pub selector: JvmSelector,
    /// Of the agent, for the one that is meant.
    pub config: PathBuf,
    pub agent: PathBuf,
    /// Further options of the JVM.
    pub extra: Vec<String>,
    /// What `JAVA_TOOL_OPTIONS` was.
    pub tool_options: Option<String>,
    /// Where each JVM leaves a line; see [`SeenJvm`].
    pub seen: PathBuf,
    /// Whoever makes this file is the one that is meant.
    pub claim: PathBuf,
}

/// A JVM that ran a program below the command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenJvm {
    /// Its main class or jar, and arguments.
    pub command: String,
    /// It is one of those that are meant.
    pub meant: bool,
}

/// All that were seen, in order.
pub fn read_seen(path: &Path) -> Vec<SeenJvm> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn means(main: &str, command: &str) -> bool {
        JvmSelector { main: Some(main.to_owned()), test: None }.means(command)
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
        assert!(JvmSelector::default().means("anything"));
    }

    #[test]
    fn the_tests_of_a_surefire_jvm_are_read_from_its_file() {
        let folder = std::env::temp_dir().join(format!("untorn-select-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("writable");
        let write = |text: &str| std::fs::write(folder.join("props"), text).expect("writable");
        let command = format!("{0}/booter.jar {0} run1 props props2", folder.display());
        let means =
            |test: &str| JvmSelector { main: None, test: Some(test.to_owned()) }.means(&command);
        write("#surefire\nrunOrder=filesystem\ntc.0=com.acme.BankTest\ntc.1=com.acme.ShopTest\n");
        assert!(means("com.acme.BankTest") && means("ShopTest") && means("*.Shop*"));
        assert!(!means("Bank"));
        write("tc.0=com.acme.BankTest\nforkTestSet=java.lang.Class|com.acme.ShopTest\n");
        assert!(means("ShopTest") && !means("BankTest"));
        let _ = std::fs::remove_dir_all(&folder);
        assert!(!means("ShopTest"));
    }
}
