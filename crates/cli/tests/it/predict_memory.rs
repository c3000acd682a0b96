//! Prediction for programs with many threads: memory does not grow with the square of their number.

use std::fmt::Write;
use std::process::Command;

use crate::support::java::scratch;

const THREADS: u64 = 500;
const BLOCKS: u64 = 100_000;

/// Address space that the tool may use, in kilobytes. A list of numbers for each read of what another thread wrote needs
/// 400 MB for the clocks alone.
const LIMIT: u32 = 400_000;

/// Blocks of ever other threads, each of which reads what another one wrote; and one block that can be torn.
fn trace() -> String {
    let mut text = String::new();
    for child in 1..THREADS {
        let _ = writeln!(text, "T0|fork(T{child})|1");
    }
    let mut state = 1_u64;
    for _ in 0..BLOCKS {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let thread = 1 + (state >> 33) % (THREADS - 1);
        let operations = ["begin(b)", "acq(m)", "r(x)", "w(x)", "rel(m)", "end(b)"];
        for (line, operation) in operations.iter().enumerate() {
            let _ = writeln!(text, "T{thread}|{operation}|{}", line + 2);
        }
    }
    text + "T1|begin(c)|8\nT1|r(y)|9\nT1|r(y)|10\nT1|end(c)|11\nT2|w(y)|12\n"
}

#[test]
fn many_threads_fit_into_little_memory() {
    let file = scratch("predict-memory").join("many.std");
    std::fs::write(&file, trace()).expect("a trace is written");
    let script = format!("ulimit -v {LIMIT}; exec \"$0\" predict --jobs 1 \"$1\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_untorn")]).arg(&file);
    let done = command.output().expect("a shell");
    let said = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&done.stderr));
    assert!(said.contains("500 threads"), "{said}");
}
