//! Threads that wait for each other: which locks each holds and requests, and where. The locks take the
//! place that shared memory has in other stories.

use super::fixes::Fix;
use super::{
    Lane, Link, Node, Span, Status, Story, StoryInput, Variable, evidence, headline, locks, method,
    rows, split_block,
};
use crate::language::{Language, Phrase, Problem};
use crate::model::{CheckSummary, Edge, Finding, FindingKind, SceneStep};
use crate::operation::{Action, Operation};
use crate::phrasing;
use crate::text::ellipsis;
use untorn_trace::tables::convention;

/// Locks of a cycle beyond so many are not named in a sentence.
const MAX_NAMED: usize = 3;

pub fn story(finding: &Finding, check: Option<&CheckSummary>) -> Story {
    let mut plot = StoryInput::new(finding);
    plot.variables = variables(finding);
    plot.keys = keys(finding);
    plot.pattern = String::new();
    if finding.transactions.is_empty() {
        plot.lanes = finding.waiting.iter().take(super::MAX_LANES).map(lane_of).collect();
    }
    let mut rows = rows::rows(&plot);
    if plot.lanes.is_empty() {
        // The end alone is no picture.
        rows.clear();
    }
    let nodes = finding.transactions.iter().map(|own| Node {
        name: own.thread.clone(),
        block: own.blocks.first().map_or("", |block| split_block(&block.name).1).to_owned(),
        lane: plot.lane(&own.thread).unwrap_or(0),
    });
    let block = bare_blocks(finding).first().cloned().unwrap_or_default();
    Story {
        number: finding.number,
        fault: FindingKind::Deadlock,
        status: Status::Confirmed,
        pattern: String::new(),
        kind: if finding.transactions.is_empty() { "No thread can continue" } else { "Deadlock" },
        class: split_block(&block).0.to_owned(),
        labels: headline::labels(finding),
        headline: headline_of(&plot),
        dek: dek(&plot),
        gist: gist(&plot),
        replay: evidence::replay(finding),
        notice: None,
        lanes: plot.lanes.clone(),
        variables: plot.variables.clone(),
        rips: Vec::new(),
        claims: Vec::new(),
        nodes: nodes.collect(),
        links: finding.edges.iter().map(|edge| link(&plot, edge, &rows)).collect(),
        proof: proof(&plot),
        orders: None,
        fixes: fixes(&plot),
        evidence: evidence::evidence(&plot, check),
        rows,
        block,
    }
}

/// The locks that threads of the cycle hold and request. The value of a lock is the thread that holds it.
fn variables(finding: &Finding) -> Vec<Variable> {
    let wanted: Vec<&String> =
        finding.edges.iter().map(|edge| &finding.operations[edge.from].target).collect();
    let names = locks::names(finding).into_iter().filter(|(full, _)| wanted.contains(&full));
    names.map(|(full, name)| Variable { name, full, before: None }).collect()
}

fn keys(finding: &Finding) -> Vec<usize> {
    let mut keys: Vec<usize> = finding.edges.iter().flat_map(|edge| [edge.from, edge.to]).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// What to call a lock in a sentence.
fn name(plot: &StoryInput<'_>, lock: &str) -> String {
    let known = plot.variables.iter().find(|variable| variable.full == lock);
    ellipsis(known.map_or(lock, |variable| &variable.name), 40)
}

/// The methods in which the threads hold what the others request, each once.
fn bare_blocks(finding: &Finding) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for block in finding.transactions.iter().filter_map(|own| own.blocks.first()) {
        let bare = convention::bare_label(&block.name).to_owned();
        if !all.contains(&bare) {
            all.push(bare);
        }
    }
    if all.is_empty() {
        all.extend(finding.waiting.iter().filter_map(|step| step.stack.last()).take(1).cloned());
    }
    all
}

/// A thread of the cycle: how it acquired the lock that the one before it requests, and which lock it requests itself.
struct Part<'a> {
    thread: &'a str,
    holds: &'a Operation,
    wants: &'a Operation,
}

fn parts<'a>(plot: &StoryInput<'a>) -> Vec<Part<'a>> {
    let (edges, operations) = (&plot.finding.edges, &plot.finding.operations);
    (0..edges.len())
        .map(|index| {
            let before = &edges[(index + edges.len() - 1) % edges.len()];
            Part {
                thread: &plot.finding.transactions[index].thread,
                holds: &operations[before.to],
                wants: &operations[edges[index].from],
            }
        })
        .collect()
}

