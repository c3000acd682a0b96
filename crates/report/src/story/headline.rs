//! What went wrong, in one sentence; is it real, in another.

use super::{Plot, Span, composition, short_value, short_variable, split_block};
use crate::model::{Finding, Why};
use crate::operation::{Action, Operation};
use crate::phrasing;
use crate::text::ellipsis;

/// The name of this kind of violation.
pub fn kind(plot: &Plot<'_>) -> &'static str {
    if composition::find(plot).is_some() {
        return composition::KIND;
    }
    if let Some(pair) = plot.pair() {
        return pair.kind();
    }
    let Some([first, ..]) = plot.three() else { return name_of("") };
    match (plot.pattern.as_str(), first.value.as_deref()) {
        ("RWW", Some("null")) => "Check then act",
        (letters, _) => name_of(letters),
    }
}

/// The name of a pattern of accesses.
pub fn name_of(letters: &str) -> &'static str {
    match letters {
        "RWW" => "Lost update",
        "RWR" => "Torn read",
        "WWR" => "Overwritten before use",
        "WRW" => "Dirty read",
        "WWW" => "Mixed writes",
        letters => super::pair::name_of(letters),
    }
}

/// Labels beside pattern and kind, which have their own places.
pub fn labels(finding: &Finding) -> Vec<String> {
    let known = ["conflict cycle", "deadlock", "replayable"];
    let is_pattern = |badge: &str| badge.bytes().all(|letter| matches!(letter, b'R' | b'W'));
    let own = |badge: &&String| !known.contains(&badge.as_str()) && !is_pattern(badge);
    finding.badges.iter().filter(own).cloned().collect()
}

/// Puts the names of threads into a text: `{0}` is the interrupted one.
pub fn spans(plot: &Plot<'_>, text: &[Part<'_>]) -> Vec<Span> {
    let span = |part: &Part<'_>| match part {
        Lane(index) => Span {
            text: ellipsis(plot.lanes.get(*index).map_or("?", |lane| &lane.name), 40),
            lane: Some(*index),
        },
        Text(text) => Span { text: (*text).to_owned(), lane: None },
        Own(text) => Span { text: text.clone(), lane: None },
    };
    text.iter().map(span).collect()
}

#[derive(Debug)]
pub enum Part<'a> {
    Lane(usize),
    Text(&'a str),
    Own(String),
}
use Part::{Lane, Own, Text};

pub fn headline(plot: &Plot<'_>) -> Vec<Span> {
    if let Some(calls) = composition::find(plot) {
        return calls.headline(plot);
    }
    if let Some(pair) = plot.pair() {
        return pair.headline(plot);
    }
    let Some(accesses) = plot.three() else { return spans(plot, &of_cycle(plot)) };
    let [first, second, third] = accesses;
    let (a, b) = (0, plot.lane(&second.thread).unwrap_or(1));
    let x = ellipsis(&plot.key_variable(), 40);
    let [had, made, got] = accesses.map(|op| short_value(op.value.as_deref()));
    let parts = match (plot.pattern.as_str(), had, made, got) {
        ("RWW", Some(had), _, _) if had == "null" && reads_null(plot, b, first) => vec![
            Lane(a),
            Text(" and "),
            Lane(b),
            Own(format!(" both found no {x}: ")),
            Lane(a),
            Text(" replaced the one that "),
            Lane(b),
            Text(" had just stored."),
        ],
        ("RWW", Some(had), Some(made), Some(got)) => vec![
            Lane(b),
            Own(format!("’s {x} of {made} is lost: ")),
            Lane(a),
            Own(format!(" overwrote it with {got}, still knowing only {had}.")),
        ],
        ("RWR", Some(had), _, Some(got)) if had != got => vec![
            Lane(a),
            Own(format!(" read {x} twice and got {had}, then {got}: ")),
            Lane(b),
            Text(" changed it in between."),
        ],
        ("WWR", Some(had), _, Some(got)) => vec![
            Lane(a),
            Own(format!(" wrote {had} to {x} and read back {got}: ")),
            Lane(b),
            Text(" overwrote it in between."),
        ],
        ("WRW", _, Some(made), Some(got)) => vec![
            Lane(b),
            Own(format!(" saw {x} at {made}, a value in between: ")),
            Lane(a),
            Own(format!(" went on to make it {got}.")),
        ],
        ("WWW", ..) => vec![
            Lane(b),
            Own(format!(" wrote {x} between two writes of ")),
            Lane(a),
            Own(format!(": what is left of {x} comes from both.")),
        ],
        _ => {
            let verb = second.action.past();
            let between =
                format!(" between a {} and a {} by ", first.action.verb(), third.action.verb());
            vec![Lane(b), Own(format!(" {verb} {x}{between}")), Lane(a), Text(", in one block.")]
        }
    };
    spans(plot, &parts)
}

