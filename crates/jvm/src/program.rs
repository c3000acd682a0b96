//! What is run: a command, the selected JVM, and the folder.

use std::path::PathBuf;

use untorn_frontend::{FrontEndError, Program};
use untorn_jvm_protocol::config::{JvmSetup, ScopeConfig};
use untorn_jvm_protocol::java_home::is_java;
use untorn_jvm_protocol::jvm_selection::JvmSelector;
use untorn_jvm_protocol::{JUNIT_MAIN, SCENARIO_MAIN};

/// A program that runs in a JVM, before anything says what of it is recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramArguments {
    pub command: Vec<String>,
    pub which: JvmSelector,
    /// Where it runs; `None` is here.
    pub directory: Option<PathBuf>,
    /// Variables of the environment that traces keep.
    pub variables: Vec<String>,
}

impl ProgramArguments {
    /// For the front end, with what of it is recorded.
    pub fn with_scope(&self, scope: &ScopeConfig) -> Program {
        let own =
            JvmSetup { scope: scope.clone(), selector: self.which.clone(), ..JvmSetup::default() };
        Program {
            command: self.command.clone(),
            directory: self.directory.clone(),
            variables: self.variables.clone(),
            options: serde_json::json!(own),
        }
    }
}

impl ProgramArguments {
    /// The same for one that runs scenarios, with the scenario of the next runs.
    pub fn with_scenario(&self, scope: &ScopeConfig, scenario: &str) -> Program {
        let own = JvmSetup {
            scope: scope.clone(),
            selector: self.which.clone(),
            scenario: Some(scenario.to_owned()),
            ..JvmSetup::default()
        };
        Program { options: serde_json::json!(own), ..self.with_scope(scope) }
    }
}

/// Whether it is the agent's own class that runs.
pub(crate) fn is_junit(command: &[String]) -> bool {
    command.iter().any(|word| word == JUNIT_MAIN)
}

/// Whether it is the agent's own class that runs scenarios.
pub(crate) fn is_scenario(command: &[String]) -> bool {
    command.iter().any(|word| word == SCENARIO_MAIN)
}

/// Options of `java` whose value is the next word.
pub(crate) const WITH_VALUE: [&str; 14] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-reads",
    "--add-exports",
    "--add-opens",
    "--patch-module",
    "--source",
    "--enable-native-access",
];

/// The same command with the class that runs scenarios. It must be `java` with options, and nothing behind them.
///
/// # Errors
/// If it is something else.
pub fn scenario_command(command: &[String]) -> Result<Vec<String>, FrontEndError> {
    let way_out =
        "behind `--` there are java and its options, and no main class: -- java -cp classes";
    let Some((java, options)) = command.split_first() else {
        return Err(FrontEndError::input("which class path?").way_out(way_out));
    };
    if !is_java(java) {
        return Err(FrontEndError::input(format!("--linearizable needs `java`, not '{java}'"))
            .way_out(way_out));
    }
    let mut words = options.iter();
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if word == "-jar"
            || word == "-m"
            || word == "--module"
            || !word.starts_with(['-', '@'])
        {
            return Err(FrontEndError::input(format!(
                "--linearizable makes calls itself, and '{word}' names a program"
            ))
            .way_out(way_out));
        }
    }
    Ok(command.iter().cloned().chain([SCENARIO_MAIN.to_owned()]).collect())
}

/// The command that runs a test: `java`, or the given one with its options, and the agent's own main class.
///
/// # Errors
/// If that is no name of a test, or the command is not `java`.
pub fn junit_command(
    command: Vec<String>,
    class_path: Option<String>,
    test: &str,
) -> Result<Vec<String>, FrontEndError> {
    let class = test.split('#').next().unwrap_or(test);
    let is_name = !class.is_empty()
        && class.split('.').all(|part| !part.is_empty() && !part.contains(['/', ' ', '*']));
    if !is_name || class.ends_with(".java") || class.ends_with(".class") || test.ends_with('#') {
        return Err(FrontEndError::input(format!("'{test}' is not the name of a test"))
            .way_out("write com.acme.BankTest, or com.acme.BankTest#method for one method of it"));
    }
    // Build tools switch assertions on when they run tests.
    let mut words = match command.is_empty() {
        true => vec!["java".to_owned(), "-ea".to_owned()],
        false => command,
    };
    if !is_java(&words[0]) {
        return Err(FrontEndError::input(format!("--junit needs `java`, not '{}'", words[0]))
            .way_out("behind `--` there may be java and its options: -- java -Xmx1g"));
    }
    words.extend(class_path.into_iter().flat_map(|path| ["-cp".to_owned(), path]));
    words.extend([JUNIT_MAIN.to_owned(), test.to_owned()]);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn junit(test: &str, command: &[&str]) -> Result<Vec<String>, FrontEndError> {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        junit_command(command, Some("a:b".to_owned()), test)
    }

    #[test]
    fn a_test_becomes_a_command() {
        let command = junit("com.acme.BankTest#pays", &[]).expect("a test");
        assert_eq!(command, ["java", "-ea", "-cp", "a:b", JUNIT_MAIN, "com.acme.BankTest#pays"]);
        let command = junit("BankTest", &["/jdk/bin/java", "-Xmx1g"]).expect("a test");
        assert_eq!(command[..2], ["/jdk/bin/java", "-Xmx1g"]);
    }

    #[test]
    fn a_command_that_runs_scenarios_has_options_only() {
        let scenario = |command: &[&str]| {
            scenario_command(&command.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
        };
        let command = scenario(&["java", "-Xmx1g", "-cp", "a:b"]).expect("options only");
        assert_eq!(command, ["java", "-Xmx1g", "-cp", "a:b", SCENARIO_MAIN]);
        for command in
            [&["java", "-cp", "a", "Main"][..], &["java", "-jar", "a.jar"], &["mvn"], &[]]
        {
            assert!(scenario(command).is_err(), "{command:?}");
        }
    }

    #[test]
    fn what_is_no_test_is_refused() {
        for name in ["", "src/BankTest.java", "BankTest.java", "com..BankTest", "BankTest#"] {
            assert!(junit(name, &[]).is_err(), "{name}");
        }
        assert!(junit("BankTest", &["mvn"]).is_err());
    }
}
