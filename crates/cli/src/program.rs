//! From arguments to the program that is meant.

use std::ffi::OsString;

use untorn_jvm::jvm_selection::JvmSelector;
use untorn_jvm::{JvmProgram, junit_command};

use crate::args::ProgramArgs;
use crate::exit::{Failure, Result};
use crate::project::need_command;

/// The program that the arguments name.
pub fn program(args: ProgramArgs) -> Result<JvmProgram> {
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
    Ok(JvmProgram { command, which: JvmSelector { main, test }, directory })
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

    #[test]
    fn the_class_path_may_be_written_as_java_has_it() {
        let words = ["check", "-cp", "x", "--", "java", "-cp", "y"].map(OsString::from);
        let expected = ["check", "--class-path", "x", "--", "java", "-cp", "y"].map(OsString::from);
        assert_eq!(own_words(words.into_iter()), expected);
    }
}
