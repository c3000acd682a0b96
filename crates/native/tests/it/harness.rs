//! Builds programs and runs them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use untorn_frontend::{FrontEnd, FrontEndKind, Output, Program, RunOptions, RunResult};
use untorn_native::compile::{self, Language};
use untorn_native::{Native, NativeSetup};
use untorn_schedule::{PolicyKind, RunSpec};

/// A folder of one test; it is removed when this is dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("untorn-native-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A program made of this text, in C.
    pub fn program(&self, text: &str) -> PathBuf {
        let source = self.0.join("program.c");
        std::fs::write(&source, text).expect("writable");
        self.build(&source)
    }

    pub fn build(&self, source: &Path) -> PathBuf {
        let is_cpp = source.extension().is_some_and(|ending| ending == "cpp");
        let language = if is_cpp { Language::Cpp } else { Language::C };
        let program = self.0.join("program");
        let standard = if is_cpp { "-std=c++20" } else { "-std=gnu11" };
        let words = [standard, "-g", "-w", "-pthread"].map(PathBuf::from).into_iter();
        let words = words.chain([source.into(), "-o".into(), program.clone(), "-latomic".into()]);
        let code = compile::run(language, &words.map(OsString::from).collect::<Vec<_>>());
        assert_eq!(code, Ok(0), "{}", source.display());
        program
    }

    /// The program, ready to be run.
    pub fn prepare(&self, program: &Path, atomic: &[&str]) -> Box<dyn FrontEnd> {
        let atomic = atomic.iter().map(|&pattern| pattern.to_owned()).collect();
        let setup = NativeSetup { atomic, ..NativeSetup::default() };
        let program = Program {
            command: vec![program.display().to_string()],
            directory: None,
            options: serde_json::json!(setup),
            ..Program::default()
        };
        let options = RunOptions::new(Output::Kept(self.0.clone()));
        Native.prepare(&program, options).expect("a program that was built by our wrapper")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn random(seed: u64) -> RunSpec {
    RunSpec::policy(PolicyKind::Random, seed)
}

pub fn stdout(ran: &RunResult) -> String {
    String::from_utf8_lossy(&ran.stdout).into_owned()
}
