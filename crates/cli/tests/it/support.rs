//! Runs the tool and compares what it said with a file. `UPDATE_GOLDEN=1` writes the files anew.

pub mod access_text;
pub mod java;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs `untorn` in a folder, with something on its standard input.
pub fn untorn(folder: &Path, args: &[&str], stdin: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_untorn"))
        .args(args)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("untorn starts");
    let mut pipe = child.stdin.take().expect("piped");
    let stdin = stdin.to_owned();
    // A tool that does not read its input closes the pipe: that is its right.
    let writer = std::thread::spawn(move || pipe.write_all(&stdin));
    let output = child.wait_with_output().expect("untorn ends");
    let _ = writer.join();
    output
}

/// Everything that a run said, as one text.
pub fn transcript(args: &[&str], output: &Output) -> String {
    let text = |bytes: &[u8]| normalise(&String::from_utf8_lossy(bytes));
    let code = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    let mut out = format!("$ untorn {}\n{}", args.join(" "), text(&output.stdout));
    if !output.stderr.is_empty() {
        out.push_str(&format!("--- stderr\n{}", text(&output.stderr)));
    }
    out + &format!("--- exit {code}\n")
}

/// Replaces what differs from run to run and from version to version.
fn normalise(text: &str) -> String {
    let text = text.replace(env!("CARGO_PKG_VERSION"), "<version>").replace('\u{1b}', "␛");
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        match line.split_once(" events/s") {
            Some((facts, rest)) => {
                let kept: Vec<&str> = facts.split(" · ").collect();
                out.push_str(&kept[..kept.len().saturating_sub(2)].join(" · "));
                out.push_str(" · <time> · <rate>");
                out.push_str(rest);
            }
            None => out.push_str(line),
        }
    }
    out
}

/// Compares a text with a file.
pub fn compare(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, text).expect("golden file is writable");
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected != text {
        let first = expected.lines().zip(text.lines()).position(|(a, b)| a != b);
        panic!(
            "{} differs from line {}; UPDATE_GOLDEN=1 rewrites it. Now:\n{text}",
            path.display(),
            first.map_or(0, |line| line + 1)
        );
    }
}
