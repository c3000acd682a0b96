//! A finding as a story: every word, row and number that a reader gets to see, made once from the
//! model. The page, Markdown, SARIF and `untorn explain` tell the same story in their own way.
//!
//! Nothing here guesses. What a thread "would have read" is computed from the values of the scene and
//! left open where it depends on code that was not run that way.

mod composition;
mod course;
mod deadlock;
mod evidence;
mod fixes;
mod headline;
mod locks;
mod pair;
mod predicted;
mod rows;
mod sentences;
mod serial;

use serde::Serialize;
pub(crate) use untorn_trace::tables::convention::{
    class_and_method as split_block, short as short_variable,
};

use crate::claim::{Claim, Statement};
use crate::model::{EdgeKind, Finding, FindingKind, Report};
use crate::operation::{Action, Operation};
use crate::text::ellipsis;
use course::{AccessOrder, Update};

pub use deadlock::{at as place_aside, waits, where_stacks_are};
pub use evidence::CALLED_THROUGH;
pub use fixes::Fix;
pub use headline::STALE_CHECK;
pub use locks::names as lock_names;
pub use rows::{Kind, Row};
pub use serial::{Cell, Order, SerialOrders};

/// How sure it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It happened.
    Confirmed,
    /// It may be possible, and did not happen.
    Predicted,
    /// No checker decided it.
    Undecided,
}

/// Text, in the colour of a thread where it names one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Span {
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<usize>,
}

/// A command to copy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Card {
    pub title: String,
    pub command: String,
    pub note: String,
}

/// A paragraph with a title.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Notice {
    pub title: String,
    pub text: String,
}

/// A thread of the picture; the interrupted one comes first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Lane {
    pub name: String,
    /// Its block without the class, or empty.
    pub block: String,
    pub file: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Variable {
    /// As a person calls it.
    pub name: String,
    pub full: String,
    pub before: Option<String>,
}

/// A transaction in the graph.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Node {
    pub name: String,
    pub block: String,
    pub lane: usize,
}

/// From node `i` to the next one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Link {
    /// `read → write`.
    pub kind: String,
    pub because: String,
    /// Its rows in the picture, if both are there.
    pub rows: Option<[usize; 2]>,
    #[serde(skip)]
    pub claims: Vec<Claim>,
}

/// A part of the interrupted block in which another thread ran: from one switch to the other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Rip {
    pub from: usize,
    pub to: usize,
    /// The outdated value that the interrupted thread still uses, and the row beside which it is shown.
    pub belief: String,
    pub row: usize,
    #[serde(skip)]
    pub claims: Vec<Claim>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Story {
    pub number: u32,
    pub fault: FindingKind,
    pub status: Status,
    /// `RWW`; of two variables `WRRW`; or empty.
    pub pattern: String,
    /// `Lost update`.
    pub kind: &'static str,
    pub block: String,
    pub class: String,
    pub labels: Vec<String>,
    pub headline: Vec<Span>,
    pub dek: String,
    /// The gist in a few words, for lists.
    pub gist: String,
    pub replay: Card,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<Notice>,
    pub lanes: Vec<Lane>,
    pub variables: Vec<Variable>,
    pub rows: Vec<Row>,
    pub rips: Vec<Rip>,
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orders: Option<SerialOrders>,
    /// Why no serial order explains it, a sentence each.
    pub proof: Vec<String>,
    pub fixes: Vec<Fix>,
    /// Names and values.
    pub evidence: Vec<(String, String)>,
    /// What the headline says of the run.
    #[serde(skip)]
    pub claims: Vec<Claim>,
}

impl Story {
    /// Every sentence of the story that says something of the run.
    pub fn told(&self) -> Vec<Statement> {
        let mut all = vec![Statement::new(self.title(), self.claims.clone())];
        all.extend(
            self.rows.iter().map(|row| Statement::new(row.text.clone(), row.claims.clone())),
        );
        all.extend(
            self.rips.iter().map(|rip| Statement::new(rip.belief.clone(), rip.claims.clone())),
        );
        all.extend(
            self.links.iter().map(|link| Statement::new(link.because.clone(), link.claims.clone())),
        );
        let orders = self.orders.iter();
        all.extend(
            orders.map(|orders| Statement::new(orders.verdict.clone(), vec![orders.claim.clone()])),
        );
        all
    }

