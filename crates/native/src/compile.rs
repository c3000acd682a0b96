//! `untorn cc` and `untorn c++`: the user's own compiler, with its instrumentation and our runtime.
//!
//! The compiler's instrumentation for data races calls a runtime, which the compiler adds when it links. Ours takes its
//! place: a script for the linker with the name of that runtime stands in a folder that is searched first. Objects
//! stay where the build puts them, and everything else is passed on as it came.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use untorn_frontend::{FrontEndError, PrivateFolder};

use crate::launch::find_runtime;

/// Which language's compiler is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    C,
    Cpp,
}

impl Language {
    /// The compiler itself: the one that the user names, or the first of the usual ones that there is.
    fn compiler(self) -> OsString {
        let (variable, usual) = match self {
            Self::C => ("UNTORN_CC", ["gcc", "cc", "clang"]),
            Self::Cpp => ("UNTORN_CXX", ["g++", "c++", "clang++"]),
        };
        std::env::var_os(variable).filter(|name| !name.is_empty()).unwrap_or_else(|| {
            let found = usual.into_iter().find(|name| on_path(name));
            found.unwrap_or(usual[0]).into()
        })
    }

    const fn package(self) -> &'static str {
        match self {
            Self::C => "gcc",
            Self::Cpp => "g++",
        }
    }
}

fn on_path(name: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(name).is_file())
}

/// The functions of the C library whose calls in instrumented code are accesses of the program.
const WRAPPED: [&str; 9] =
    ["memcpy", "memmove", "memset", "memcmp", "strlen", "strcpy", "strncpy", "strcat", "strcmp"];

/// The compilers take accesses together before the instrumentation sees them; without these steps of theirs there is one
/// call for each that the source has.
const GCC: [&str; 3] = ["-fno-tree-loop-im", "-fno-tree-pre", "-fno-store-merging"];

/// Without it the read of `x++` is left out.
const CLANG: [&str; 2] = ["-mllvm", "-tsan-instrument-read-before-write"];

/// Compilers that take the same options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Gcc,
    Clang,
}

impl Family {
    fn of(compiler: &OsStr) -> Self {
        let is_clang = compiler.as_encoded_bytes().windows(5).any(|part| part == b"clang");
        if is_clang { Self::Clang } else { Self::Gcc }
    }
}

/// What our wrapper adds behind the user's own options.
fn instrumentation(family: Family, language: Language) -> Vec<String> {
    let mut options: Vec<&str> = vec!["-g", "-fsanitize=thread", "-D__UNTORN__=1"];
    match family {
        Family::Gcc => {
            options.extend(GCC);
            // Else small calls of these are accesses that nobody sees.
            options.extend(["-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset"]);
            // Warnings that are due to us must not end a build that takes them for errors.
            options.extend(["-Wno-builtin-declaration-mismatch", "-Wno-tsan"]);
        }
        Family::Clang => {
            options.extend(CLANG);
            options.push("-fno-sanitize-link-runtime");
        }
    }
    if language == Language::Cpp {
        // What strings do is compiled into the program, where it is seen, and not left to the library.
        options.push("-D_GLIBCXX_EXTERN_TEMPLATE=0");
    }
    // The level of checks that replaces calls by others has nothing to tell us.
    options.push("-U_FORTIFY_SOURCE");
    options.into_iter().map(str::to_owned).collect()
}

/// What tells the author's intentions; see the file itself.
pub const HEADER: &str = include_str!("../include/untorn.h");
/// The option by which our wrapper prints it, and calls no compiler.
pub const PRINT_HEADER: &str = "--untorn-header";

/// What a call of the compiler does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// It neither compiles nor links: it answers a question.
    Asks,
    /// It compiles and does not link.
    Compiles,
    Links,
}

fn step_of(arguments: &[OsString]) -> Step {
    let is = |words: &[&str]| {
        arguments.iter().any(|argument| words.iter().any(|word| argument == OsStr::new(word)))
    };
    let has_input = arguments.iter().any(|argument| {
        let bytes = argument.as_encoded_bytes();
        !bytes.starts_with(b"-") || bytes == b"-"
    });
    if !has_input || is(&["-E", "-M", "-MM", "--version", "-dumpversion", "-dumpmachine", "-###"]) {
        Step::Asks
    } else if is(&["-c", "-S", "-fsyntax-only", "-r"]) {
        Step::Compiles
    } else {
        Step::Links
    }
}

/// Calls the compiler as it was called, with our options. Gives the exit code.
///
/// # Errors
/// If there is no compiler, or it cannot make what can be recorded.
pub fn run(language: Language, arguments: &[OsString]) -> Result<i32, FrontEndError> {
    let compiler = language.compiler();
    let mut command = Command::new(&compiler);
    let step = step_of(arguments);
    if step == Step::Asks {
        return status(language, &compiler, command.args(arguments));
    }
    if arguments.iter().any(|argument| argument == "-static" || argument == "-static-pie") {
        return Err(FrontEndError::input("a static executable cannot be recorded")
            .way_out("link without -static: the runtime is a shared library"));
    }
    let family = Family::of(&compiler);
    let runtime = find_runtime()?;
    command.args(arguments).args(instrumentation(family, language));
    if step == Step::Compiles {
        return status(language, &compiler, &mut command);
    }
    let folder = LinkFolder::new(&runtime)?;
    match family {
        Family::Clang => command.arg("-Wl,--no-as-needed").arg(&runtime),
        Family::Gcc => command.arg(joined("-L", folder.0.path())),
    };
    let place = runtime.parent().unwrap_or(Path::new("/"));
    command.arg(joined("-Wl,-rpath,", place)).arg("-Wl,--allow-shlib-undefined");
    command.args(WRAPPED.map(|name| format!("-Wl,--wrap={name}")));
    status(language, &compiler, &mut command)
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut words = OsString::from(option);
    words.push(path);
    words
}