/// Whether the intruder read null of the same variable, too.
fn reads_null(plot: &Plot<'_>, lane: usize, first: &Operation) -> bool {
    plot.finding.operations.iter().any(|op| {
        op.action == Action::Read
            && op.target == first.target
            && op.value.as_deref() == Some("null")
            && plot.lane(&op.thread) == Some(lane)
    })
}

fn of_cycle<'a>(plot: &Plot<'a>) -> Vec<Part<'a>> {
    let finding = plot.finding;
    let (_, method) = finding.refuted().next().map_or(("", ""), |block| split_block(&block.name));
    if finding.blamed().is_none() {
        let names: Vec<String> = (0..finding.transactions.len())
            .map(|index| ellipsis(&phrasing::transaction(finding, index), 40))
            .collect();
        let text = format!(
            "{} cannot all be atomic: each must run before the next.",
            phrasing::list(&names, 3)
        );
        return vec![Own(text)];
    }
    let mut parts =
        vec![Own(format!("{} of ", ellipsis(method, 40))), Lane(0), Text(" was torn: ")];
    let others = plot.lanes.len() - 1;
    for lane in 1..=others.min(3) {
        parts.push(Lane(lane));
        parts.push(Text(match (others.min(3) - lane, others) {
            (0, more) if more > 3 => " and others",
            (0, _) => "",
            (1, _) => " and ",
            _ => ", ",
        }));
    }
    parts.push(Text(" ran between two of its steps that belong together."));
    parts
}

/// What was observed, against what a serial order gives.
pub fn dek(plot: &Plot<'_>) -> String {
    if let Some(calls) = composition::find(plot) {
        return calls.dek(plot);
    }
    let evidence = plot.finding.evidence.as_ref();
    let proved = evidence.is_some_and(|evidence| !evidence.values.is_empty());
    if let Some(pair) = plot.pair().filter(|_| proved) {
        return super::pair::dek(plot, &pair);
    }
    let effects = evidence.map_or(&[][..], |evidence| &evidence.effects);
    let mut text: Vec<String> = effects.iter().take(2).map(|effect| as_sentence(effect)).collect();
    let serial = match (plot.pattern.as_str(), proved) {
        ("RWW", true) => {
            "Run one after the other, the second would have read what the first one wrote."
        }
        ("RWR", true) => "Run one after the other, both reads give the same value.",
        ("WWR", true) => "Run one after the other, a block reads back what it has just written.",
        ("WRW", true) => {
            "Run one after the other, the value in between is gone before anybody can see it."
        }
        (_, true) => "No serial order of these blocks gives the values that were seen.",
        (_, false) => {
            "The accesses conflict in a circle, so no serial order of these blocks has the same conflicts."
        }
    };
    text.push(serial.to_owned());
    if plot.finding.badges.iter().any(|badge| badge.starts_with("conflict only")) {
        text.push("The values alone could also come from a serial run.".to_owned());
    }
    text.join(" ")
}

/// An effect as a sentence.
pub fn as_sentence(effect: &str) -> String {
    if let Some(line) = effect.strip_prefix("printed ") {
        return format!("The program printed {line}.");
    }
    if let Some(line) = effect.strip_prefix("uncaught: ") {
        return format!("A thread died of {line}.");
    }
    let mut letters = effect.chars();
    let first = letters.next().map(char::to_uppercase);
    let text: String = first.into_iter().flatten().chain(letters).collect();
    format!("{text}.")
}

/// A few words for a list.
pub fn gist(plot: &Plot<'_>) -> String {
    let effect = plot.finding.evidence.as_ref().and_then(|evidence| evidence.effects.first());
    if let Some(effect) = effect {
        let bare = effect.strip_prefix("printed ").unwrap_or(effect);
        let bare = bare.strip_prefix("uncaught: ").unwrap_or(bare);
        return ellipsis(bare.trim_matches('"'), 80);
    }
    if let Some(pair) = plot.pair() {
        return pair.gist();
    }
    match plot.three() {
        Some([first, second, _]) => format!(
            "{}: {} and {}",
            short_variable(&first.target),
            ellipsis(&first.thread, 24),
            ellipsis(&second.thread, 24)
        ),
        None => phrasing::list(&plot.lanes.iter().map(|lane| &lane.name).collect::<Vec<_>>(), 3),
    }
}

/// An edge with its values, where they are known: `Alice read 100 before Bob wrote 50`.
pub fn because(from: &Operation, to: &Operation, why: Why) -> Option<String> {
    if why != Why::Variable {
        return None;
    }
    let say = |op: &Operation| {
        let value = short_value(op.value.as_deref())?;
        Some(format!("{} {} {value}", op.thread, op.action.past()))
    };
    Some(format!("{} before {}", say(from)?, say(to)?))
}
