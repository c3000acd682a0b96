//! What a person calls a lock. A trace knows objects (`Object#5`); the source has a name for them.

use crate::model::Finding;
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
    let names: Vec<Option<String>> = all.iter().map(|lock| source_name(finding, lock)).collect();
    let only = |name: &String| names.iter().flatten().filter(|other| *other == name).count() == 1;
    all.iter()
        .zip(&names)
        .map(|(lock, name)| {
            let name = name.as_ref().filter(|name| only(name));
            (lock.clone(), name.unwrap_or(lock).clone())
        })
        .collect()
}

/// The name of the lock in the source, if all sites agree.
fn source_name(finding: &Finding, lock: &str) -> Option<String> {
    let own = |operation: &&Operation| {
        operation.target == lock && matches!(operation.action, Action::Acquire | Action::Request)
    };
    let mut found: Option<String> = None;
    for operation in finding.operations.iter().filter(own) {
        let (file, line) = split_place(&operation.place)?;
        let text = line_at(&finding.sources, file, line)?;
        let name = finding.language().lock_name(text)?;
        if found.as_ref().is_some_and(|found| *found != name) {
            return None;
        }
        found = Some(name);
    }
    found
}
