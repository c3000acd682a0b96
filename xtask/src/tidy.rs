//! `./dev test tidy`: the house rules that a program can check.

use anyhow::{Context, Result, bail};

use crate::shell::tracked_files;

/// A file is about one thing.
const MAX_LINES: usize = 600;

/// Longer lines of prose are hard to read, and their changes hard to review. Rows of tables cannot be wrapped.
const MAX_COLUMNS: usize = 120;

/// What programs write: their lines are as long as they are.
const GENERATED: [&str; 1] = ["crates/report/tests/golden/"];

/// Folders that exist on one machine only. They are put together here so that this file does not name them.
const MACHINE_FOLDERS: [[&str; 2]; 3] = [["/ro", "ot/"], ["/wo", "rk/"], ["/Us", "ers/"]];

/// Checks all files that git knows.
pub fn check() -> Result<()> {
    let mut faults = Vec::new();
    for file in tracked_files()? {
        let bytes = std::fs::read(&file).with_context(|| file.clone())?;
        // Pictures and traces are no text.
        if let Ok(text) = String::from_utf8(bytes) {
            faults.extend(faults_of(&file, &text));
        }
    }
    if !faults.is_empty() {
        bail!("house rules:\n{}", faults.join("\n"));
    }
    Ok(())
}

fn faults_of(file: &str, text: &str) -> Vec<String> {
    if GENERATED.iter().any(|folder| file.starts_with(folder)) {
        return Vec::new();
    }
    let mut faults = Vec::new();
    if file.ends_with(".rs") {
        faults.extend(faults_of_code(text));
    }
    if file.ends_with(".md") {
        let long = long_lines(text);
        faults.extend(long.map(|number| (number, format!("is over {MAX_COLUMNS} columns"))));
    }
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(folder) =
            MACHINE_FOLDERS.map(|parts| parts.concat()).iter().find(|folder| names(line, folder))
        {
            faults.push((number, format!("names a folder of one machine, {folder}")));
        }
    }
    faults.into_iter().map(|(number, fault)| format!("{file}:{number} {fault}")).collect()
}

/// Whether a line names a folder of the root, not one of that name further down.
fn names(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && !"_-./}*".contains(before))
    })
}

fn faults_of_code(text: &str) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let lines = text.lines().count();
    if lines > MAX_LINES {
        faults.push((lines, format!("has over {MAX_LINES} lines")));
    }
    for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
        if line.starts_with("#[ignore") {
            faults.push((number, "is ignored: a test runs, or is not there".to_owned()));
        }
        if line.starts_with("#[path") {
            faults
                .push((number, "includes a file of another place: share it in testkit".to_owned()));
        }
    }
    faults
}

/// The numbers of lines of prose that are too long. What cannot be wrapped (a link) may be longer.
fn long_lines(text: &str) -> impl Iterator<Item = usize> {
    let mut in_code = false;
    (1..).zip(text.lines()).filter_map(move |(number, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        let is_prose = !in_code && !is_fence && !line.starts_with('|');
        let can_be_wrapped = line.trim().split(' ').all(|word| word.chars().count() < MAX_COLUMNS);
        (is_prose && can_be_wrapped && line.chars().count() > MAX_COLUMNS).then_some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_finds_its_fault() {
        let found = |file: &str, text: &str| faults_of(file, text).len();
        assert_eq!(found("a.rs", "fn main() {}\n"), 0);
        assert_eq!(found("a.rs", &"\n".repeat(601)), 1);
        assert_eq!(found("a.rs", "    #[ignore]\n#[path = \"b.rs\"]\n"), 2);
        assert_eq!(found("a.txt", "    #[ignore]\n"), 0);
        let folder = MACHINE_FOLDERS[1].concat();
        assert_eq!(found("a.txt", &format!("in {folder}main\n")), 1);
        assert_eq!(found("a.txt", &format!("in target{folder}main\n")), 0);
    }

    #[test]
    fn prose_is_wrapped_and_the_rest_is_not() {
        let long = "word ".repeat(30);
        assert_eq!(long_lines(&format!("a\n{long}\n")).collect::<Vec<_>>(), [2]);
        for fine in [format!("| {long} |"), format!("```\n{long}\n```"), "x".repeat(130)] {
            assert_eq!(long_lines(&fine).count(), 0, "{fine}");
        }
    }
}
