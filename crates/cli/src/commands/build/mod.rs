//! `untorn cc`, `untorn c++`, `untorn cargo`, `untorn make`: building native programs that can be recorded.

pub mod args;

use untorn_native::compile::{self, Language};

use crate::console::Console;
use crate::exit::Result;
use args::BuildArgs;

/// The exit code is that of the compiler.
pub fn compile(language: Language, build: &BuildArgs) -> Result<u8> {
    if build.arguments.iter().any(|argument| argument == compile::PRINT_HEADER) {
        Console::plain().put(compile::HEADER)?;
        return Ok(0);
    }
    let code = compile::run(language, &build.arguments)?;
    Ok(u8::try_from(code).unwrap_or(1))
}

/// The exit code is that of cargo.
pub fn cargo(build: &BuildArgs) -> Result<u8> {
    let code = untorn_native::cargo::run(&build.arguments)?;
    Ok(u8::try_from(code).unwrap_or(1))
}

/// The exit code is that of make.
pub fn make(build: &BuildArgs) -> Result<u8> {
    let code = compile::build("make", &build.arguments)?;
    Ok(u8::try_from(code).unwrap_or(1))
}
