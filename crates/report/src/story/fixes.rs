//! What to do about it. Each hint follows from something in the finding: which locks were held, what
//! kind of variable it is, which line declares the method. Advice that does not apply is left out.

use serde::Serialize;
use untorn_trace::tables::convention::{self, simple_class};

use super::{StoryInput, short_variable, split_block};
use crate::language::{Language, Phrase, Problem};
use crate::model::SceneStep;
use crate::operation::Action;
use crate::text::ellipsis;

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Fix {
    pub title: String,
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
}

impl Fix {
    pub(crate) fn new(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { title: title.into(), text: text.into(), removed: Vec::new(), added: Vec::new() }
    }

    pub(crate) fn with(mut self, removed: &[String], added: &[String]) -> Self {
        self.removed = removed.to_vec();
        self.added = added.to_vec();
        self
    }
}

pub fn fixes(plot: &StoryInput<'_>) -> Vec<Fix> {
    if let Some(calls) = super::composition::find(plot) {
        return calls.fixes(plot);
    }
    if let Some(pair) = plot.pair() {
        return pair.fixes(plot);
    }
    let Some(scheme) = Scheme::new(plot) else { return of_cycle(plot) };
    let mut out = vec![scheme.lock()];
    let language = plot.finding.language();
    out.extend(language.fix(&Problem::LibraryClass { class: simple_class(&scheme.owner) }));
    out.extend(scheme.single_step(language));
    out.push(scheme.not_enough(language));
    out
}

/// A cycle that is no pattern of three accesses.
fn of_cycle(plot: &StoryInput<'_>) -> Vec<Fix> {
    let Some(block) = plot.finding.refuted().next() else { return Vec::new() };
    let method = split_block(&block.name).1;
    let mut targets: Vec<&str> = Vec::new();
    for edge in &plot.finding.edges {
        let name = short_variable(&plot.finding.operations[edge.from].target);
        if !targets.contains(&name) {
            targets.push(name);
        }
    }
    vec![Fix::new(
        format!("Hold one lock through all of {}", ellipsis(method, 40)),
        format!(
            "The others got in between uses of {}. A lock that is taken before the first and given back after \
             the last of them, and that the other threads take, too, closes the gap.",
            crate::phrasing::list(&targets, 3)
        ),
    )]
}

/// What is known of the three accesses.
struct Scheme<'a> {
    x: String,
    owner: String,
    /// The block is a method of the object that has the variable: its monitor is the lock in question, and
    /// its author may change how the variable is accessed.
    owns: bool,
    method: String,
    declaration: Option<Change>,
    torn: String,
    other: String,
    pattern: String,
    /// Locks of the interrupted thread at its first and last access, and of the other thread.
    held: [Vec<String>; 3],
    known: bool,
    /// A lock that is held at both accesses of the interrupted thread, but not in between.
    apart: Option<String>,
    first_value: Option<&'a str>,
    /// The block read the variable again before it wrote.
    is_stale: bool,
    full: &'a str,
    manner: Option<&'a str>,
}

impl<'a> Scheme<'a> {
    fn new(plot: &StoryInput<'a>) -> Option<Self> {
        let three = plot.three()?;
        let [first, second, _] = three;
        let block = plot.finding.refuted().next()?;
        let steps: &'a [SceneStep] = plot.finding.scene.as_ref().map_or(&[], |scene| &scene.steps);
        let held = three.map(|op| {
            let step = steps.iter().find(|step| step.operation.at == op.at);
            step.map_or_else(Vec::new, |step| step.holds.clone())
        });
        // The other thread held it, too, in between: so it was free.
        let apart = held[0].iter().find(|lock| held[2].contains(lock) && held[1].contains(lock));
        let apart = apart.cloned();
        let owner = convention::owner(&first.target).unwrap_or("");
        let method = split_block(&block.name).1;
        Some(Self {
            x: ellipsis(short_variable(&first.target), 40),
            owns: simple_class(owner) == simple_class(split_block(&block.name).0),
            owner: owner.to_owned(),
            method: ellipsis(method, 40),
            declaration: declaration(plot, method),
            torn: ellipsis(&first.thread, 40),
            other: ellipsis(&second.thread, 40),
            pattern: plot.pattern.clone(),
            held,
            known: !steps.is_empty(),
            apart,
            first_value: first.value.as_deref(),
            is_stale: plot.stale_check().is_some(),
            full: &first.target,
            manner: first.manner.as_deref(),
        })
    }

