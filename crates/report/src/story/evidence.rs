//! How to see it again, why it is one, and where it was seen.

use std::collections::BTreeSet;

use super::{Card, StoryInput, composition};
use crate::language::Phrase;
use crate::model::{CheckSummary, Finding, Scene, SceneStep};
use crate::operation::Action;
use crate::phrasing;

/// The name of the call paths among the evidence.
pub const CALLED_THROUGH: &str = "Called through";

pub fn replay(finding: &Finding) -> Card {
    match &finding.evidence {
        Some(evidence) => Card {
            title: "Replay this exact interleaving".to_owned(),
            command: evidence.replay.clone(),
            note: format!(
                "Runs the program once more with the schedule of run {}, event by event",
                evidence.run
            ),
        },
        None => Card {
            title: "Nothing to replay".to_owned(),
            command: String::new(),
            note: "This was found in a trace alone; a run that untorn recorded can be replayed"
                .to_owned(),
        },
    }
}

/// The proof in words: by values where there is one, else by conflicts.
pub fn proof(plot: &StoryInput<'_>) -> Vec<String> {
    let values = plot.finding.evidence.iter().flat_map(|evidence| &evidence.values);
    let mut out: Vec<String> =
        composition::find(plot).map(|calls| calls.proof()).unwrap_or_default();
    out.extend(values.clone().cloned());
    if values.count() == 0 {
        out.push(phrasing::cycle(plot.finding));
        out.extend(phrasing::blame(plot.finding));
    }
    out
}

/// How many are shown, and what the others did meanwhile.
fn threads(plot: &StoryInput<'_>, scene: &Scene) -> String {
    let shown = plot.lanes.len() as u64;
    let names: Vec<&str> = plot.variables.iter().map(|v| v.name.as_str()).collect();
    let names = phrasing::list(&names, 3);
    let mut out = format!("{shown} of {} shown", scene.threads);
    if names.is_empty() || plot.finding.is_deadlock() {
        return out;
    }
    let seen: BTreeSet<&str> =
        scene.steps.iter().map(|step| step.operation.thread.as_str()).collect();
    let aside = seen.iter().filter(|name| plot.lane(name).is_none()).count() as u64;
    if aside > 0 {
        out.push_str(&format!("; {} more touched {names} meanwhile", phrasing::number(aside)));
    }
    match scene.threads.saturating_sub(shown + aside) {
        0 => {}
        1 => out.push_str(&format!("; the other one did not touch {names} meanwhile")),
        rest => out.push_str(&format!("; the other {rest} did not touch {names} meanwhile")),
    }
    out
}

/// The recorded calls by which a thread came to its block, from its start on; empty if there are none but the block.
fn call_path(scene: &Scene, node: usize, thread: &str) -> String {
    let begins = |step: &&SceneStep| {
        step.operation.action == Action::Begin && step.operation.transaction == Some(node)
    };
    let stack = scene.steps.iter().find(begins).map_or(&[][..], |step| &step.stack);
    let mut path: Vec<&str> = stack.iter().map(String::as_str).collect();
    // A synchronized method is a call and a block.
    path.dedup();
    if path.len() < 2 { String::new() } else { format!("{thread}: {}", path.join(" › ")) }
}

pub fn evidence(plot: &StoryInput<'_>, check: Option<&CheckSummary>) -> Vec<(String, String)> {
    let finding = plot.finding;
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |name: &str, text: String| {
        if !text.is_empty() {
            rows.push((name.to_owned(), text));
        }
    };
    if let Some(evidence) = &finding.evidence {
        let of =
            check.map_or_else(String::new, |check| format!(" of {}", phrasing::number(check.runs)));
        let after = evidence.milliseconds as f64 / 1000.0;
        row("Seen in", format!("run {}{of}, after {after:.1} s", evidence.run));
        row("Inputs", evidence.inputs.clone());
        if evidence.alike > 0 {
            row(
                "Seen also",
                format!(
                    "{} with other accesses of the same block",
                    phrasing::times(evidence.alike.into())
                ),
            );
        }
        row("Meant to be atomic", match evidence.origin.as_str() {
            "declared" => finding.language().phrase(Phrase::DeclaredBlock).to_owned(),
            "inferred" => {
                "inferred: one call that touches the same field twice; reported because the values prove the harm"
                    .to_owned()
            }
            "composed" => finding.language().phrase(Phrase::ComposedCalls).to_owned(),
            other => other.to_owned(),
        });
        row("Calls", composition::find(plot).map(|calls| calls.line()).unwrap_or_default());
        if let Some(preemptions) = evidence.preemptions {
            row(
                "Schedule",
                match preemptions {
                    0 => "stops no thread that could go on".to_owned(),
                    some => format!("stops a thread that could go on {}", phrasing::times(some)),
                },
            );
        }
        row("Trace", evidence.trace.clone());
    }
    if finding.occurrences > 1 {
        row("Seen", phrasing::times(finding.occurrences));
    }
    if let Some(scene) = &finding.scene {
        row("Threads", threads(plot, scene));
        for (node, own) in finding.transactions.iter().enumerate() {
            row(CALLED_THROUGH, call_path(scene, node, &own.thread));
        }
    }
    let objects: Vec<&str> = plot.variables.iter().map(|v| v.full.as_str()).collect();
    let title = match (finding.is_deadlock(), objects.len()) {
        (true, _) => "Locks",
        (false, 2..) => "Variables",
        (false, _) => "Variable",
    };
    row(title, phrasing::list(&objects, 6));
    if let Some(block) = finding.refuted().next() {
        let place =
            if block.place.is_empty() { String::new() } else { format!(", {}", block.place) };
        row("Block", format!("{}{place}", block.name));
    }
    rows
}
