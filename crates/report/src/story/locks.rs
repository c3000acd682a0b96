//! What a person calls a lock. A trace knows objects (`Object#5`); the source says `synchronized (left)`.

use crate::model::{Excerpt, Finding};
use crate::operation::{Action, Operation};
use crate::scene::{line_at, split_place};

/// The locks of a cycle, each once, in the order in which they were taken, with the names that people know.
pub fn names(finding: &Finding) -> Vec<(String, String)> {
    let mut all: Vec<String> = Vec::new();
    for operation in &finding.operations {
        if !all.contains(&operation.target) {
            all.push(operation.target.clone());
        }
    }
    let said: Vec<Option<String>> = all.iter().map(|lock| said(finding, lock)).collect();
    let only = |name: &String| said.iter().flatten().filter(|other| *other == name).count() == 1;
    all.iter()
        .zip(&said)
        .map(|(lock, name)| {
            let name = name.as_ref().filter(|name| only(name));
            (lock.clone(), name.unwrap_or(lock).clone())
        })
        .collect()
}

/// What the source calls the lock, if every place says the same.
fn said(finding: &Finding, lock: &str) -> Option<String> {
    let own = |operation: &&Operation| {
        operation.target == lock && matches!(operation.action, Action::Acquire | Action::Request)
    };
    let mut found: Option<String> = None;
    for operation in finding.operations.iter().filter(own) {
        let name = expression(&finding.sources, &operation.place)?;
        if found.as_ref().is_some_and(|found| *found != name) {
            return None;
        }
        found = Some(name);
    }
    found
}

/// `left` of `synchronized (left) {`. What is more than a name means another object each time.
fn expression(sources: &[Excerpt], place: &str) -> Option<String> {
    let (file, line) = split_place(place)?;
    let text = line_at(sources, file, line)?;
    let (_, after) = text.split_once("synchronized")?;
    let (inside, _) = after.trim_start().strip_prefix('(')?.split_once(')')?;
    let name = inside.trim().trim_start_matches("this.");
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    let ok = !name.is_empty() && name != "this" && name.len() <= 40 && name.chars().all(is_plain);
    ok.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_is_a_name() {
        let excerpt = Excerpt {
            file: "A.java".into(),
            path: "A.java".into(),
            first: 1,
            lines: vec![
                "  synchronized (left) {".into(),
                "  synchronized void go() {".into(),
                "  synchronized (this) {".into(),
                "  synchronized (locks[i]) {".into(),
                "  synchronized (this.right) {".into(),
            ],
        };
        let name =
            |line: u32| expression(std::slice::from_ref(&excerpt), &format!("A.java:{line}"));
        assert_eq!(name(1).as_deref(), Some("left"));
        assert_eq!((name(2), name(3), name(4), name(6)), (None, None, None, None));
        assert_eq!(name(5).as_deref(), Some("right"));
    }
}
