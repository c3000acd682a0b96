//! Facts are types of this crate. No layer above parses a name to get one.

use std::path::{Path, PathBuf};

/// What such code looks like, each with a way to distinguish it from harmless text.
const SUSPICIOUS: [&str; 12] = [
    "starts_with(\"java",
    "starts_with(\"jdk",
    "starts_with(\"lambda$",
    "split('@')",
    "split_once('@')",
    "rsplit_once('@')",
    "split('#')",
    "split_once('#')",
    "rsplit_once('.')",
    "split(\" (\")",
    "trim_end_matches(\" (",
    "ends_with(\".contents",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn nobody_above_takes_a_name_apart() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut offences = Vec::new();
    for layer in ["predict", "explore", "findings", "report", "cli"] {
        let mut files = Vec::new();
        sources(&crates.join(layer).join("src"), &mut files);
        assert!(!files.is_empty(), "{layer} has no sources: was it renamed?");
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a source is text");
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or("");
                if SUSPICIOUS.iter().any(|text| code.contains(text)) {
                    offences.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
                }
            }
        }
    }
    assert!(offences.is_empty(), "facts read out of names:\n{}", offences.join("\n"));
}
