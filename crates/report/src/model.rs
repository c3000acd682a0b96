//! The content of a report, as plain data with a versioned JSON form (docs/report-json.md).
//!
//! Names are text here: ids end where the finding is made, so that a report can be read without
//! its trace.

use serde::{Deserialize, Serialize};

pub use crate::check_summary::{CheckSummary, NoFinding, Setting, Triple, counted};
use crate::failure::Failure;
use crate::folded::FoldedFinding;
use crate::language::{Language, of_front_end};
use crate::operation::{Action, Operation};
use crate::phrasing;
use crate::replayed::Replayed;
pub use crate::scene::{Excerpt, Scene, SceneStep, SceneVariable};

/// The version of the JSON form. It grows when a field changes its meaning or disappears; a new
/// field alone does not change it.
pub const VERSION: u32 = 1;

/// Everything one call of the tool found out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Always `untorn-report`.
    pub format: String,
    pub version: u32,
    /// The tool that wrote it, with its version.
    pub tool: String,
    pub traces: Vec<TraceReport>,
    /// Violations and deadlocks, in the order of their discovery.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Ways in which runs failed that no violation explains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// What happened and is not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folded: Vec<FoldedFinding>,
    /// How they were looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckSummary>,
}

/// Why a finding is one, beyond its cycle, and how to see it again.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Why the block should be atomic: `declared`, `inferred`, `composed`.
    pub origin: String,
    /// The proof that no serial order gives these values, a sentence each; empty if there is none.
    pub values: Vec<String>,
    /// What a person would notice.
    pub effects: Vec<String>,
    /// Runs in which the block ran as a whole, and none of that showed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undone: u32,
    /// Those of the effects of which it could not be tested whether they show without the interruption.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untested: Vec<String>,
    /// How much it matters, from 1, which is most; 0 if nobody said.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rank: u32,
    /// Why, as a clause.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub matters: String,
    /// Other instances of the same block and variable that happened.
    pub alike: u32,
    /// The trace with its schedule, relative to the report.
    pub trace: String,
    /// The run that shows it, counted from 1.
    pub run: u32,
    /// The command that shows it again.
    pub replay: String,
    /// The inputs with which it happens, as in "arguments 10 5", if they are not those that the program was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inputs: String,
    /// Whether that was tried, and was the same run.
    #[serde(default)]
    pub replayed: Replayed,
    /// How long it took to find.
    pub milliseconds: u64,
    /// The interrupted block and its variables, by the names that `untorn verify` uses.
    #[serde(default)]
    pub block: String,
    /// The method that the block is, or is in; empty if it is the block itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub method: String,
    #[serde(default)]
    pub variable: String,
    /// Which of the accesses read and which write, a letter each.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// What makes findings of two checks of one program the same.
    #[serde(default, rename = "concern")]
    pub identity: String,
    /// The number of preemptions in the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<u64>,
    /// The calls that look like one step, if the block is composed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composition: Option<Composition>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Evidence {
    /// The method that the block is, or is in.
    pub fn method(&self) -> &str {
        if self.method.is_empty() { &self.block } else { &self.method }
    }
}

/// Calls that look like one step, and were interrupted.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Composition {
    /// The method that makes them: `com.acme.Cart.remove`.
    pub client: String,
    /// The object that they are made on: `this.items`.
    pub receiver: String,
    /// Why they look like one step, as text.
    pub why: String,
    /// The first call, the one that came between if it was a call, and the second.
    pub calls: Vec<CallMade>,
    /// Results that the calls do not give when no other thread comes between them, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surprise: Option<String>,
}

impl Composition {
    /// The two calls that look like one step.
    pub fn own(&self) -> Option<[&CallMade; 2]> {
        match self.calls.as_slice() {
            [first, .., last] => Some([first, last]),
            _ => None,
        }
    }

    /// The call that came between, if it was one.
    pub fn between(&self) -> Option<&CallMade> {
        self.calls.get(1).filter(|_| self.calls.len() > 2)
    }

    /// `Map.containsKey and Map.remove in Cart.remove are not one step`.
    pub fn headline(&self) -> Option<String> {
        let [first, last] = self.own()?.map(CallMade::short_name);
        let client = phrasing::call_name(&self.client);
        Some(match first == last {
            true => format!("two calls of {first} in {client} are not one step"),
            false => format!("{first} and {last} in {client} are not one step"),
        })
    }
}

/// A call that was made.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CallMade {
    pub thread: String,
    /// `java.util.Map.remove`
    pub api: String,
    /// `Cart.java:17`
    pub place: String,
    /// What it gave back, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl CallMade {
    /// `Map.remove`
    pub fn short_name(&self) -> &str {
        phrasing::call_name(&self.api)
    }

    /// `remove`
    pub fn method(&self) -> &str {
        self.api.rsplit('.').next().unwrap_or(&self.api)
    }
}

