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

/// Names of types that are parts of speech or words of our own: they say nothing to somebody from the field.
/// `docs/glossary.md` has the field's words.
const BANNED_TYPES: [&str; 21] = [
    "Chase", "Concern", "Deed", "Ended", "How", "Lead", "Left", "Made", "Next", "Own", "Place",
    "Ran", "Recipe", "Seen", "Spot", "Stuck", "Told", "Wants", "What", "Which", "Wish",
];

/// Names of source files that hide what is inside.
const BANNED_FILES: [&str; 9] =
    ["choose", "doubts", "held", "prophet", "stuck", "told", "turns", "units", "words"];

/// Keywords after which the name of a new type stands.
const TYPE_KEYWORDS: [&str; 6] = ["class", "enum", "interface", "struct", "trait", "type"];

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
        if is_banned_file(file) {
            faults.push((1, "has a name that hides its content".to_owned()));
        }
    }
    // Example programs have the names that programs have.
    if (file.ends_with(".rs") || file.ends_with(".java")) && !file.starts_with("examples/") {
        faults.extend(banned_types(text));
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

fn is_banned_file(file: &str) -> bool {
    let stem = std::path::Path::new(file).file_stem().and_then(|stem| stem.to_str());
    stem.is_some_and(|stem| BANNED_FILES.contains(&stem))
}

/// Declarations of types, and of constants `MOST_…`, with names that are not to come back.
fn banned_types(text: &str) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split("//").next().unwrap_or_default();
        let words: Vec<&str> = code.split_whitespace().collect();
        for pair in words.windows(2) {
            let name = pair[1].split(|c: char| !c.is_alphanumeric() && c != '_').next();
            let name = name.unwrap_or_default();
            let is_type = TYPE_KEYWORDS.contains(&pair[0]) && BANNED_TYPES.contains(&name);
            let is_constant = pair[0] == "const" && name.starts_with("MOST_");
            if is_type || is_constant {
                faults.push((number, format!("declares {name}: name it in the field's words")));
            }
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
    fn names_that_say_nothing_do_not_come_back() {
        let found = |file: &str, text: &str| faults_of(file, text).len();
        for name in BANNED_TYPES {
            assert_eq!(found("a.rs", &format!("pub(crate) enum {name} {{}}\n")), 1, "{name}");
        }
        for name in BANNED_FILES {
            assert_eq!(found(&format!("crates/a/src/{name}.rs"), ""), 1, "{name}");
        }
        assert_eq!(found("A.java", &format!("static final class {} {{}}\n", BANNED_TYPES[0])), 1);
        assert_eq!(found("a.rs", &format!("const {}: u32 = 1;\n", "MOST_MISSES")), 1);
        // A longer name, a variant and a comment are fine.
        assert_eq!(found("a.rs", "struct NextTurn;\nReason::Next; // a struct: Next\n"), 0);
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
