//! What went wrong, in one sentence; is it real, in another.

use super::course::Update;
use super::{Span, StoryInput, composition, short_value, short_variable, split_block};
use crate::claim::{self, Claim, Statement};
use crate::model::{EdgeKind, Finding};
use crate::operation::{Action, Operation};
use crate::phrasing;
use crate::replayed::Replayed;
use crate::text::ellipsis;

/// The name of this kind of violation.
pub fn kind(plot: &StoryInput<'_>) -> &'static str {
    if composition::find(plot).is_some() {
        return composition::KIND;
    }
    if let Some(pair) = plot.pair() {
        return pair.kind();
    }
    let Some([first, ..]) = plot.three() else { return name_of("") };
    if plot.stale_check().is_some() {
        return STALE_CHECK;
    }
    match (plot.pattern.as_str(), plot.update(), first.value.as_deref()) {
        ("RWW", Some(Update::Lost), Some("null")) => "Check then act",
        ("RWW", Some(Update::Open), _) if first.is_of_contents() => "Check then act",
        ("RWW", Some(Update::Open), _) => "Torn update",
        (letters, ..) => name_of(letters),
    }
}

/// A block that read the variable once more before it wrote: nothing is lost, but what it had decided before was
/// outdated.
pub const STALE_CHECK: &str = "Stale check";

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
    let known = ["conflict cycle", "deadlock", Replayed::REPLAYABLE];
    let is_pattern = |badge: &str| badge.bytes().all(|letter| matches!(letter, b'R' | b'W'));
    let own = |badge: &&String| !known.contains(&badge.as_str()) && !is_pattern(badge);
    finding.badges.iter().filter(own).cloned().collect()
}

/// Puts the names of threads into a text: `{0}` is the interrupted one.
pub fn spans(plot: &StoryInput<'_>, text: &[Part<'_>]) -> Vec<Span> {
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

pub fn headline(plot: &StoryInput<'_>) -> (Vec<Span>, Vec<Claim>) {
    if let Some(calls) = composition::find(plot) {
        return (calls.headline(plot), Vec::new());
    }
    if let Some(pair) = plot.pair() {
        return pair.headline(plot);
    }
    let Some(accesses) = plot.three() else { return (spans(plot, &of_cycle(plot)), Vec::new()) };
    let (parts, claims) = match (plot.stale_check(), plot.pattern.as_str()) {
        (Some(check), _) => of_check(plot, check),
        (None, "RWW") => of_update(plot, accesses),
        _ => of_three(plot, accesses),
    }
    .unwrap_or_else(|| neutral(plot, accesses));
    (spans(plot, &parts), claims)
}

type Heading<'a> = (Vec<Part<'a>>, Vec<Claim>);

/// The lanes of the block and of the other thread, and the name of the variable.
fn cast(plot: &StoryInput<'_>, second: &Operation) -> (usize, usize, String) {
    let other = plot.lane(&second.thread).unwrap_or(1);
    (0, other, ellipsis(&plot.key_variable(), 40))
}

/// A read and a write of a block, and another thread's write between them.
fn of_update<'a>(plot: &StoryInput<'_>, three: [&Operation; 3]) -> Option<Heading<'a>> {
    let [first, second, third] = three;
    let (a, b, x) = cast(plot, second);
    let [had, made, got] = three.map(|op| short_value(op.value.as_deref()));
    let tear = claim::between(first, second, third);
    match plot.update()? {
        Update::Open | Update::Stale { .. } => None,
        Update::Lost => {
            let read_alike = reads_alike(plot, first, second);
            if let Some(read) = read_alike.filter(|_| had.as_deref() == Some("null")) {
                let parts = vec![
                    Lane(a),
                    Text(" and "),
                    Lane(b),
                    Own(format!(" both found no {x}: ")),
                    Lane(a),
                    Text(" replaced the one that "),
                    Lane(b),
                    Text(" had just stored."),
                ];
                let found = claim::ordered(read, second);
                return Some((parts, vec![tear, found, claim::lost(second, third)]));
            }
            if let Some(read) = read_alike.filter(|_| made == got) {
                let both = format!(" both found {x} {}, and both made it {}.", had?, made?);
                let claims = vec![tear, claim::ordered(read, second), claim::lost(second, third)];
                return Some((vec![Lane(a), Text(" and "), Lane(b), Own(both)], claims));
            }
            let known = plot.course.knows_only(first, third.at);
            let tail = if known { format!(", still knowing only {}", had?) } else { String::new() };
            let parts = vec![
                Lane(b),
                Own(format!("’s {x} of {} is lost: ", made?)),
                Lane(a),
                Own(format!(" overwrote it with {}{tail}.", got?)),
            ];
            let knows = known.then(|| claim::knows_only(first, third.at));
            let claims = [tear, claim::lost(second, third)].into_iter().chain(knows).collect();
            Some((parts, claims))
        }
    }
}

/// A check that was outdated when the block acted.
fn of_check<'a>(plot: &StoryInput<'_>, check: [&Operation; 4]) -> Option<Heading<'a>> {
    let [saw, changed, now, _] = check;
    let (a, b, x) = cast(plot, changed);
    let [had, now] = [saw, now].map(|op| short_value(op.value.as_deref()));
    let looked = format!(" looked at {x} when it was {} and wrote it when it was {}: ", had?, now?);
    let parts = vec![Lane(a), Own(looked), Lane(b), Text(" had written it in between.")];
    Some((parts, vec![stale(check)]))
}