/// A folder with a script for the linker that stands for the compiler's own runtime.
struct LinkFolder(PrivateFolder);

impl LinkFolder {
    fn new(runtime: &Path) -> Result<Self, FrontEndError> {
        let failed = |error: std::io::Error| {
            FrontEndError::run(format!("cannot write a file for the linker: {error}"))
        };
        let folder = PrivateFolder::create_in(&std::env::temp_dir()).map_err(failed)?;
        let script = format!("INPUT(\"{}\")\n", runtime.display());
        folder.write("libtsan.so", script.as_bytes()).map_err(failed)?;
        Ok(Self(folder))
    }
}

fn status(
    language: Language,
    compiler: &OsStr,
    command: &mut Command,
) -> Result<i32, FrontEndError> {
    match command.status() {
        Ok(status) => Ok(code_of(status)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let name = Path::new(compiler).display();
            Err(FrontEndError::run(format!("there is no compiler '{name}'")).way_out(format!(
                "install one (Debian: {}), or name it in UNTORN_CC or UNTORN_CXX",
                language.package()
            )))
        }
        Err(error) => {
            Err(FrontEndError::run(format!("cannot start {}: {error}", compiler.display())))
        }
    }
}

pub(crate) fn code_of(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Runs a build with our wrappers in place of its compilers: `untorn make -- -j4`.
///
/// Builds that call `gcc` by its name get our wrapper, too. Gives the exit code.
///
/// # Errors
/// If it cannot be started.
pub fn build(tool: &str, arguments: &[OsString]) -> Result<i32, FrontEndError> {
    let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("untorn"));
    let wrapper = |name: &str| format!("{} {name}", own.display());
    let (cc, cxx) = (wrapper("cc"), wrapper("c++"));
    let mut command = Command::new(tool);
    command.env("CC", &cc).env("CXX", &cxx);
    if tool == "make" {
        // What a makefile sets counts more than the environment, and what the command line sets most of all.
        command.arg(format!("CC={cc}")).arg(format!("CXX={cxx}"));
    }
    let stand_ins = StandIns::new(&own)?;
    stand_ins.put_in_front(&mut command);
    match command.args(arguments).status() {
        Ok(status) => Ok(code_of(status)),
        Err(error) => Err(FrontEndError::run(format!("cannot start '{tool}': {error}"))),
    }
}

/// The wrappers under the names of compilers, for builds that call those by name.
struct StandIns {
    folder: PrivateFolder,
    /// The compilers themselves.
    real: [OsString; 2],
}

impl StandIns {
    fn new(own: &Path) -> Result<Self, FrontEndError> {
        use std::os::unix::fs::PermissionsExt;
        let failed = |error: std::io::Error| {
            FrontEndError::run(format!("cannot write a file for the build: {error}"))
        };
        let real = [Language::C, Language::Cpp].map(|language| found(&language.compiler()));
        let folder = PrivateFolder::create_in(&std::env::temp_dir()).map_err(failed)?;
        let own = own.display().to_string().replace('\'', "'\\''");
        let names = [("cc", ["gcc", "cc", "clang"]), ("c++", ["g++", "c++", "clang++"])];
        for (wrapper, names) in names {
            for name in names.into_iter().filter(|name| on_path(name)) {
                let script = format!("#!/bin/sh\nexec '{own}' {wrapper} \"$@\"\n");
                let path = folder.write(name, script.as_bytes()).map_err(failed)?;
                let executable = std::fs::Permissions::from_mode(0o700);
                std::fs::set_permissions(path, executable).map_err(failed)?;
            }
        }
        Ok(Self { folder, real })
    }

    /// Has a build find them before the compilers, and them the compilers.
    fn put_in_front(&self, build: &mut Command) {
        let before = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.folder.path().to_owned()].into_iter();
        let folders = folders.chain(std::env::split_paths(&before));
        if let Ok(path) = std::env::join_paths(folders) {
            let [cc, cxx] = &self.real;
            build.env("PATH", path).env("UNTORN_CC", cc).env("UNTORN_CXX", cxx);
        }
    }
}

/// Where a compiler is, so that it is found behind a stand-in of the same name.
fn found(compiler: &OsStr) -> OsString {
    if Path::new(compiler).components().count() > 1 {
        return compiler.to_owned();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(compiler));
    places.find(|path| path.is_file()).map_or(compiler.to_owned(), PathBuf::into_os_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(words: &str) -> Step {
        step_of(&words.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn what_links_is_told_from_what_does_not() {
        assert_eq!(step("-c bank.c -o bank.o"), Step::Compiles);
        assert_eq!(step("-O2 bank.c -o bank"), Step::Links);
        assert_eq!(step("-shared bank.o -o libbank.so"), Step::Links);
        assert_eq!(step("--version"), Step::Asks);
        assert_eq!(step("-v"), Step::Asks);
        assert_eq!(step("-E bank.c"), Step::Asks);
        assert_eq!(step("-x c -"), Step::Links);
    }
}