    /// The headline without colours.
    pub fn title(&self) -> String {
        self.headline.iter().map(|span| span.text.as_str()).collect()
    }
}

/// The stories of a report: what happened first, then what was not reached.
pub fn stories(report: &Report) -> Vec<Story> {
    let mut all: Vec<Story> =
        report.findings().map(|finding| story(finding, report.check.as_ref())).collect();
    let mut number = all.iter().map(|story| story.number).max().unwrap_or(0);
    for unreached in report.check.iter().flat_map(|check| &check.unreached) {
        number += 1;
        all.push(predicted::story(unreached, number, report.check.as_ref()));
    }
    for trace in &report.traces {
        if trace.verdict == crate::model::TraceVerdict::Undecided {
            number += 1;
            all.push(predicted::undecided(trace, number));
        }
    }
    all
}

/// The story of one finding.
pub fn story(finding: &Finding, check: Option<&crate::model::CheckSummary>) -> Story {
    if finding.is_deadlock() {
        return deadlock::story(finding, check);
    }
    let mut plot = StoryInput::new(finding);
    let mut rows = rows::rows(&plot);
    let involved = plot.involved();
    rows::drop_empty_lanes(&mut plot.lanes, &mut rows, involved);
    let orders = serial::orders(&plot);
    let refuted = finding.refuted().next();
    let block = refuted.or_else(|| finding.transactions.first()?.blocks.first());
    let block = block.map_or_else(String::new, |block| block.name.clone());
    let (class, _) = split_block(&block);
    let (headline, claims) = headline::headline(&plot);
    Story {
        number: finding.number,
        fault: FindingKind::Torn,
        status: Status::Confirmed,
        pattern: plot.pattern.clone(),
        kind: headline::kind(&plot),
        class: class.to_owned(),
        labels: headline::labels(finding),
        headline,
        claims,
        dek: headline::dek(&plot),
        gist: headline::gist(&plot),
        replay: evidence::replay(finding),
        notice: None,
        lanes: plot.lanes.clone(),
        variables: plot.variables.clone(),
        rips: rows::rips(&plot, &rows),
        nodes: plot.pair().map_or_else(|| nodes(&plot), |pair| pair.nodes(&plot)),
        links: plot.pair().map_or_else(|| links(&plot, &rows), |pair| pair.links(&rows)),
        proof: evidence::proof(&plot),
        orders,
        fixes: fixes::fixes(&plot),
        evidence: evidence::evidence(&plot, check),
        rows,
        block,
    }
}

/// Threads beside those of the cycle get a lane up to this many.
const MAX_LANES: usize = 6;

/// What all parts of a story need to know of a finding.
struct StoryInput<'a> {
    finding: &'a Finding,
    lanes: Vec<Lane>,
    variables: Vec<Variable>,
    pattern: String,
    /// The three accesses of the pattern, as indices into the operations of the finding.
    keys: Vec<usize>,
    course: AccessOrder<'a>,
    update: Option<Update<'a>>,
    /// See [`StoryInput::stale_check`].
    check: Option<[&'a Operation; 4]>,
}

impl<'a> StoryInput<'a> {
    fn new(finding: &'a Finding) -> Self {
        let mut lanes: Vec<Lane> = Vec::new();
        for own in &finding.transactions {
            if lanes.iter().any(|lane| lane.name == own.thread) {
                continue;
            }
            let block = own.blocks.first().map_or("", |block| split_block(&block.name).1);
            let places = finding.operations.iter().filter(|op| op.thread == own.thread);
            let file = places.filter_map(|op| crate::scene::split_place(&op.place)).next();
            lanes.push(Lane {
                name: own.thread.clone(),
                block: block.to_owned(),
                file: file.map_or_else(String::new, |(file, _)| file.to_owned()),
            });
        }
        // Other threads that accessed the same variables are shown, too, although they are no part of the cycle.
        for step in finding.scene.iter().flat_map(|scene| &scene.steps) {
            let thread = &step.operation.thread;
            if lanes.len() < MAX_LANES && lanes.iter().all(|lane| lane.name != *thread) {
                lanes.push(Lane {
                    name: thread.clone(),
                    block: String::new(),
                    file: String::new(),
                });
            }
        }
        let variables = variables(finding);
        let (pattern, keys) = pattern(finding);
        let course = AccessOrder::new(finding);
        let mut plot =
            Self { finding, lanes, variables, pattern, keys, course, update: None, check: None };
        // Every sentence asks for them.
        let updated = plot.three().filter(|_| plot.pattern == "RWW");
        plot.update = updated.map(|three| plot.course.update(three));
        plot.check = plot.find_stale_check();
        plot
    }

