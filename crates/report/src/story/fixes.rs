//! What to do about it. Each hint follows from something in the finding: which locks were held, what
//! kind of variable it is, which line declares the method. What does not apply is not said.

use serde::Serialize;

use super::{Plot, short_variable, split_block};
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
    pub(super) fn new(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { title: title.into(), text: text.into(), removed: Vec::new(), added: Vec::new() }
    }

    pub(super) fn with(mut self, removed: &[String], added: &[String]) -> Self {
        self.removed = removed.to_vec();
        self.added = added.to_vec();
        self
    }
}

pub fn fixes(plot: &Plot<'_>) -> Vec<Fix> {
    if let Some(calls) = super::composition::find(plot) {
        return calls.fixes();
    }
    if let Some(pair) = plot.pair() {
        return pair.fixes(plot);
    }
    let Some(scheme) = Scheme::new(plot) else { return of_cycle(plot) };
    let mut out = vec![scheme.lock()];
    out.extend(of_collection(simple_class(&scheme.owner)));
    out.extend(scheme.single_step());
    out.push(scheme.not_enough());
    out
}

/// A cycle that is no pattern of three accesses.
fn of_cycle(plot: &Plot<'_>) -> Vec<Fix> {
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
            crate::words::list(&targets, 3)
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
    declaration: Option<String>,
    torn: String,
    other: String,
    pattern: String,
    /// Locks of the torn thread at its first and last access, and of the intruder.
    held: [Vec<String>; 3],
    known: bool,
    /// A lock that both accesses of the torn thread hold, but not in between.
    apart: Option<String>,
    first_value: Option<&'a str>,
    full: &'a str,
    manner: Option<&'a str>,
}

