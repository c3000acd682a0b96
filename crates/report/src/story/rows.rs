//! The rows of the picture, from the first begin to the visible effect.

use serde::Serialize;

use super::course::AccessOrder;
use super::{Rip, StoryInput, sentences, short_value, short_variable};
use crate::claim::{self, Claim, Statement};
use crate::model::{Finding, SceneStep};
use crate::operation::{Action, Operation};
use crate::scene::split_place;
use crate::text::{ellipsis, middle_ellipsis, tail_ellipsis};

/// Fewer hidden events than this are not worth a row.
const FEWEST_HIDDEN: u64 = 12;

/// Above this many rows only what is close to a key access is shown.
const MAX_ROWS: usize = 40;
const AROUND_KEYS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Begin,
    Read,
    Write,
    /// A lock of a deadlock: got, and kept.
    Acquire,
    /// The same: requested, and never acquired.
    Request,
    /// A lock, a fork, a call.
    Other,
    End,
    /// Events that are not shown.
    Gap,
    /// Another thread continues; the lane is that of the other thread.
    Switch,
    Effect,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    pub kind: Kind,
    pub lane: usize,
    /// Steps are counted from 1; gaps and switches are no steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The position in the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The transaction it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// What happens, as a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The name of a block, the kind of an operation, the number of hidden events.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// An access that makes the violation.
    #[serde(skip_serializing_if = "is_false")]
    pub key: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// The open calls, the innermost last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// A write that was overwritten before any read.
    #[serde(skip_serializing_if = "is_false")]
    pub lost: bool,
    #[serde(skip)]
    pub claims: Vec<Claim>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Row {
    pub(super) fn new(kind: Kind, lane: usize) -> Self {
        Self {
            kind,
            lane,
            step: None,
            at: None,
            node: None,
            text: String::new(),
            label: String::new(),
            variable: None,
            value: None,
            key: false,
            place: String::new(),
            locks: Vec::new(),
            calls: Vec::new(),
            lost: false,
            claims: Vec::new(),
        }
    }
}

pub fn rows(plot: &StoryInput<'_>) -> Vec<Row> {
    let steps = steps(plot.finding);
    let mut rows: Vec<Row> = Vec::new();
    let mut running = None;
    for (index, step) in steps.iter().enumerate() {
        let operation = &step.operation;
        let Some(lane) = plot.lane(&operation.thread) else { continue };
        if running.is_some_and(|last| last != lane) {
            rows.push(switch(plot, lane));
        }
        running = Some(lane);
        if step.hidden >= FEWEST_HIDDEN && operation.action != Action::Begin {
            rows.push(gap(
                lane,
                step.hidden,
                "event",
                " touch none of the variables of this finding",
            ));
        }
        rows.push(row(plot, &steps, index, lane));
    }
    mark_lost(plot, &mut rows);
    let mut rows = fold(plot, rows);
    for effect in plot.finding.evidence.iter().flat_map(|evidence| &evidence.effects).take(2) {
        let mut row = Row::new(Kind::Effect, 0);
        row.label = effect.clone();
        row.text = super::headline::as_sentence(effect);
        rows.push(row);
    }
    number(&mut rows);
    rows
}

pub(super) fn number(rows: &mut [Row]) {
    let numbered = rows.iter_mut().filter(|row| !matches!(row.kind, Kind::Gap | Kind::Switch));
    for (row, number) in numbered.zip(1..) {
        row.step = Some(number);
    }
}

pub(super) fn switch(plot: &StoryInput<'_>, lane: usize) -> Row {
    let mut row = Row::new(Kind::Switch, lane);
    row.label = format!("switch to {}", middle_ellipsis(&plot.lanes[lane].name, 18));
    row
}

fn gap(lane: usize, count: u64, noun: &str, why: &str) -> Row {
    let mut row = Row::new(Kind::Gap, lane);
    let count = crate::phrasing::count(count, noun);
    row.label = format!("⋯ {count}");
    row.text = format!("{count}{why}");
    row
}

