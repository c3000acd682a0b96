//! `untorn cargo`: the user's own cargo, with the compiler's instrumentation for data races and our runtime.
//!
//! The instrumentation is an option that stable compilers keep back; `RUSTC_BOOTSTRAP` asks for it. The standard library
//! stays as it is: what of it is generic is compiled into the program and seen, and its locks wait by system calls, which
//! the runtime sees.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use untorn_frontend::FrontEndError;

use crate::compile::code_of;
use crate::launch::find_runtime;

/// Naming a target, even the one that is usual, keeps the options away from build scripts and macros, which run inside
/// of the compiler.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The variable in which cargo takes options of the compiler, and what stands between two.
const FLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";
const SEPARATOR: &str = "\u{1f}";

/// Each access is announced, that of a read directly before a write, too; and our runtime takes the place of the one that
/// the compiler would add. It has to stand before the C library.
fn own_flags(runtime: &Path) -> Vec<OsString> {
    let folder = runtime.parent().unwrap_or(Path::new("/")).as_os_str();
    let link = |word: &OsStr| joined("-Zpre-link-arg=", word);
    let mut flags: Vec<OsString> = [
        "-g",
        "-Zsanitizer=thread",
        "-Zexternal-clangrt",
        "-Cunsafe-allow-abi-mismatch=sanitizer",
        "-Cllvm-args=-tsan-instrument-read-before-write",
    ]
    .map(OsString::from)
    .into();
    flags.push(link(OsStr::new("-Wl,--no-as-needed")));
    flags.push(link(runtime.as_os_str()));
    flags.push(link(&joined("-Wl,-rpath,", folder)));
    flags
}

fn joined(option: &str, word: &OsStr) -> OsString {
    let mut words = OsString::from(option);
    words.push(word);
    words
}

/// The options that the user's environment has, and ours behind them.
fn all_flags(encoded: Option<OsString>, plain: Option<OsString>, own: Vec<OsString>) -> OsString {
    let theirs = encoded.or_else(|| {
        let plain = plain?.into_string().ok()?;
        Some(plain.split_whitespace().collect::<Vec<_>>().join(SEPARATOR).into())
    });
    let theirs = theirs.filter(|flags| !flags.is_empty());
    theirs.into_iter().chain(own).collect::<Vec<_>>().join(OsStr::new(SEPARATOR))
}

/// Calls cargo as it was called, for a build that can be recorded. Gives the exit code.
///
/// # Errors
/// If there is no cargo, or no runtime.
pub fn run(arguments: &[OsString]) -> Result<i32, FrontEndError> {
    let runtime = find_runtime()?;
    let environment = |name| std::env::var_os(name);
    let flags = all_flags(environment(FLAGS), environment("RUSTFLAGS"), own_flags(&runtime));
    let mut command = Command::new("cargo");
    command.args(arguments).env("RUSTC_BOOTSTRAP", "1").env(FLAGS, flags);
    for profile in ["DEV", "RELEASE", "TEST", "BENCH"] {
        // Whatever the project says: without them, nothing has a name.
        command.env(format!("CARGO_PROFILE_{profile}_DEBUG"), "full");
        command.env(format!("CARGO_PROFILE_{profile}_STRIP"), "none");
    }
    if environment("CARGO_BUILD_TARGET").is_none() {
        command.env("CARGO_BUILD_TARGET", TARGET);
    }
    match command.status() {
        Ok(status) => Ok(code_of(status)),
        Err(error) => Err(FrontEndError::run(format!("cannot start cargo: {error}"))
            .way_out("install Rust, by rustup for instance")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_user_stay_and_come_first() {
        let own = || vec![OsString::from("-g"), OsString::from("-Clink-arg=a b")];
        let text = |encoded: Option<&str>, plain: Option<&str>| {
            let flags = all_flags(encoded.map(Into::into), plain.map(Into::into), own());
            flags.into_string().expect("plain text").replace(SEPARATOR, "|")
        };
        assert_eq!(text(None, None), "-g|-Clink-arg=a b");
        assert_eq!(text(None, Some(" -O  --cfg x ")), "-O|--cfg|x|-g|-Clink-arg=a b");
        assert_eq!(text(Some("-O"), Some("--cfg x")), "-O|-g|-Clink-arg=a b");
    }
}
