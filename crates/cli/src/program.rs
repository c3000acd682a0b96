//! From arguments to the program that is meant.

use std::ffi::OsString;

use untorn_jvm::jvm_selection::JvmSelector;
use untorn_jvm::{ProgramArguments, junit_command};

use crate::args::ProgramArgs;
use crate::exit::{CliError, Result};
use crate::project::need_command;

/// The program that the arguments name.
pub fn program(args: ProgramArgs) -> Result<ProgramArguments> {
    let ProgramArgs { junit, class_path, main, test, env, command, directory } = args;
    let command = match junit {
        Some(test) => junit_command(command, class_path, &test)?,
        None => command,
    };
    need_command(&command)?;
    if [&main, &test].into_iter().flatten().any(String::is_empty) {
        return Err(CliError::input("an empty pattern matches no JVM, in --main or --test")
            .way_out("write '*' for any text, as in --main '*.Server'"));
    }
    let which = JvmSelector { main, test };
    Ok(ProgramArguments { command, which, directory, variables: env })
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

/// Commands that run a program, which they take behind two dashes.
const OF_PROGRAMS: [&str; 5] = ["check", "record", "compare", "doctor", "verify"];

/// The same call with the two dashes that it lacks, if that is what is wrong with it: `stray` is a word that no option
/// takes.
pub fn with_dashes(words: &[OsString], stray: &str) -> Option<String> {
    let command = words.get(1)?.to_str()?;
    let at = words.iter().position(|word| word == stray)?;
    let has_dashes = words.iter().any(|word| word == "--");
    if has_dashes || at < 2 || stray.starts_with('-') || !OF_PROGRAMS.contains(&command) {
        return None;
    }
    let mut right: Vec<String> =
        words[1..].iter().map(|word| word.to_string_lossy().into_owned()).collect();
    right.insert(at - 1, "--".to_owned());
    Some(format!("untorn {}", right.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn dashes_that_are_missing_are_put_before_the_program() {
        let of = |text: &str, stray: &str| with_dashes(&words(text), stray);
        assert_eq!(
            of("untorn check --time 5s java -cp x Main", "java").as_deref(),
            Some("untorn check --time 5s -- java -cp x Main")
        );
        assert_eq!(of("untorn check --tme 5s -- java Main", "--tme"), None);
        assert_eq!(of("untorn check x -- java Main", "x"), None);
        assert_eq!(of("untorn analyze a.std b", "b"), None);
    }

    #[test]
    fn the_class_path_may_be_written_as_java_has_it() {
        let words = ["check", "-cp", "x", "--", "java", "-cp", "y"].map(OsString::from);
        let expected = ["check", "--class-path", "x", "--", "java", "-cp", "y"].map(OsString::from);
        assert_eq!(own_words(words.into_iter()), expected);
    }
}
