//! SARIF 2.1.0, for code review tools: a result for each finding, with a code flow that has a thread
//! flow for each thread, so that a viewer can step through the interleaving.
//!
//! The structs are ours and hold what we write, nothing more; a test validates the outcome against the
//! published schema.

pub mod model;

use std::collections::BTreeMap;

use crate::failure::Failure;
use crate::identity;
use crate::model::{Excerpt, Finding, FindingKind, Report};
use crate::scene::split_place;
use crate::story::{Kind, Row, STALE_CHECK, Status, Story, stories};
use crate::text::plain;
use model::{
    ArtifactLocation, CodeFlow, Driver, Invocation, Location, Log, LogicalLocation, Message,
    Notification, PhysicalLocation, Region, Rule, Run, SarifResult, ThreadFlow, ThreadFlowLocation,
    Tool, uri,
};

/// Rules by pattern. The names are part of what other tools keep: they never change.
/// The key of the rule for failed runs.
const FAILURE: &str = "failure";

const RULES: [(&str, &str, &str, &str); 10] = [
    (
        "RWW",
        "untorn/lost-update",
        "LostUpdate",
        "A block writes a variable on the strength of a read that another thread has made stale.",
    ),
    (
        "RWR",
        "untorn/torn-read",
        "TornRead",
        "A block reads a variable twice, and another thread writes it in between.",
    ),
    (
        "WWR",
        "untorn/overwritten-before-use",
        "OverwrittenBeforeUse",
        "A block reads back a variable that another thread has overwritten.",
    ),
    (
        "WRW",
        "untorn/dirty-read",
        "DirtyRead",
        "Another thread reads a value that a block is about to replace.",
    ),
    (
        "WWW",
        "untorn/mixed-writes",
        "MixedWrites",
        "Another thread writes a variable between two writes of a block.",
    ),
    (
        "two",
        "untorn/torn-pair",
        "TornPair",
        "Two variables that belong together are accessed by a block one after the other, and another thread gets in between.",
    ),
    (
        "deadlock",
        "untorn/deadlock",
        "Deadlock",
        "Threads wait for each other: each holds a lock that the next one wants.",
    ),
    (
        FAILURE,
        "untorn/failed-run",
        "FailedRun",
        "A run of the program failed: an uncaught exception, an exit code other than 0, or it did not end.",
    ),
    (
        STALE_CHECK,
        "untorn/stale-check",
        "StaleCheck",
        "A block checks a variable, another thread writes it, and the block acts on a check that no longer holds.",
    ),
    (
        "",
        "untorn/conflict-cycle",
        "ConflictCycle",
        "Blocks that are meant to be atomic conflict in a circle: no serial order explains the run.",
    ),
];

/// The report, ending in a line break.
pub fn render(report: &Report) -> String {
    log(report).render()
}

fn log(report: &Report) -> Log {
    let mut findings = report.findings();
    let all = stories(report);
    let results = all
        .iter()
        .map(|story| {
            // Findings come first in the stories, in the same order.
            let finding = findings.next();
            result(story, finding, report)
        })
        .chain(report.failures.iter().map(failed))
        .collect();
    let (name, version) = report.tool.split_once(' ').unwrap_or((&report.tool, ""));
    let unseen = report.check.iter().flat_map(|check| &check.unseen);
    Log::new(Run {
        tool: Tool {
            driver: Driver {
                name: name.to_owned(),
                version: (!version.is_empty()).then(|| version.to_owned()),
                rules: RULES.iter().map(rule).collect(),
            },
        },
        invocations: vec![Invocation {
            execution_successful: true,
            command_line: report.check.as_ref().map(|check| plain(&check.command.join(" "))),
            tool_execution_notifications: unseen
                .map(|text| Notification { level: "note", message: Message::new(text) })
                .collect(),
        }],
        column_kind: "unicodeCodePoints",
        results,
    })
}

/// A way in which runs failed. It has no place in a file: the stack trace is text.
fn failed(failure: &Failure) -> SarifResult {
    let index = RULES.iter().position(|rule| rule.0 == FAILURE).unwrap_or(RULES.len() - 1);
    let mut text = format!("{}: {}.", failure.headline, failure.sentences().join("; "));
    if !failure.evidence.inputs.is_empty() {
        text.push_str(&format!(" With {}.", failure.evidence.inputs));
    }
    text.push_str(&format!(" Replay: {}", failure.evidence.replay));
    SarifResult {
        rule_id: RULES[index].1,
        rule_index: index,
        kind: Some("fail"),
        level: "error",
        rank: None,
        message: Message::new(&text),
        locations: Vec::new(),
        related_locations: Vec::new(),
        code_flows: Vec::new(),
        partial_fingerprints: Some(BTreeMap::from([(
            identity::VERSION,
            identity::fingerprint_of(&identity::of_failure(failure)),
        )])),
    }
}