/// The steps of the scene; without one, the operations and the ends of their blocks.
fn steps(finding: &Finding) -> Vec<SceneStep> {
    if finding.is_deadlock() && finding.transactions.is_empty() {
        let mut steps = finding.waiting.clone();
        steps.sort_by_key(|step| step.operation.at);
        return steps;
    }
    if let Some(scene) = &finding.scene {
        return scene.steps.clone();
    }
    let bare = |operation: Operation| SceneStep {
        operation,
        class: String::new(),
        method: String::new(),
        holds: Vec::new(),
        stack: Vec::new(),
        hidden: 0,
    };
    let mut steps: Vec<SceneStep> = finding.operations.iter().cloned().map(bare).collect();
    for (node, own) in finding.transactions.iter().enumerate() {
        let Some(block) = own.blocks.first() else { continue };
        for (at, action) in [(Some(block.begin), Action::Begin), (block.end, Action::End)] {
            let Some(at) = at.filter(|at| steps.iter().all(|step| step.operation.at != *at)) else {
                continue;
            };
            steps.push(bare(Operation {
                at,
                thread: own.thread.clone(),
                transaction: Some(node),
                place: block.place.clone(),
                action,
                target: block.name.clone(),
                value: None,
                manner: None,
            }));
        }
    }
    steps.sort_by_key(|step| step.operation.at);
    steps
}

fn row(plot: &StoryInput<'_>, steps: &[SceneStep], index: usize, lane: usize) -> Row {
    let step = &steps[index];
    let operation = &step.operation;
    let kind = match operation.action {
        Action::Read => Kind::Read,
        Action::Write => Kind::Write,
        Action::Begin => Kind::Begin,
        Action::End => Kind::End,
        Action::Acquire if plot.finding.is_deadlock() => Kind::Acquire,
        Action::Request | Action::Wait if plot.finding.is_deadlock() => Kind::Request,
        _ => Kind::Other,
    };
    let mut row = Row::new(kind, lane);
    row.at = Some(operation.at);
    row.node = operation.transaction;
    let place = plot.finding.operations.iter().position(|op| op.at == operation.at);
    row.key = place.is_some_and(|place| plot.keys.contains(&place));
    let told = sentences::sentence(plot, steps, index);
    (row.text, row.claims) = (told.text, told.claims);
    row.label = match kind {
        Kind::Begin | Kind::End => super::split_block(&operation.target).1.to_owned(),
        _ => operation.action.verb().to_owned(),
    };
    if matches!(kind, Kind::Read | Kind::Write) {
        row.variable = plot.variable(&operation.target);
        row.value = operation.value.clone();
    } else if matches!(kind, Kind::Acquire | Kind::Request) {
        row.variable = plot.variable(&operation.target);
        // The value of a lock is the thread that holds it.
        row.value = (kind == Kind::Acquire).then(|| operation.thread.clone());
        let name = row.variable.map_or(&operation.target, |index| &plot.variables[index].name);
        row.label.clone_from(name);
    } else if kind == Kind::Other {
        row.label = format!("{} {}", operation.action.verb(), short_variable(&operation.target));
    }
    if split_place(&operation.place).is_some() || !operation.place.is_empty() {
        row.place.clone_from(&operation.place);
    }
    row.locks.clone_from(&step.holds);
    row.calls.clone_from(&step.stack);
    row
}

/// A value that the next access replaces was never read.
fn mark_lost(plot: &StoryInput<'_>, rows: &mut [Row]) {
    for row in rows.iter_mut().filter(|row| row.kind == Kind::Write) {
        let Some(write) = row.at.and_then(|at| plot.course.at(at)) else { continue };
        let next = plot.course.next(write);
        row.lost =
            next.is_some_and(|next| next.action == Action::Write && next.thread != write.thread);
        if row.lost {
            row.claims.push(Claim::NeverRead { gone: write.into() });
        }
    }
}

/// Keeps what is close to key accesses, and begins and ends; the rest becomes gaps.
fn fold(plot: &StoryInput<'_>, rows: Vec<Row>) -> Vec<Row> {
    if rows.len() <= MAX_ROWS {
        return rows;
    }
    // Switches follow from what is left.
    let rows: Vec<Row> = rows.into_iter().filter(|row| row.kind != Kind::Switch).collect();
    let keys: Vec<usize> = (0..rows.len()).filter(|&index| rows[index].key).collect();
    let is_close = |index: usize| keys.iter().any(|&key| key.abs_diff(index) <= AROUND_KEYS);
    let last = rows.len() - 1;
    let mut out: Vec<Row> = Vec::new();
    let mut folded = Vec::new();
    for (index, row) in rows.into_iter().enumerate() {
        let outline = matches!(row.kind, Kind::Begin | Kind::End) && keys.len() < 12;
        if is_close(index) || index == 0 || index == last || (outline && out.len() < MAX_ROWS) {
            out.extend(gap_of(&std::mem::take(&mut folded), out.last()));
            if out.last().is_some_and(|before| before.lane != row.lane) {
                out.push(switch(plot, row.lane));
            }
            out.push(row);
        } else {
            folded.push(row);
        }
    }
    out
}

