//! What a picture of a finding needs beyond its cycle: everything that happened to the variables of
//! the cycle while its blocks were open, and the source lines of those accesses.

use serde::{Deserialize, Serialize};

use crate::operation::Operation;

/// The part of a run around an interruption, without the events that concern nothing in it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Scene {
    /// Threads of the whole run.
    pub threads: u64,
    pub variables: Vec<SceneVariable>,
    /// In trace order: begins and ends of the cycle's outermost blocks, every access to the
    /// variables while one of them was open, and the operations of the cycle.
    pub steps: Vec<SceneStep>,
    /// Every access is there; otherwise the list was cut and proves nothing by what is missing.
    pub whole: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SceneVariable {
    pub name: String,
    /// Its value before the first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// One event of a scene.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SceneStep {
    #[serde(flatten)]
    pub operation: Operation,
    /// The class and method of the step, if known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub class: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// Locks that the thread holds at that moment, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<String>,
    /// The blocks and calls that are open in the thread, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// Events of the same thread since its previous step that are not shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hidden: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Consecutive lines of a source file.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Excerpt {
    /// The file as the places of operations name it.
    pub file: String,
    /// Where it was found, relative to where the search began.
    pub path: String,
    /// The number of the first line.
    pub first: u32,
    pub lines: Vec<String>,
}

/// A place as operations name it, split into file and line.
pub fn split_place(place: &str) -> Option<(&str, u32)> {
    let (file, line) = place.rsplit_once(':')?;
    Some((file, line.parse().ok()?)).filter(|(file, line)| !file.is_empty() && *line > 0)
}

/// A line of the source, if an excerpt has it.
pub fn line_at<'a>(sources: &'a [Excerpt], file: &str, line: u32) -> Option<&'a str> {
    let own = sources.iter().filter(|excerpt| excerpt.file == file);
    own.filter_map(|excerpt| excerpt.lines.get(line.checked_sub(excerpt.first)? as usize))
        .map(String::as_str)
        .next()
}

/// Lines shown before and after each line of interest: a block's first line is known, its last is not.
const BEFORE: u32 = 3;
const AFTER: u32 = 4;

/// Two excerpts closer than this are one: a gap of a few lines only hides what is there.
const CLOSE: u32 = 6;

/// Columns kept of one line; generated code has very long lines.
const MAX_COLUMNS: usize = 240;

/// Cuts the lines of interest out of a file, with what stands around them. Two lines that belong to the same
/// pane may be joined through up to [`CLOSE`] other lines.
pub fn excerpts(file: &str, path: &str, text: &str, wanted: &[u32]) -> Vec<Excerpt> {
    let lines: Vec<&str> = text.lines().collect();
    let last = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let mut wanted: Vec<u32> =
        wanted.iter().copied().filter(|line| (1..=last).contains(line)).collect();
    wanted.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for line in wanted {
        let (from, to) = (line.saturating_sub(BEFORE).max(1), (line + AFTER).min(last));
        match ranges.last_mut() {
            Some((_, end)) if from <= *end + CLOSE => *end = to.max(*end),
            _ => ranges.push((from, to)),
        }
    }
    let cut = |line: &&str| line.chars().take(MAX_COLUMNS).collect::<String>();
    ranges
        .into_iter()
        .map(|(from, to)| Excerpt {
            file: file.to_owned(),
            path: path.to_owned(),
            first: from,
            lines: lines[from as usize - 1..to as usize].iter().map(cut).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_close_share_an_excerpt() {
        let text: String = (1..=60).map(|n| format!("line {n}\n")).collect();
        let found = excerpts("A.java", "src/A.java", &text, &[40, 10, 15, 999]);
        let shape: Vec<_> = found.iter().map(|e| (e.first, e.lines.len())).collect();
        assert_eq!(shape, [(7, 13), (37, 8)]);
        assert_eq!(found[1].lines[3], "line 40");
    }

    #[test]
    fn places_have_a_file_and_a_line() {
        assert_eq!(split_place("Bank.java:46"), Some(("Bank.java", 46)));
        assert_eq!(split_place("loc 5"), None);
        assert_eq!(split_place(":5"), None);
        assert_eq!(split_place("Bank.java:0"), None);
    }
}
