//! What is run: a command, the selected JVM, and the folder.

use std::ffi::OsString;
use std::path::PathBuf;

use untorn_jvm::JUNIT_MAIN;
use untorn_jvm::config::Config;
use untorn_jvm::java_home::is_java;
use untorn_jvm::jvm_selection::JvmSelector;
use untorn_jvm::launch::Start;

use crate::args::ProgramArgs;
use crate::exit::{Failure, Result};
use crate::project::need_command;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    pub command: Vec<String>,
    pub which: JvmSelector,
    /// Where it runs; `None` is here.
    pub directory: Option<PathBuf>,
}

impl Program {
    pub fn new(args: ProgramArgs) -> Result<Self> {
        let ProgramArgs { junit, class_path, main, test, command, directory } = args;
        let command = match junit {
            Some(test) => junit_command(command, class_path, &test)?,
            None => command,
        };
        need_command(&command)?;
        if [&main, &test].into_iter().flatten().any(String::is_empty) {
            return Err(Failure::input("an empty pattern matches no JVM, in --main or --test")
                .way_out("write '*' for any text, as in --main '*.Server'"));
        }
        Ok(Self { command, which: JvmSelector { main, test }, directory })
    }

    /// How it is started under the agent.
    pub fn start<'a>(&'a self, config: &'a Config) -> Start<'a> {
        Start { words: &self.command, selector: &self.which, config, extra: &[] }
    }

    /// Whether it is the agent's own class that runs.
    pub fn is_junit(&self) -> bool {
        is_junit(&self.command)
    }
}

pub fn is_junit(command: &[String]) -> bool {
    command.iter().any(|word| word == JUNIT_MAIN)
}

/// The command that runs a test: `java`, or the given one with its options, and the agent's own main class.
fn junit_command(
    command: Vec<String>,
    class_path: Option<String>,
    test: &str,
) -> Result<Vec<String>> {
    let class = test.split('#').next().unwrap_or(test);
    let is_name = !class.is_empty()
        && class.split('.').all(|part| !part.is_empty() && !part.contains(['/', ' ', '*']));
    if !is_name || class.ends_with(".java") || class.ends_with(".class") || test.ends_with('#') {
        return Err(Failure::input(format!("'{test}' is not the name of a test"))
            .way_out("write com.acme.BankTest, or com.acme.BankTest#method for one method of it"));
    }
    // Build tools switch assertions on when they run tests.
    let mut words = match command.is_empty() {
        true => vec!["java".to_owned(), "-ea".to_owned()],
        false => command,
    };
    if !is_java(&words[0]) {
        return Err(Failure::input(format!("--junit needs `java`, not '{}'", words[0]))
            .way_out("behind `--` there may be java and its options: -- java -Xmx1g"));
    }
    words.extend(class_path.into_iter().flat_map(|path| ["-cp".to_owned(), path]));
    words.extend([JUNIT_MAIN.to_owned(), test.to_owned()]);
    Ok(words)
}

/// The words of our own call, with Java's way to write `--class-path` understood.
pub fn own_words(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut ours = true;
    let understood = |word: OsString| {
        ours &= word != "--";
        if ours && (word == "-cp" || word == "-classpath") { "--class-path".into() } else { word }
    };
    words.map(understood).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn junit(test: &str, command: &[&str]) -> Result<Program> {
        let args = ProgramArgs {
            junit: Some(test.to_owned()),
            class_path: Some("a:b".to_owned()),
            command: command.iter().map(|&word| word.to_owned()).collect(),
            ..ProgramArgs::default()
        };
        Program::new(args)
    }

    #[test]
    fn a_test_becomes_a_command() {
        let program = junit("com.acme.BankTest#pays", &[]).expect("a test");
        assert_eq!(
            program.command,
            ["java", "-ea", "-cp", "a:b", JUNIT_MAIN, "com.acme.BankTest#pays"]
        );
        let program = junit("BankTest", &["/jdk/bin/java", "-Xmx1g"]).expect("a test");
        assert_eq!(program.command[..2], ["/jdk/bin/java", "-Xmx1g"]);
    }

    #[test]
    fn what_is_no_test_is_refused() {
        for name in ["", "src/BankTest.java", "BankTest.java", "com..BankTest", "BankTest#"] {
            assert!(junit(name, &[]).is_err(), "{name}");
        }
        assert!(junit("BankTest", &["mvn"]).is_err());
    }

    #[test]
    fn the_class_path_may_be_written_as_java_has_it() {
        let words = ["check", "-cp", "x", "--", "java", "-cp", "y"].map(OsString::from);
        let expected = ["check", "--class-path", "x", "--", "java", "-cp", "y"].map(OsString::from);
        assert_eq!(own_words(words.into_iter()), expected);
    }
}