    /// What the last of three accesses did, if it wrote what the first one had read.
    fn update(&self) -> Option<Update<'a>> {
        self.update
    }

    /// A check, what made it outdated, the read that shows it, and the act: if the block looked, and acted when the
    /// variable was something else, which it had read by then.
    fn stale_check(&self) -> Option<[&'a Operation; 4]> {
        self.check
    }

    fn find_stale_check(&self) -> Option<[&'a Operation; 4]> {
        let three = self.three()?;
        let [saw, changed, last] = three;
        match (self.pattern.as_str(), self.update) {
            ("RWW", Some(Update::Stale { now })) => Some([saw, changed, now, last]),
            ("RWR", _) => Some([saw, changed, last, self.course.acted(three)?]),
            _ => None,
        }
    }

    /// The number of lanes of the cycle. They come first.
    fn involved(&self) -> usize {
        let own = |lane: &&Lane| self.finding.transactions.iter().any(|t| t.thread == lane.name);
        self.lanes.iter().filter(own).count()
    }

    fn lane(&self, thread: &str) -> Option<usize> {
        self.lanes.iter().position(|lane| lane.name == thread)
    }

    fn variable(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|variable| variable.full == name)
    }

    /// The three accesses of a pattern on one variable.
    fn three(&self) -> Option<[&'a Operation; 3]> {
        match self.keys.as_slice() {
            &[a, b, c] if !self.pattern.is_empty() => {
                Some([a, b, c].map(|index| &self.finding.operations[index]))
            }
            _ => None,
        }
    }

    /// The four accesses of a pattern on two variables.
    fn pair(&self) -> Option<pair::Pair<'a>> {
        if self.pattern.len() == 4 { pair::find(self.finding) } else { None }
    }

    /// The short name of the variable that the three accesses share.
    fn key_variable(&self) -> String {
        let name = self.three().map_or("", |[first, ..]| first.target.as_str());
        short_variable(name).to_owned()
    }
}

fn variables(finding: &Finding) -> Vec<Variable> {
    let variable = |name: &str, before: Option<String>| Variable {
        name: short_variable(name).to_owned(),
        full: name.to_owned(),
        before,
    };
    if let Some(scene) = &finding.scene {
        return scene.variables.iter().map(|v| variable(&v.name, v.before.clone())).collect();
    }
    let mut all: Vec<Variable> = Vec::new();
    for operation in &finding.operations {
        let is_access = matches!(operation.action, Action::Read | Action::Write);
        if is_access && all.iter().all(|known| known.full != operation.target) {
            // Before the first step there was what the first step read.
            let before = operation.value.clone().filter(|_| operation.action == Action::Read);
            all.push(variable(&operation.target, before));
        }
    }
    all
}

/// The letters of the three accesses and where they are; without letters, the ends of the edges.
fn pattern(finding: &Finding) -> (String, Vec<usize>) {
    let edges = &finding.edges;
    if let [first, second] = edges.as_slice()
        && first.to == second.from
        && [first, second].iter().all(|edge| edge.why == EdgeKind::Variable)
    {
        let keys = telling(finding, [first.from, first.to, second.to]).to_vec();
        let letter = |&index: &usize| match finding.operations[index].action {
            Action::Read => 'R',
            Action::Write => 'W',
            _ => '?',
        };
        let letters: String = keys.iter().map(letter).collect();
        return (letters, keys);
    }
    if let Some(pair) = pair::find(finding) {
        return (pair.letters(), pair.at.to_vec());
    }
    let mut keys: Vec<usize> = edges.iter().flat_map(|edge| [edge.from, edge.to]).collect();
    keys.sort_unstable();
    keys.dedup();
    (String::new(), keys)
}