fn headline_of(plot: &StoryInput<'_>) -> Vec<Span> {
    let lane =
        |index: usize| Span { text: ellipsis(&plot.lanes[index].name, 40), lane: Some(index) };
    let text = |words: &str| Span { text: words.to_owned(), lane: None };
    let count = plot.finding.transactions.len();
    match count {
        0 if plot.finding.waiting.is_empty() => {
            vec![text("No thread can continue; what they wait for is not in the trace.")]
        }
        0 => vec![text("No thread can continue: what they wait for never comes.")],
        2 => vec![
            lane(0),
            text(" and "),
            lane(1),
            text(" wait for each other: each holds the lock that the other one wants."),
        ],
        _ => {
            let mut spans = Vec::new();
            for index in 0..count.min(4) {
                spans.push(lane(index));
                spans.push(text(match (count.min(4) - index, count > 4) {
                    (1, true) => " and others",
                    (1, false) => "",
                    (2, false) => " and ",
                    _ => ", ",
                }));
            }
            spans.push(text(" wait in a circle: each wants a lock that the next one holds."));
            spans
        }
    }
}

/// ` (LockOrder.java:18)`, or nothing.
pub fn at(operation: &Operation) -> String {
    if operation.place.is_empty() { String::new() } else { format!(" ({})", operation.place) }
}

fn dek(plot: &StoryInput<'_>) -> String {
    let effects = plot.finding.evidence.iter().flat_map(|evidence| &evidence.effects);
    let mut out: Vec<String> =
        effects.take(1).map(|effect| headline::as_sentence(effect)).collect();
    let parts = parts(plot);
    if let [a, b] = parts.as_slice() {
        out.push(format!(
            "{} has {} and wants {}; {} has {} and wants {}.",
            ellipsis(a.thread, 40),
            name(plot, &a.holds.target),
            name(plot, &a.wants.target),
            ellipsis(b.thread, 40),
            name(plot, &b.holds.target),
            name(plot, &b.wants.target)
        ));
    } else if !parts.is_empty() {
        out.push("Each thread keeps its lock until it gets the other one.".to_owned());
    }
    out.join(" ")
}

fn gist(plot: &StoryInput<'_>) -> String {
    let threads: Vec<&String> = plot.finding.transactions.iter().map(|own| &own.thread).collect();
    if threads.is_empty() {
        let names: Vec<&str> =
            plot.finding.waiting.iter().map(|step| step.operation.thread.as_str()).collect();
        return phrasing::list(&names, MAX_NAMED);
    }
    let locks: Vec<&String> = plot.variables.iter().map(|lock| &lock.name).collect();
    format!("{}: {}", phrasing::list(&threads, MAX_NAMED), phrasing::list(&locks, MAX_NAMED))
}

fn link(plot: &StoryInput<'_>, edge: &Edge, rows: &[rows::Row]) -> Link {
    let operations = &plot.finding.operations;
    let row = |index: usize| rows.iter().position(|row| row.at == Some(operations[index].at));
    let (from, to) = (&operations[edge.from], &operations[edge.to]);
    let lock = name(plot, &from.target);
    Link {
        kind: format!("wants {lock}"),
        because: format!("{} waits for {lock}, which {} holds", from.thread, to.thread),
        rows: row(edge.from).zip(row(edge.to)).map(|(a, b)| [a, b]),
        claims: Vec::new(),
    }
}

/// The sentence of one step.
pub fn sentence(plot: &StoryInput<'_>, operation: &Operation, is_key: bool) -> Option<String> {
    let who = ellipsis(&operation.thread, 40);
    let lock = name(plot, &operation.target);
    let owner = || {
        let edge = plot
            .finding
            .edges
            .iter()
            .find(|edge| plot.finding.operations[edge.from].at == operation.at)?;
        Some(ellipsis(&plot.finding.operations[edge.to].thread, 40))
    };
    match operation.action {
        Action::Acquire if is_key => Some(format!("{who} takes {lock} and keeps it.")),
        Action::Acquire => Some(format!("{who} takes {lock}; no thread here requests it.")),
        Action::Request => Some(match owner() {
            Some(owner) => {
                format!("{who} wants {lock}, too, but {owner} has it: {who} waits, for ever.")
            }
            None => format!("{who} waits for {lock}."),
        }),
        _ => None,
    }
}

/// What a thread outside of the cycle waits for.
pub fn waits(step: &SceneStep, language: &dyn Language) -> String {
    let operation = &step.operation;
    let who = ellipsis(&operation.thread, 40);
    let what = match operation.action {
        Action::Wait if language.is_join(&step.class, &step.method) => {
            "for a thread to end".to_owned()
        }
        Action::Wait => format!("for a notification on {}", operation.target),
        _ => format!("for {}", operation.target),
    };
    let holds = match step.holds.as_slice() {
        [] => String::new(),
        held => format!(" and holds {}", phrasing::list(held, MAX_NAMED)),
    };
    format!("{who} waits {what}{holds}")
}

