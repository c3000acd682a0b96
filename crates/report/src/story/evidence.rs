//! How to see it again, why it is one, and where it was seen.

use super::{Card, Plot};
use crate::model::{CheckFacts, Finding};
use crate::words;

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
pub fn proof(plot: &Plot<'_>) -> Vec<String> {
    let values = plot.finding.evidence.iter().flat_map(|evidence| &evidence.values);
    let mut out: Vec<String> = values.cloned().collect();
    if out.is_empty() {
        out.push(words::cycle(plot.finding));
        out.extend(words::blame(plot.finding));
    }
    out
}

pub fn evidence(plot: &Plot<'_>, check: Option<&CheckFacts>) -> Vec<(String, String)> {
    let finding = plot.finding;
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |name: &str, text: String| {
        if !text.is_empty() {
            rows.push((name.to_owned(), text));
        }
    };
    if let Some(evidence) = &finding.evidence {
        let of =
            check.map_or_else(String::new, |check| format!(" of {}", words::number(check.runs)));
        let after = evidence.milliseconds as f64 / 1000.0;
        row("Seen in", format!("run {}{of}, after {after:.1} s", evidence.run));
        if evidence.alike > 0 {
            row(
                "Seen also",
                format!(
                    "{} with other accesses of the same block",
                    words::times(evidence.alike.into())
                ),
            );
        }
        row("Meant to be atomic", match evidence.origin.as_str() {
            "declared" => "declared: synchronized code, or named with --atomic".to_owned(),
            "inferred" => {
                "inferred: one call that touches the same field twice; reported because the values prove the harm"
                    .to_owned()
            }
            other => other.to_owned(),
        });
        if let Some(preemptions) = evidence.preemptions {
            let times = words::times(preemptions);
            row("Schedule", format!("stops a thread that could go on {times}"));
        }
        row("Trace", evidence.trace.clone());
    }
    if finding.occurrences > 1 {
        row("Seen", words::times(finding.occurrences));
    }
    if let Some(scene) = &finding.scene {
        let shown = plot.lanes.len() as u64;
        let names: Vec<&str> = plot.variables.iter().map(|v| v.name.as_str()).collect();
        let rest = scene.threads.saturating_sub(shown);
        row(
            "Threads",
            match (rest, names.is_empty()) {
                (0, _) | (_, true) => format!("{shown} of {} shown", scene.threads),
                (1, _) => format!(
                    "{shown} of {} shown; the other one did not touch {} meanwhile",
                    scene.threads,
                    words::list(&names, 3)
                ),
                (rest, _) => format!(
                    "{shown} of {} shown; the other {rest} did not touch {} meanwhile",
                    scene.threads,
                    words::list(&names, 3)
                ),
            },
        );
    }
    let objects: Vec<&str> = plot.variables.iter().map(|v| v.full.as_str()).collect();
    row(if objects.len() > 1 { "Variables" } else { "Variable" }, words::list(&objects, 6));
    if let Some(block) = finding.refuted().next() {
        let place =
            if block.place.is_empty() { String::new() } else { format!(", {}", block.place) };
        row("Block", format!("{}{place}", block.name));
    }
    rows
}