pub fn stale([saw, changed, now, acted]: [&Operation; 4]) -> Claim {
    Claim::StaleCheck {
        saw: saw.into(),
        changed: changed.into(),
        now: now.into(),
        acted: acted.into(),
    }
}

/// The other patterns, where the values bear the story out.
fn of_three<'a>(plot: &StoryInput<'_>, three: [&Operation; 3]) -> Option<Heading<'a>> {
    let [first, second, third] = three;
    let (a, b, x) = cast(plot, second);
    let [had, made, got] = three.map(|op| short_value(op.value.as_deref()));
    let mut claims = vec![claim::between(first, second, third)];
    let parts = match plot.pattern.as_str() {
        "RWR" if had != got => vec![
            Lane(a),
            Own(format!(" read {x} twice and got {}, then {}: ", had?, got?)),
            Lane(b),
            Text(" wrote it in between."),
        ],
        "WWR" if had != got && plot.course.is_direct(first, second) => {
            claims.push(claim::overwritten(first, second));
            let text = format!(" wrote {} to {x} and read back {}: ", had?, got?);
            vec![Lane(a), Own(text), Lane(b), Text(" overwrote it in between.")]
        }
        "WRW" if plot.course.is_source(first, second) => {
            claims.push(claim::read_from(second, first));
            vec![
                Lane(b),
                Own(format!(" saw {x} at {}, a value in between: ", made?)),
                Lane(a),
                Own(format!(" went on to write {}.", got?)),
            ]
        }
        "WWW" if plot.course.is_direct(second, third) => {
            claims.push(claim::overwritten(second, third));
            vec![
                Lane(b),
                Own(format!(" wrote {x} between two writes of ")),
                Lane(a),
                Own(format!(": its {} was overwritten.", made?)),
            ]
        }
        _ => return None,
    };
    Some((parts, claims))
}

/// What is certain of every pattern.
fn neutral<'a>(plot: &StoryInput<'_>, [first, second, third]: [&Operation; 3]) -> Heading<'a> {
    let (a, b, x) = cast(plot, second);
    let verb = second.action.past();
    let between = format!(" between a {} and a {} by ", first.action.verb(), third.action.verb());
    let parts =
        vec![Lane(b), Own(format!(" {verb} {x}{between}")), Lane(a), Text(", in one block.")];
    (parts, vec![claim::between(first, second, third)])
}

/// The read by which the other thread found the same before it wrote.
fn reads_alike<'a>(
    plot: &StoryInput<'a>,
    first: &Operation,
    second: &Operation,
) -> Option<&'a Operation> {
    first.value.as_ref()?;
    let mut before = plot.finding.operations.iter().rev().filter(|op| op.at < second.at);
    before.find(|op| {
        op.action == Action::Read
            && op.target == first.target
            && op.value == first.value
            && op.thread == second.thread
    })
}

fn of_cycle<'a>(plot: &StoryInput<'a>) -> Vec<Part<'a>> {
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
pub fn dek(plot: &StoryInput<'_>) -> String {
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
    let is_stale = plot.stale_check().is_some();
    let serial = match (plot.pattern.as_str(), proved) {
        (_, true) if is_stale => {
            "Run one after the other, what a block has seen still holds when it acts."
        }
        ("RWW", true) => {
            "Run one after the other, nothing is written between the read and the write of a block."
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
pub fn gist(plot: &StoryInput<'_>) -> String {
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
pub fn because(from: &Operation, to: &Operation, why: EdgeKind) -> Option<Statement> {
    if why != EdgeKind::Variable {
        return None;
    }
    let say = |op: &Operation| {
        let value = short_value(op.value.as_deref())?;
        Some(format!("{} {} {value}", op.thread, op.action.past()))
    };
    let text = format!("{} before {}", say(from)?, say(to)?);
    Some(Statement::new(text, vec![claim::ordered(from, to)]))
}

/// What the last of three accesses does or finds, in a few words for its line.
pub fn harm(plot: &StoryInput<'_>) -> Option<Statement> {
    let [first, second, third] = plot.three()?;
    let value = |op: &Operation| op.value.clone();
    match plot.pattern.as_str() {
        "RWW" => match plot.update()? {
            Update::Lost => Some(Statement::new(
                format!("{}'s {} is lost", second.thread, value(second)?),
                vec![claim::lost(second, third)],
            )),
            Update::Stale { now } => Some(Statement::new(
                format!("the check saw {}, by now it was {}", value(first)?, value(now)?),
                vec![stale([first, second, now, third])],
            )),
            Update::Open => None,
        },
        "RWR" if first.value != third.value => Some(Statement::new(
            format!("was {} a moment ago", value(first)?),
            vec![claim::ordered(first, third)],
        )),
        "WWR" if first.value != third.value => Some(Statement::new(
            format!("not the {} just written", value(first)?),
            vec![claim::ordered(first, third)],
        )),
        _ => None,
    }
}