fn proof(plot: &StoryInput<'_>) -> Vec<String> {
    let parts = parts(plot);
    let mut out: Vec<String> = parts
        .iter()
        .map(|part| {
            format!(
                "{} has {} since {} and wants {} at {}.",
                part.thread,
                name(plot, &part.holds.target),
                place(part.holds),
                name(plot, &part.wants.target),
                place(part.wants)
            )
        })
        .collect();
    if !parts.is_empty() {
        out.push(
            "A lock that is held comes back only when its thread goes on, and none of these can: it never ends."
                .to_owned(),
        );
    }
    let waiting = plot.finding.waiting.iter();
    let language = plot.finding.language();
    out.extend(waiting.map(|step| format!("{}{}.", waits(step, language), at(&step.operation))));
    if out.is_empty() {
        out.push("Every thread was blocked, and no thread was left to wake one.".to_owned());
        out.push(format!(
            "{}, so the trace does not show which thread waits for which. {}",
            language.phrase(Phrase::UnrecordedLocks),
            where_stacks_are(plot.finding)
        ));
    }
    out
}

/// The recorder stores the stacks of all threads when none can continue.
pub fn where_stacks_are(finding: &Finding) -> String {
    match &finding.evidence {
        Some(evidence) => format!("`untorn trace info {}` shows the stacks.", evidence.trace),
        None => "The notes of the trace have the stacks.".to_owned(),
    }
}

fn place(operation: &Operation) -> &str {
    if operation.place.is_empty() { "a place that is not known" } else { &operation.place }
}

fn fixes(plot: &StoryInput<'_>) -> Vec<Fix> {
    let parts = parts(plot);
    if parts.is_empty() {
        return without_cycle(plot);
    }
    let orders = |part: &Part<'_>| (part.holds.place.clone(), part.wants.place.clone());
    let is_same_code = parts.iter().all(|part| orders(part) == orders(&parts[0]));
    let mut out = vec![if is_same_code { by_object(plot, &parts) } else { by_code(plot, &parts) }];
    let blocks: Vec<String> =
        bare_blocks(plot.finding).iter().map(|name| method(name).to_owned()).collect();
    out.push(Fix::new(
        "Or do not hold one lock while taking another",
        format!(
            "If {} can copy what is needed under the first lock and leave it before taking the second, there is \
             nothing to wait for in a circle.",
            if blocks.is_empty() { "the code".to_owned() } else { phrasing::list(&blocks, MAX_NAMED) }
        ),
    ));
    out.extend(plot.finding.language().fix(&Problem::CircularWait));
    out
}

/// Threads run different code: one of them has to turn its locks around.
fn by_code(plot: &StoryInput<'_>, parts: &[Part<'_>]) -> Fix {
    let sentences: Vec<String> = parts
        .iter()
        .map(|part| {
            format!(
                "{} takes {} and then {}",
                part.thread,
                name(plot, &part.holds.target),
                name(plot, &part.wants.target)
            )
        })
        .collect();
    let names: Vec<String> = plot.variables.iter().map(|lock| ellipsis(&lock.name, 40)).collect();
    Fix::new(
        format!("Take {} always in this order", phrasing::list(&names, MAX_NAMED)),
        format!(
            "Now {}. If everybody takes them in one order, whoever has the first gets the others, too, and no circle \
             can close. Which order does not matter.",
            sentences.join("; ")
        ),
    )
}

/// Threads run the same lines on different objects.
fn by_object(plot: &StoryInput<'_>, parts: &[Part<'_>]) -> Fix {
    let [first, second] = [place(parts[0].holds), place(parts[0].wants)];
    let fix = Fix::new(
        "Order the objects, not the lines",
        format!(
            "Everybody runs the same lines ({first}, then {second}), but what is first for one is second for another \
             ({}). Give the objects an order that all share, such as a number in each, and lock the lower one \
             first.",
            phrasing::list(
                &plot.variables.iter().map(|lock| &lock.full).collect::<Vec<_>>(),
                MAX_NAMED
            )
        ),
    );
    match plot.finding.language().phrase(Phrase::ObjectOrder) {
        "" => fix,
        line => fix.with(&[], &[line.to_owned()]),
    }
}

fn without_cycle(plot: &StoryInput<'_>) -> Vec<Fix> {
    let language = plot.finding.language();
    let is_wait = |step: &&SceneStep| {
        step.operation.action == Action::Wait && !language.is_join(&step.class, &step.method)
    };
    let Some(step) = plot.finding.waiting.iter().find(is_wait) else { return Vec::new() };
    let lock = &step.operation.target;
    let mut out: Vec<Fix> =
        language.fix(&Problem::MissedNotification { lock }).into_iter().collect();
    out.push(Fix::new(
        format!("Not enough: {}", language.phrase(Phrase::NotifyOne)),
        "It wakes one thread, which may be one that waits for something else.",
    ));
    out
}

/// The lane of a thread that waits, for deadlocks without a cycle.
fn lane_of(step: &SceneStep) -> Lane {
    let file = crate::scene::split_place(&step.operation.place);
    Lane {
        name: step.operation.thread.clone(),
        block: step.stack.last().map_or("", |name| split_block(name).1).to_owned(),
        file: file.map_or_else(String::new, |(file, _)| file.to_owned()),
    }
}