impl Report {
    pub fn new(tool: impl Into<String>, traces: Vec<TraceReport>) -> Self {
        Self {
            format: "untorn-report".to_owned(),
            version: VERSION,
            tool: tool.into(),
            traces,
            findings: Vec::new(),
            failures: Vec::new(),
            folded: Vec::new(),
            check: None,
        }
    }

    /// The findings of all traces, in order.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.traces.iter().flat_map(|trace| &trace.findings).chain(&self.findings)
    }
}

/// What was found in one trace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TraceReport {
    pub facts: TraceSummary,
    pub verdict: TraceVerdict,
    /// Each checker that ran, with its result.
    pub checkers: Vec<CheckerVerdict>,
    pub findings: Vec<Finding>,
    /// What may be wrong: never counted as a violation.
    pub alarms: Vec<Alarm>,
    pub notes: Vec<Note>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TraceSummary {
    /// The file, or `-` for standard input.
    pub file: String,
    pub events: u64,
    pub threads: u64,
    pub variables: u64,
    pub locks: u64,
    /// Executions of blocks, nested ones included.
    pub blocks: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceVerdict {
    Serializable,
    NotSerializable,
    /// No checker decided it.
    Undecided,
}

impl TraceVerdict {
    pub fn words(self) -> &'static str {
        match self {
            Self::Serializable => "serializable",
            Self::NotSerializable => "not serializable",
            Self::Undecided => "undecided",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckerVerdict {
    pub name: String,
    pub verdict: TraceVerdict,
    /// The event at which a violation was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// Alarms raised by checkers that do not decide.
    pub alarms: u64,
}

/// Something that may be a false alarm.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Alarm {
    pub checker: String,
    pub headline: String,
    /// The operations that raised it, in order.
    pub operations: Vec<Operation>,
    pub occurrences: u64,
}

/// What a reader of the report must know about its limits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Note {
    pub kind: NoteKind,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// The trace ends before its end marker.
    Cut,
    /// Malformed lines were passed over.
    Skipped,
    /// The trace breaks the rules of locks, threads or blocks, and was checked nevertheless.
    IllFormed,
    /// No block counted: the verdict means nothing.
    NothingToCheck,
    /// Events that conflict checkers cannot see.
    Invisible,
    /// The trace could be read only once, so that part of the picture is missing.
    NoContext,
    /// The reading stopped at the first violation.
    Partial,
}

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// An atomic block was interrupted.
    #[default]
    Torn,
    /// Threads wait for each other, or for something that never comes.
    Deadlock,
}

impl FindingKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_torn(&self) -> bool {
        *self == Self::Torn
    }
}

/// A cycle of transactions, with the blocks it refutes; or a cycle of threads that wait for each other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Counted from 1 through the whole report.
    pub number: u32,
    #[serde(default, skip_serializing_if = "FindingKind::is_torn")]
    pub kind: FindingKind,
    pub headline: String,
    pub badges: Vec<String>,
    /// The transaction whose operation closed the cycle comes first.
    pub transactions: Vec<Transaction>,
    /// In trace order: the operations of the edges, and those around them that help to understand.
    pub operations: Vec<Operation>,
    /// `edges[i]` leads from `transactions[i]` to the next one, the last edge to the first.
    pub edges: Vec<Edge>,
    /// How often the same blocks were refuted.
    pub occurrences: u64,
    /// The front end that recorded the trace, if that is known. It determines the language of the program.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub front_end: String,
    /// Of violations that a check found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// What happened around the interruption; absent if the trace was not read again for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene: Option<Scene>,
    /// The source around its operations, where it was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Excerpt>,
    /// Of a deadlock: what the threads outside of the cycle wait for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<SceneStep>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Transaction {
    pub thread: String,
    /// The outermost block and those nested in it that matter, in the order of their begin. Empty
    /// for an operation outside of every block.
    pub blocks: Vec<Block>,
    /// It cannot have run alone, whatever the other transactions do.
    pub blamed: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Block {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The position of its begin in the trace.
    pub begin: u64,
    /// Of its end; absent if the trace does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    /// How many blocks of the transaction are around it.
    pub depth: u32,
    /// This block cannot be atomic in this trace.
    pub refuted: bool,
}

/// Two operations that may not be swapped; indices into [`Finding::operations`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub why: EdgeKind,
    /// The edge in words.
    pub because: String,
    /// The edge that closed the cycle.
    pub closing: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    Variable,
    Lock,
    Fork,
    Join,
    ProgramOrder,
}