fn rule(&(_, id, name, text): &(&str, &'static str, &'static str, &'static str)) -> Rule {
    Rule {
        id,
        name: Some(name),
        short_description: Message::new(text),
        default_configuration: BTreeMap::from([("level", "error")]),
    }
}

fn rule_index(story: &Story) -> usize {
    let name = match (story.fault, story.pattern.len()) {
        (FindingKind::Deadlock, _) => "deadlock",
        (FindingKind::Torn, 4) => "two",
        (FindingKind::Torn, _) if story.kind == STALE_CHECK => STALE_CHECK,
        (FindingKind::Torn, _) => &story.pattern,
    };
    RULES.iter().position(|rule| rule.0 == name).unwrap_or(RULES.len() - 1)
}

fn result(story: &Story, finding: Option<&Finding>, report: &Report) -> SarifResult {
    let finding = finding.filter(|_| story.status == Status::Confirmed);
    let confirmed = story.status == Status::Confirmed;
    let sources: &[Excerpt] = match finding {
        Some(finding) => &finding.sources,
        None => report
            .check
            .iter()
            .flat_map(|check| &check.unreached)
            .find(|prediction| prediction.block == story.block && !prediction.sources.is_empty())
            .map_or(&[], |prediction| &prediction.sources),
    };
    let index = rule_index(story);
    let mut text = format!("{} {}", story.title(), story.dek);
    if let Some(command) =
        Some(&story.replay.command).filter(|command| confirmed && !command.is_empty())
    {
        text.push_str(&format!(" Replay: {command}"));
    }
    // The last access is where the harm is done; the others are related.
    let keys: Vec<&Row> = story.rows.iter().filter(|row| row.key).collect();
    let locations =
        keys.last().map(|row| location(row, story, sources, None)).into_iter().collect();
    let others = keys.split_last().map_or(&[][..], |(_, rest)| rest).iter();
    let related =
        others.zip(1..).map(|(row, id)| location(row, story, sources, Some(id))).collect();
    SarifResult {
        rule_id: RULES[index].1,
        rule_index: index,
        kind: Some(if confirmed { "fail" } else { "open" }),
        level: if confirmed { "error" } else { "none" },
        rank: None,
        message: Message::new(&text),
        locations,
        related_locations: related,
        code_flows: code_flow(story, sources).into_iter().collect(),
        partial_fingerprints: finding
            .map(|finding| BTreeMap::from([(identity::VERSION, identity::fingerprint(finding))])),
    }
}

fn code_flow(story: &Story, sources: &[Excerpt]) -> Option<CodeFlow> {
    let flows: Vec<ThreadFlow> = story
        .lanes
        .iter()
        .enumerate()
        .filter_map(|(lane, info)| {
            let own = story
                .rows
                .iter()
                .filter(|row| row.lane == lane && row.step.is_some() && row.kind != Kind::Effect);
            let locations: Vec<ThreadFlowLocation> = own
                .map(|row| ThreadFlowLocation {
                    location: Location {
                        message: Some(Message::new(&row.text)),
                        ..location(row, story, sources, None)
                    },
                    execution_order: row.step.unwrap_or(0),
                    importance: if row.key { "essential" } else { "important" },
                })
                .collect();
            // The schema wants at least one location.
            (!locations.is_empty()).then(|| ThreadFlow {
                id: format!("{} {}", lane + 1, plain(&info.name)),
                message: Message::new(&info.name),
                locations,
            })
        })
        .collect();
    (!flows.is_empty())
        .then(|| CodeFlow { message: Message::new(&story.title()), thread_flows: flows })
}

fn location(row: &Row, story: &Story, sources: &[Excerpt], id: Option<u32>) -> Location {
    let physical = split_place(&row.place).map(|(file, line)| {
        let known = sources.iter().find(|excerpt| {
            excerpt.file == file
                && (excerpt.first..excerpt.first + excerpt.lines.len() as u32).contains(&line)
        });
        PhysicalLocation {
            artifact_location: ArtifactLocation {
                uri: uri(known.map_or(file, |excerpt| excerpt.path.as_str())),
                uri_base_id: None,
            },
            region: Some(Region { start_line: line }),
        }
    });
    let name = row.calls.last().unwrap_or(&story.block);
    Location {
        id,
        physical_location: physical,
        logical_locations: (!name.is_empty())
            .then(|| LogicalLocation { fully_qualified_name: plain(name), kind: "function" })
            .into_iter()
            .collect(),
        message: id.map(|_| Message::new(&row.text)),
    }
}