/// The interrupted thread may have accessed the variable more often, and so may the other one. What a read returned or
/// a write replaced may then be the doing of another access, so the story shows the accesses that decided it.
fn telling(finding: &Finding, three: [usize; 3]) -> [usize; 3] {
    let [first, second, third] = three;
    let operations = &finding.operations;
    if !(first < second && second < third) {
        return three;
    }
    let is = |index: usize, own: bool, action: Action| {
        let operation = &operations[index];
        operation.action == action
            && operation.target == operations[first].target
            && (operation.thread == operations[first].thread) == own
    };
    let own_write = |&index: &usize| is(index, true, Action::Write);
    let last = (second + 1..third).find(own_write).unwrap_or(third);
    if operations[third].action == Action::Read {
        let before = (first + 1..second).rev().find(own_write);
        return [before.filter(|_| last == third).unwrap_or(first), second, last];
    }
    if [first, second].map(|index| operations[index].action) != [Action::Read, Action::Write] {
        return three;
    }
    // What the write replaced was written last, and what the block knew of it, it had read last before that.
    let second = (second..last).rev().find(|&index| is(index, false, Action::Write));
    let second = second.unwrap_or(three[1]);
    let first = (first..second).rev().find(|&index| is(index, true, Action::Read));
    [first.unwrap_or(three[0]), second, last]
}

fn nodes(plot: &StoryInput<'_>) -> Vec<Node> {
    let transactions = plot.finding.transactions.iter();
    let node = |own: &crate::Transaction| Node {
        name: own.thread.clone(),
        block: own.blocks.first().map_or("", |block| split_block(&block.name).1).to_owned(),
        lane: plot.lane(&own.thread).unwrap_or(0),
    };
    transactions.map(node).collect()
}

fn links(plot: &StoryInput<'_>, rows: &[Row]) -> Vec<Link> {
    let operations = &plot.finding.operations;
    let row = |index: usize| rows.iter().position(|row| row.at == Some(operations[index].at));
    let link = |edge: &crate::Edge| {
        let (from, to) = (&operations[edge.from], &operations[edge.to]);
        let told = headline::because(from, to, edge.why)
            .unwrap_or_else(|| Statement::plain(edge.because.clone()));
        Link {
            kind: format!("{} → {}", from.action.verb(), to.action.verb()),
            because: told.text,
            claims: told.claims,
            rows: row(edge.from).zip(row(edge.to)).map(|(a, b)| [a, b]),
        }
    };
    if let [a, b, c] = plot.keys[..]
        && !plot.pattern.is_empty()
    {
        // The same edges, between the accesses that the story shows.
        let edge = |from, to| {
            let because =
                crate::phrasing::because(&operations[from], &operations[to], EdgeKind::Variable);
            crate::Edge { from, to, why: EdgeKind::Variable, because, closing: false }
        };
        return [edge(a, b), edge(b, c)].iter().map(link).collect();
    }
    plot.finding.edges.iter().map(link).collect()
}

/// What is broken, in the words of this block and its variables, for readers who have never seen it.
pub fn meaning(finding: &Finding) -> Option<String> {
    let plot = StoryInput::new(finding);
    Some(plot.pair()?.meaning(&plot))
}

/// What the last access of the pattern does or finds, in a few words: `Bob's 5 is lost`.
pub fn harm(finding: &Finding) -> Option<Statement> {
    headline::harm(&StoryInput::new(finding))
}

/// `withdraw` of `com.acme.Account.withdraw`.
pub fn method(block: &str) -> &str {
    split_block(block).1
}

/// A value in a sentence: whole if it is short.
pub(crate) fn short_value(value: Option<&str>) -> Option<String> {
    value.map(|value| ellipsis(value, 24))
}