/// Where a blamed block is interrupted; indices into [`Finding::operations`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tear {
    /// The operation of the block after which another thread got in.
    pub root: usize,
    /// The operation of the block that came too late.
    pub target: usize,
    /// The operations of other transactions of the cycle in between.
    pub intruders: Vec<usize>,
}

impl Finding {
    /// Puts a finding together. `operations` are in trace order; `edges` name them by index, in the
    /// order of the cycle, without words and without the closing mark.
    ///
    /// # Panics
    /// If there is not one edge for each transaction, or an edge names an unknown operation.
    pub fn new(
        transactions: Vec<Transaction>,
        operations: Vec<Operation>,
        edges: Vec<(usize, usize, EdgeKind)>,
        occurrences: u64,
    ) -> Self {
        assert_eq!(transactions.len(), edges.len(), "one edge leads from each transaction");
        debug_assert!(operations.is_sorted_by_key(|op| op.at));
        let last = edges.len().saturating_sub(1);
        let edges = edges
            .into_iter()
            .enumerate()
            .map(|(i, (from, to, why))| Edge {
                from,
                to,
                why,
                because: phrasing::because(&operations[from], &operations[to], why),
                closing: i == last,
            })
            .collect();
        let mut finding = Self {
            number: 1,
            kind: FindingKind::Torn,
            headline: String::new(),
            badges: Vec::new(),
            transactions,
            operations,
            edges,
            occurrences,
            front_end: String::new(),
            evidence: None,
            scene: None,
            sources: Vec::new(),
            waiting: Vec::new(),
        };
        finding.headline = phrasing::headline(&finding);
        finding.badges = finding.find_badges();
        finding
    }

    /// Threads that wait for each other. The transactions are the threads, in the order of the cycle; an edge leads
    /// from the request of a lock to the acquire by which the next thread got it. Without a cycle
    /// all threads are among those that wait.
    ///
    /// # Panics
    /// As [`Finding::new`].
    pub fn deadlock(
        transactions: Vec<Transaction>,
        operations: Vec<Operation>,
        edges: Vec<(usize, usize)>,
        waiting: Vec<SceneStep>,
    ) -> Self {
        let edges = edges.into_iter().map(|(from, to)| (from, to, EdgeKind::Lock)).collect();
        let mut finding = Self::new(transactions, operations, edges, 1);
        finding.kind = FindingKind::Deadlock;
        finding.waiting = waiting;
        for edge in &mut finding.edges {
            // No operation of a deadlock closed the cycle.
            edge.closing = false;
        }
        finding.headline = phrasing::headline(&finding);
        finding.badges = vec!["deadlock".to_owned()];
        finding
    }

    /// The language of the program.
    pub fn language(&self) -> &'static dyn Language {
        of_front_end(&self.front_end)
    }

    pub fn is_deadlock(&self) -> bool {
        self.kind == FindingKind::Deadlock
    }

    /// The refuted blocks, outermost first.
    pub fn refuted(&self) -> impl Iterator<Item = &Block> {
        self.transactions.iter().flat_map(|t| &t.blocks).filter(|block| block.refuted)
    }

    /// The transaction that is blamed, if one is.
    pub fn blamed(&self) -> Option<&Transaction> {
        self.transactions.iter().find(|transaction| transaction.blamed)
    }

    /// Where the blamed transaction is interrupted. The first transaction closed the cycle, so its part
    /// begins with the first edge and ends with the last.
    pub fn tear(&self) -> Option<Tear> {
        let first = self.transactions.first().filter(|transaction| transaction.blamed)?;
        let (root, target) = (self.edges.first()?.from, self.edges.last()?.to);
        let intruders = (root + 1..target)
            .filter(|&i| self.operations[i].thread != first.thread && self.is_on_edge(i))
            .collect();
        Some(Tear { root, target, intruders })
    }

    /// Whether an edge of the cycle starts or ends at the operation.
    pub fn is_on_edge(&self, operation: usize) -> bool {
        self.edges.iter().any(|edge| edge.from == operation || edge.to == operation)
    }

    fn find_badges(&self) -> Vec<String> {
        let mut badges = vec!["conflict cycle".to_owned()];
        badges.extend(self.pattern());
        if self.blamed().is_none() {
            badges.push("nobody to blame".to_owned());
        }
        badges
    }

    /// The three accesses of one variable that make the shortest kind of violation, such as `RWW`.
    fn pattern(&self) -> Option<String> {
        let tear = self.tear()?;
        let [first, second] = self.edges.as_slice() else { return None };
        if first.to != second.from
            || first.why != EdgeKind::Variable
            || second.why != EdgeKind::Variable
        {
            return None;
        }
        [tear.root, first.to, tear.target]
            .into_iter()
            .map(|i| match self.operations[i].action {
                Action::Read => Some('R'),
                Action::Write => Some('W'),
                _ => None,
            })
            .collect()
    }
}