/// What was folded, as one row in the lane where the picture is.
fn gap_of(folded: &[Row], before: Option<&Row>) -> Option<Row> {
    let steps = folded.iter().filter(|row| row.kind != Kind::Gap).count() as u64;
    let mut lanes: Vec<usize> = folded.iter().map(|row| row.lane).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let of = match lanes.len() {
        0 | 1 => String::new(),
        many => format!(" of {many} threads"),
    };
    let why = format!("{of} are folded: they are not part of the conflict");
    let lane = before.map_or_else(|| folded.first().map_or(0, |row| row.lane), |row| row.lane);
    (steps > 0).then(|| gap(lane, steps, "step", &why))
}

/// Threads whose every step was folded need no lane.
pub fn drop_empty_lanes(lanes: &mut Vec<super::Lane>, rows: &mut [Row], needed: usize) {
    let used = |lane: usize| {
        lane < needed
            || rows
                .iter()
                .any(|row| row.lane == lane && !matches!(row.kind, Kind::Gap | Kind::Switch))
    };
    let kept: Vec<usize> = (0..lanes.len()).filter(|&lane| used(lane)).collect();
    for row in rows {
        row.lane = kept.iter().position(|&lane| lane == row.lane).unwrap_or(0);
    }
    *lanes = kept.iter().map(|&lane| lanes[lane].clone()).collect();
}

/// Where the block of the first transaction is interrupted.
pub fn rips(plot: &StoryInput<'_>, rows: &[Row]) -> Vec<Rip> {
    if !plot.finding.transactions.first().is_some_and(|own| own.blamed) {
        return Vec::new();
    }
    let names: Vec<String> = plot.variables.iter().map(|v| v.name.clone()).collect();
    rips_of(rows, &names, Some(&plot.course))
}

/// Without a course nothing is said of what a thread knows.
pub(super) fn rips_of(
    rows: &[Row],
    variables: &[String],
    course: Option<&AccessOrder<'_>>,
) -> Vec<Rip> {
    let own: Vec<usize> = (0..rows.len())
        .filter(|&index| rows[index].node == Some(0) && rows[index].lane == 0)
        .collect();
    let mut rips = Vec::new();
    for pair in own.windows(2) {
        let &[before, after] = pair else { continue };
        let between = before + 1..after;
        let is_intruder = |row: &usize| rows[*row].key && rows[*row].lane != 0;
        // Of several, the one that concerns what the interrupted thread has done so far.
        let is_known = |row: &usize| {
            let of_same = |own: &&Row| own.node == Some(0) && own.variable == rows[*row].variable;
            is_intruder(row) && rows[..=before].iter().any(|own| of_same(&own))
        };
        let first = between.clone().find(is_intruder);
        let Some(intruder) = between.clone().find(is_known).or(first) else { continue };
        let is_switch = |row: &usize| rows[*row].kind == Kind::Switch;
        let (Some(from), Some(to)) =
            (between.clone().find(is_switch), between.clone().rev().find(is_switch))
        else {
            continue;
        };
        let told = belief(&rows[..=before], &rows[intruder], variables, course);
        rips.push(Rip { from, to, belief: told.text, row: intruder, claims: told.claims });
    }
    rips
}

fn belief(
    before: &[Row],
    intruder: &Row,
    variables: &[String],
    course: Option<&AccessOrder<'_>>,
) -> Statement {
    let same = |row: &&Row| {
        row.node == Some(0) && row.variable.is_some() && row.variable == intruder.variable
    };
    let last = before.iter().rev().find(same);
    let name = intruder.variable.and_then(|index| variables.get(index)).map_or("", String::as_str);
    // Elements of one array differ at the end.
    let name = if name.ends_with(']') { tail_ellipsis(name, 10) } else { ellipsis(name, 14) };
    let until = intruder.at.unwrap_or(0);
    let known = last.and_then(|row| course?.at(row.at?));
    let known = known.filter(|known| course.is_some_and(|course| course.knows_only(known, until)));
    let value = last.and_then(|row| short_value(row.value.as_deref()));
    let value = value.map(|value| ellipsis(&value, 12));
    match (last, known, value) {
        (Some(_), ..) if intruder.kind == Kind::Read => Statement::plain("not finished yet"),
        (Some(row), Some(known), Some(value)) => {
            let verb = if row.kind == Kind::Read { "still holds" } else { "expects" };
            Statement::new(
                format!("{verb} {name} = {value}"),
                vec![claim::knows_only(known, until)],
            )
        }
        (Some(_), ..) => Statement::plain(format!("still relies on {name}")),
        (None, ..) => Statement::plain("torn here"),
    }
}