    /// The first and the third access, in words.
    fn pair(&self) -> &'static str {
        match self.pattern.as_str() {
            _ if self.is_stale => "the check and the write",
            "RWW" => "the read and the write",
            "RWR" => "both reads",
            "WWR" => "the write and the read",
            _ => "both writes",
        }
    }

    fn lock(&self) -> Fix {
        let (x, method) = (&self.x, &self.method);
        if let Some(lock) = &self.apart {
            let fix = Fix::new(
                format!("Hold {lock} across {}", self.pair()),
                format!(
                    "Each access of {x} is locked, but {lock} is free between them: that is when {} got in. Holding \
                     it through all of {method} closes the gap.",
                    self.other
                ),
            );
            return self.locked(fix, lock);
        }
        let torn_lock = self.held[0].iter().find(|lock| self.held[2].contains(lock));
        if let Some(lock) = torn_lock {
            return Fix::new(
                format!("Make {} take {lock}, too", self.other),
                format!(
                    "{} holds {lock} at both accesses, but {} reaches {x} without it, so the lock does not help.",
                    self.torn, self.other
                ),
            );
        }
        let text = if self.known {
            format!(
                "No lock is held across {} of {x}. One lock around all of {method}, and around every other \
                 access of {x}, keeps {} out.",
                self.pair(),
                self.other
            )
        } else {
            format!(
                "One lock around all of {method}, and around every other access of {x}, keeps {} out.",
                self.other
            )
        };
        let fix = Fix::new(format!("Put {} under one lock", self.pair()), text);
        self.locked(fix, &self.owner)
    }

    /// The declaration with its lock, where that is the lock in question.
    fn locked(&self, fix: Fix, lock: &str) -> Fix {
        match &self.declaration {
            Some(change) if lock == self.owner && self.owns => change.apply(fix),
            _ => fix,
        }
    }

    fn single_step(&self, language: &dyn Language) -> Option<Fix> {
        if !self.owns && self.owner.contains('#') {
            return None;
        }
        if self.is_stale {
            let (variable, value) = (self.x.as_str(), self.first_value);
            return language.fix(&Problem::StaleCheck { variable, value });
        }
        language.fix(&Problem::OneVariable {
            pattern: &self.pattern,
            variable: &self.x,
            value: self.first_value,
            method: &self.method,
            other_thread: &self.other,
        })
    }

    fn not_enough(&self, language: &dyn Language) -> Fix {
        let x = &self.x;
        if self.manner == Some("volatile") {
            return Fix::new(
                format!("Not enough: that {x} is volatile"),
                "It is, and it made each single access visible at once; the block was torn all the same.",
            );
        }
        if self.apart.is_some() {
            return Fix::new(
                format!("Not enough: a lock around each access of {x}"),
                format!(
                    "That is how it is now. There is no data race, and still {} fits in between.",
                    self.other
                ),
            );
        }
        let action = if self.pattern == "RWR" { "reads" } else { "accesses" };
        Fix::new(
            format!("Not enough: making {x} {}", language.phrase(Phrase::VisibleAtOnce)),
            format!(
                "The two {action} stay two steps, so the block can still be torn ({} in between).",
                self.full_action()
            ),
        )
    }

    fn full_action(&self) -> String {
        let verb = match self.pattern.chars().nth(1) {
            Some('R') => Action::Read.verb(),
            _ => Action::Write.verb(),
        };
        format!("a {verb} of {}", ellipsis(self.full, 60))
    }
}

/// A line of the source, and what to make of it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Change {
    removed: String,
    added: String,
}

impl Change {
    fn apply(&self, fix: Fix) -> Fix {
        fix.with(std::slice::from_ref(&self.removed), std::slice::from_ref(&self.added))
    }
}

/// Adds to a fix the declaration of the method with its lock, where the source shows it.
pub(super) fn with_declaration(fix: Fix, plot: &StoryInput<'_>, method: &str) -> Fix {
    match declaration(plot, method) {
        Some(change) => change.apply(fix),
        None => fix,
    }
}

/// The declaration of the method with its lock, if exactly one line in the excerpts looks like it.
fn declaration(plot: &StoryInput<'_>, method: &str) -> Option<Change> {
    if method.is_empty() {
        return None;
    }
    let language = plot.finding.language();
    let lines = plot.finding.sources.iter().flat_map(|excerpt| &excerpt.lines);
    let mut changes: Vec<Change> = lines
        .filter_map(|line| {
            let added = language.locked_declaration(line, method)?;
            Some(Change { removed: line.clone(), added })
        })
        .collect();
    changes.dedup();
    if changes.len() == 1 { changes.pop() } else { None }
}