impl<'a> Scheme<'a> {
    fn new(plot: &Plot<'a>) -> Option<Self> {
        let three = plot.three()?;
        let [first, second, _] = three;
        let block = plot.finding.refuted().next()?;
        let steps: &'a [SceneStep] = plot.finding.scene.as_ref().map_or(&[], |scene| &scene.steps);
        let held = three.map(|op| {
            let step = steps.iter().find(|step| step.operation.at == op.at);
            step.map_or_else(Vec::new, |step| step.holds.clone())
        });
        // The intruder held it, too, while the torn thread was away: so it was free.
        let apart = held[0].iter().find(|lock| held[2].contains(lock) && held[1].contains(lock));
        let apart = apart.cloned();
        let (owner, _) = first.target.rsplit_once('.').unwrap_or(("", ""));
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
            full: &first.target,
            manner: first.manner.as_deref(),
        })
    }

    /// The first and the third access, in words.
    fn pair(&self) -> &'static str {
        match self.pattern.as_str() {
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
            return self.synchronized(fix, lock);
        }
        let torn_lock = self.held[0].iter().find(|lock| self.held[2].contains(lock));
        if let Some(lock) = torn_lock {
            return Fix::new(
                format!("Make {} take {lock}, too", self.other),
                format!(
                    "{} holds {lock} at both accesses, but {} reaches {x} without it, so the lock keeps nobody out.",
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
        self.synchronized(fix, &self.owner)
    }

    /// The declaration with `synchronized`, where that means the lock in question.
    fn synchronized(&self, fix: Fix, lock: &str) -> Fix {
        match &self.declaration {
            Some(line) if lock == self.owner && self.owns => synchronized(fix, line),
            _ => fix,
        }
    }

    fn single_step(&self) -> Option<Fix> {
        if !self.owns && self.owner.contains('#') {
            return None;
        }
        let x = &self.x;
        let only = format!("Enough if {x} is the only state involved.");
        let is_number = self.first_value.is_some_and(|value| value.parse::<f64>().is_ok());
        let is_reference =
            self.first_value.is_some_and(|value| value == "null" || value.starts_with('#'));
        match self.pattern.as_str() {
            "RWW" if self.first_value == Some("null") => Some(
                Fix::new(
                    "Or set it once, in one step",
                    format!("compareAndSet stores only if {x} is still null. {only}"),
                )
                .with(&[], &[format!("{x}.compareAndSet(null, made);  // AtomicReference")]),
            ),
            "RWW" if is_number => Some(Fix::new("Or make it one atomic update", only).with(
                &[],
                &[format!("{x}.updateAndGet(old -> …);  // AtomicInteger or AtomicLong")],
            )),
            "RWW" if is_reference => Some(Fix::new(
                "Or make it one atomic update",
                format!("An AtomicReference with compareAndSet in a loop. {only}"),
            )),
            "RWR" => Some(Fix::new(
                format!("Or read {x} once"),
                format!(
                    "Copy it into a local variable and use the copy: {} cannot change that. {only}",
                    self.other
                ),
            )),
            "WWR" => Some(Fix::new(
                "Or keep the value in a local variable",
                format!(
                    "{} reads back what it has just written; a local copy needs no second access of {x}.",
                    self.method
                ),
            )),
            "WRW" | "WWW" => Some(Fix::new(
                format!("Or write {x} once, at the end"),
                format!(
                    "Compute the result in a local variable and publish it in one write: there is nothing in between to see. {only}"
                ),
            )),
            _ => None,
        }
    }

    fn not_enough(&self) -> Fix {
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
            format!("Not enough: making {x} volatile"),
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

/// Collections of the JDK have methods that do both steps at once.
pub(super) fn of_collection(class: &str) -> Option<Fix> {
    let (title, text) = match class {
        "Vector" | "Stack" | "ArrayList" | "LinkedList" | "ArrayDeque" => (
            format!("Lock the {class} itself around both calls"),
            "Its methods lock one call each, not two of them together. Code that asks and then acts must hold \
                 the same monitor: synchronized (list) { … } around both."
                .to_owned(),
        ),
        "HashMap" | "Hashtable" | "ConcurrentHashMap" | "TreeMap" | "LinkedHashMap" => (
            "Use one call that does both".to_owned(),
            "On a ConcurrentHashMap, putIfAbsent, computeIfAbsent, merge and replace(key, old, new) check and act in \
             one step."
                .to_owned(),
        ),
        "StringBuffer" | "StringBuilder" | "AbstractStringBuilder" => (
            "Or do not share the buffer".to_owned(),
            "Build the text in one thread and hand over the finished String; or hold the monitor of both buffers \
             for the whole call."
                .to_owned(),
        ),
        _ => return None,
    };
    Some(Fix::new(title, text))
}

/// The declaration with `synchronized` in front of its type.
fn synchronized(fix: Fix, line: &String) -> Fix {
    let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
    let words = ["public", "protected", "private", "static", "final"];
    let mut at = 0;
    for word in rest.split_inclusive(' ') {
        if !words.contains(&word.trim()) {
            break;
        }
        at += word.len();
    }
    let added = format!("{indent}{}synchronized {}", &rest[..at], &rest[at..]);
    fix.with(std::slice::from_ref(line), &[added])
}

/// The same for a method of which only the name is known.
pub(super) fn declared_synchronized(fix: Fix, plot: &Plot<'_>, method: &str) -> Fix {
    match declaration(plot, method) {
        Some(line) => synchronized(fix, &line),
        None => fix,
    }
}

/// `Account` of `com.acme.Account#1`.
pub(super) fn simple_class(name: &str) -> &str {
    let class = name.split('#').next().unwrap_or("");
    class.rsplit(['.', '$']).next().unwrap_or(class)
}

/// The line that declares the method, if exactly one in the excerpts looks like it.
fn declaration(plot: &Plot<'_>, method: &str) -> Option<String> {
    if method.is_empty() {
        return None;
    }
    let start = format!(" {method}(");
    let is_it = |line: &&String| {
        let text = line.trim();
        text.ends_with('{')
            && text.contains(&start)
            && !text.contains("synchronized")
            && !["=", "return ", "new ", "->", "//", "if ("].iter().any(|not| text.contains(not))
    };
    let mut lines: Vec<&String> =
        plot.finding.sources.iter().flat_map(|excerpt| &excerpt.lines).filter(is_it).collect();
    lines.dedup();
    match lines.as_slice() {
        [only] => Some((*only).clone()),
        _ => None,
    }
}
