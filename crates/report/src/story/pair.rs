//! Two variables that belong together: one thread accesses both, another one gets in between. Each conflict alone is
//! harmless; together they leave no serial order.
//!
//! The four accesses have roles. The interrupted block accesses the first variable before the other thread does, and
//! the
//! second one after it. When the other thread accesses the second is not part of the pattern.

mod sentences;

use super::fixes::{Fix, with_declaration};
use super::{Link, Node, Row, StoryInput, headline, short_value, short_variable, split_block};
use crate::claim;
use crate::language::{Phrase, Problem};
use crate::model::{Edge, EdgeKind, Finding};
use crate::operation::{Action, Operation};
use crate::text::ellipsis;
use untorn_trace::tables::convention::{self, simple_class};

/// The accesses: torn first, other first, other second, torn second. The two in front share a variable, and so do the
/// last two.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    pub at: [usize; 4],
    torn: [&'a Operation; 2],
    other: [&'a Operation; 2],
}

/// A finding of this kind: two conflicts, one in each direction, on two variables.
pub fn find(finding: &Finding) -> Option<Pair<'_>> {
    let conflicts: Vec<&Edge> =
        finding.edges.iter().filter(|edge| edge.why != EdgeKind::ProgramOrder).collect();
    let [first, second] = conflicts.as_slice() else { return None };
    let is_blamed = finding.transactions.first().is_some_and(|own| own.blamed);
    let of = |index: usize| &finding.operations[index];
    let at = [first.from, first.to, second.from, second.to];
    let [a1, b1, b2, a2] = at.map(of);
    let fits = first.why == EdgeKind::Variable
        && second.why == EdgeKind::Variable
        && (a1.transaction, a2.transaction) == (Some(0), Some(0))
        && b1.thread == b2.thread
        && a1.thread != b1.thread
        && a1.target == b1.target
        && a2.target == b2.target
        && a1.target != a2.target;
    (fits && is_blamed).then_some(Pair { at, torn: [a1, a2], other: [b1, b2] })
}

fn letter(operation: &Operation) -> char {
    if operation.action == Action::Write { 'W' } else { 'R' }
}

/// ` (70)`, if it is known and short.
fn aside(operation: &Operation) -> String {
    let short = operation.value.as_ref().filter(|value| value.chars().count() <= 12);
    short.map_or_else(String::new, |value| format!(" ({value})"))
}

fn value(operation: &Operation) -> String {
    short_value(operation.value.as_deref()).unwrap_or_else(|| "a value".to_owned())
}

