//! Every front end there is, and which one a program or a trace is for.

use std::path::{Path, PathBuf};

use untorn_frontend::{FrontEndKind, Program};
use untorn_jvm::config::ScopeConfig;
use untorn_jvm::{Jvm, ProgramArguments};
use untorn_native::{Native, NativeSetup, binary};

use crate::exit::{CliError, Result};

/// All of them. A new one is added here, and where arguments become its options (`program.rs`).
const ALL: [&dyn FrontEndKind; 2] = [&Jvm, &Native];

/// The one that runs a program which the command line names: an executable of the user's own, or whatever starts a JVM.
pub fn of_program(program: &ProgramArguments) -> &'static dyn FrontEndKind {
    if is_native(program) { &Native } else { &Jvm }
}

fn is_native(program: &ProgramArguments) -> bool {
    program.which.is_any() && binary::is_native(&program.command, program.directory.as_deref())
}

/// The program as its front end understands it, with what of it is recorded.
pub fn with_scope(program: &ProgramArguments, scope: &ScopeConfig) -> Program {
    if !is_native(program) {
        return program.with_scope(scope);
    }
    let own = NativeSetup { atomic: scope.atomic.clone(), exclude: scope.exclude.clone() };
    Program {
        command: program.command.clone(),
        directory: program.directory.clone(),
        variables: program.variables.clone(),
        options: serde_json::json!(own),
    }
}

/// The one by which something was recorded; `file` says so.
pub fn by_name(name: &str, file: &Path) -> Result<&'static dyn FrontEndKind> {
    ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|kind| kind.name()).collect();
        let what = match name {
            "" => "it does not say which front end recorded it".to_owned(),
            _ => format!("recorded by the front end '{name}', which this untorn does not have"),
        };
        CliError::input(format!("{}: {what}", file.display())).way_out(format!(
            "this one has: {}. Use the untorn that made the file, or make it again with this one",
            known.join(", ")
        ))
    })
}

/// Where the sources of the language's own library are, for the installation that a command runs on.
pub fn library_sources(command: &[String]) -> Option<PathBuf> {
    untorn_jvm::jdk::sources(command)
}