impl Pair<'_> {
    pub fn letters(&self) -> String {
        let [a1, a2] = self.torn;
        let [b1, b2] = self.other;
        [a1, b1, b2, a2].map(letter).iter().collect()
    }

    fn names(&self) -> [String; 2] {
        let names = self.torn.map(|operation| ellipsis(short_variable(&operation.target), 30));
        // The same field of two objects: then it matters which.
        let full = || self.torn.map(|operation| ellipsis(&operation.target, 40));
        if names[0] == names[1] { full() } else { names }
    }

    fn threads(&self) -> [String; 2] {
        [self.torn[0], self.other[0]].map(|operation| ellipsis(&operation.thread, 40))
    }

    pub fn kind(&self) -> &'static str {
        name_of(&self.letters())
    }

    /// What a serial order would give.
    pub fn serial(&self) -> String {
        let [a, b] = self.threads();
        match self.letters().as_str() {
            "WRRW" => format!("Run one after the other, {b} sees both old values or both new ones."),
            "RWWR" => {
                format!("Run one after the other, {a} sees both values from before, or both from after.")
            }
            "RWRW" => "Run one after the other, the second sees what the first one changed, and decides anew.".to_owned(),
            "WRWR" => "Run one after the other, the first one sees nothing of the second.".to_owned(),
            "WWWW" => "Run one after the other, both values come from the same thread.".to_owned(),
            _ => "No serial order of these blocks gives the values that were seen.".to_owned(),
        }
    }

    pub fn gist(&self) -> String {
        let ([x, y], [a, b]) = (self.names(), self.threads());
        format!("{x} and {y}: {a} and {b}")
    }

    /// The two parties; single accesses of the other thread are one of them.
    pub fn nodes(&self, plot: &StoryInput<'_>) -> Vec<Node> {
        let block = |operation: &Operation| {
            let own = plot.finding.transactions.get(operation.transaction?)?;
            own.blocks.first().map(|block| split_block(&block.name).1.to_owned())
        };
        let node = |accesses: [&Operation; 2]| {
            let mut blocks: Vec<String> = accesses.into_iter().filter_map(block).collect();
            blocks.dedup();
            let thread = &accesses[0].thread;
            let lane = plot.lane(thread).unwrap_or(0);
            Node { name: thread.clone(), block: blocks.join(", "), lane }
        };
        vec![node(self.torn), node(self.other)]
    }

    pub fn links(&self, rows: &[Row]) -> Vec<Link> {
        let row = |operation: &Operation| rows.iter().position(|row| row.at == Some(operation.at));
        let link = |from: &Operation, to: &Operation| Link {
            kind: format!("{} → {}", from.action.verb(), to.action.verb()),
            because: format!(
                "{} {} {}{} before {} {} it",
                from.thread,
                from.action.past(),
                ellipsis(short_variable(&from.target), 30),
                aside(from),
                to.thread,
                to.action.past()
            ),
            rows: row(from).zip(row(to)).map(|(a, b)| [a, b]),
            claims: vec![claim::ordered(from, to)],
        };
        vec![link(self.torn[0], self.other[0]), link(self.other[1], self.torn[1])]
    }

    pub fn fixes(&self, plot: &StoryInput<'_>) -> Vec<Fix> {
        let mut out = vec![self.lock(plot)];
        let owner = convention::owner(&self.torn[0].target).unwrap_or("");
        let language = plot.finding.language();
        out.extend(language.fix(&Problem::LibraryClass { class: simple_class(owner) }));
        let [x, y] = self.names();
        if !owner.is_empty() && out.len() == 1 && !x.contains('[') {
            let (pattern, variables) = (self.letters(), [x.as_str(), y.as_str()]);
            out.extend(language.fix(&Problem::TwoVariables { pattern: &pattern, variables }));
        }
        out.push(Fix::new(
            format!(
                "Not enough: making {x} and {y} {}, or a lock around each",
                language.phrase(Phrase::VisibleAtOnce)
            ),
            "Each single access was whole and seen at once. It is the pair that was torn."
                .to_owned(),
        ));
        out
    }

    fn lock(&self, plot: &StoryInput<'_>) -> Fix {
        let ([x, y], [a, b]) = (self.names(), self.threads());
        let steps = plot.finding.scene.iter().flat_map(|scene| &scene.steps);
        let steps: Vec<_> = steps.collect();
        let held = |operation: &Operation| {
            let step = steps.iter().find(|step| step.operation.at == operation.at);
            step.map_or_else(Vec::new, |step| step.holds.clone())
        };
        let common = |[one, two]: [&Operation; 2]| -> Vec<String> {
            let second = held(two);
            held(one).into_iter().filter(|lock| second.contains(lock)).collect()
        };
        let (torn, other) = (common(self.torn), common(self.other));
        let block = plot.finding.refuted().next().map_or("", |block| &block.name);
        let (class, method) = split_block(block);
        let method = ellipsis(method, 40);
        if let Some(lock) = torn.iter().find(|lock| other.contains(lock)) {
            return Fix::new(
                format!("Hold {lock} across both"),
                format!(
                    "{x} and {y} are each accessed under {lock}, but it is free in between: that is when {b} got in. \
                     Holding it through all of {method} closes the gap."
                ),
            );
        }
        if let Some(lock) = torn.first() {
            return Fix::new(
                format!("Make {b} take {lock}, too"),
                format!(
                    "{a} holds {lock} for both accesses, but {b} reaches {x} and {y} without it, so the lock does not help."
                ),
            );
        }
        let owner = convention::owner(&self.torn[0].target).unwrap_or("");
        let fix = Fix::new(
            format!("Put {x} and {y} under one lock"),
            format!(
                "They belong together, so one lock must be held from the first access to the last: in {method}, and \
                 where {b} accesses them. A lock for each would not do."
            ),
        );
        match simple_class(owner) == simple_class(class) {
            true => with_declaration(fix, plot, &method),
            false => fix,
        }
    }
}

/// The name of a pattern of four accesses.
pub fn name_of(letters: &str) -> &'static str {
    match letters {
        "WRRW" => "Half-done change seen",
        "RWWR" => "Old and new mixed",
        "RWRW" => "Write skew",
        "WRWR" => "Each saw the other",
        "WWWW" => "Mixed writes of two",
        letters if letters.len() == 4 => "Torn pair",
        _ => "Conflict cycle",
    }
}

/// The first line of a story: what a person would notice, then what a serial order gives.
pub fn dek(plot: &StoryInput<'_>, pair: &Pair<'_>) -> String {
    let evidence = plot.finding.evidence.as_ref();
    let effects = evidence.map_or(&[][..], |evidence| &evidence.effects);
    let mut text: Vec<String> =
        effects.iter().take(2).map(|effect| headline::as_sentence(effect)).collect();
    text.push(pair.serial());
    text.join(" ")
}
