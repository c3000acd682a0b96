//! The sentences of a finding. Every renderer uses these, so that all of them have the same text.

use std::collections::HashSet;

use crate::model::{EdgeKind, Finding, Transaction};
use crate::operation::{Action, Operation};

/// `Set.add is not atomic`.
pub fn headline(finding: &Finding) -> String {
    if finding.is_deadlock() {
        return deadlock(finding);
    }
    let refuted: Vec<&str> = finding.refuted().map(|block| block.name.as_str()).collect();
    match unique(&refuted).as_slice() {
        [] => together(finding),
        [one] => format!("{one} is not atomic"),
        many => format!("{} are not atomic", list(many, 3)),
    }
}

/// `Alice and Bob wait for each other`.
fn deadlock(finding: &Finding) -> String {
    let names: Vec<&str> = finding.transactions.iter().map(|own| own.thread.as_str()).collect();
    match names.as_slice() {
        [] => "no thread can continue".to_owned(),
        [a, b] => format!("{a} and {b} wait for each other"),
        many => format!("{} wait for each other in a circle", list(many, 4)),
    }
}

fn together(finding: &Finding) -> String {
    let outermost = finding.transactions.iter().filter_map(|t| t.blocks.first());
    let names: Vec<&str> = outermost.map(|block| block.name.as_str()).collect();
    match unique(&names).as_slice() {
        [] => "operations form a cycle".to_owned(),
        [one] => format!("runs of {one} are not atomic together"),
        many => format!("{} are not atomic together", list(many, 3)),
    }
}

/// `a, b and c`; more than `most` names end in `and 2 more`.
pub fn list<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let shown = if names.len() > most { most.max(2) - 1 } else { names.len() };
    let mut parts: Vec<&str> = names[..shown].iter().map(AsRef::as_ref).collect();
    let rest = format!("{} more", names.len() - shown);
    if shown < names.len() {
        parts.push(&rest);
    }
    match parts.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

/// Why the first operation must stay before the second: `T1 released m before T2 acquired it`.
pub fn because(from: &Operation, to: &Operation, why: EdgeKind) -> String {
    match why {
        EdgeKind::Lock if from.action == Action::Request => {
            format!("{} waits for {}, which {} holds", from.thread, from.target, to.thread)
        }
        EdgeKind::Variable | EdgeKind::Lock if from.target == to.target => format!(
            "{} {} {} before {} {} it",
            from.thread,
            from.action.past(),
            from.target,
            subject(from, to),
            to.action.past()
        ),
        EdgeKind::Variable | EdgeKind::Lock | EdgeKind::ProgramOrder => format!(
            "{} {} {} before {} {} {}",
            from.thread,
            from.action.past(),
            from.target,
            subject(from, to),
            to.action.past(),
            to.target
        ),
        EdgeKind::Fork => format!("{} started {}", from.thread, to.thread),
        EdgeKind::Join => format!("{} waited for {} to end", to.thread, from.thread),
    }
}

fn subject<'a>(from: &Operation, to: &'a Operation) -> &'a str {
    if from.thread == to.thread { "it" } else { &to.thread }
}

/// What to call transaction `index` of the cycle: `Set.add of T1`, `the write of x by T2`.
pub fn transaction(finding: &Finding, index: usize) -> String {
    let own = &finding.transactions[index];
    let name = bare_transaction(finding, index);
    let alike = (0..finding.transactions.len())
        .any(|other| other != index && bare_transaction(finding, other) == name);
    match start(finding, index).filter(|_| alike) {
        Some(at) if !own.blocks.is_empty() => format!("{name} (begun at event {at})"),
        Some(at) => format!("{name} (event {at})"),
        None => name,
    }
}

fn bare_transaction(finding: &Finding, index: usize) -> String {
    let Transaction { thread, blocks, .. } = &finding.transactions[index];
    if let Some(block) = blocks.first() {
        return format!("{} of {thread}", block.name);
    }
    // A lone operation both receives and sends an edge.
    let edge = &finding.edges[index];
    let operation = &finding.operations[edge.from];
    match operation.action {
        Action::Read | Action::Write => {
            format!("the {} of {} by {thread}", operation.action.verb(), operation.target)
        }
        action => format!("the {} {} by {thread}", action.verb(), operation.target),
    }
}

fn start(finding: &Finding, index: usize) -> Option<u64> {
    let block = finding.transactions[index].blocks.first().map(|block| block.begin);
    block.or_else(|| finding.edges.get(index).map(|edge| finding.operations[edge.from].at))
}

/// The cycle as one sentence that ends in the contradiction.
pub fn cycle(finding: &Finding) -> String {
    let count = finding.transactions.len();
    let name = |i: usize| transaction(finding, i % count);
    let edges = &finding.edges;
    if let [first, second] = edges.as_slice() {
        return format!(
            "{} must run before {}, because {}; and after it, because {}: no serial order.",
            name(0),
            name(1),
            first.because,
            second.because
        );
    }
    let mut text = String::new();
    for (i, edge) in edges.iter().enumerate() {
        let link = match i {
            0 => format!("{} must run before {}", name(i), name(i + 1)),
            _ if edge.closing => format!("; and {} before {}", name(i), name(i + 1)),
            _ => format!("; {} before {}", name(i), name(i + 1)),
        };
        text.push_str(&format!("{link}, because {}", edge.because));
    }
    text + ": no serial order."
}

/// What the headline leaves open: which nested blocks are not refuted, or that nobody is to blame.
pub fn blame(finding: &Finding) -> Option<String> {
    let Some(blamed) = finding.blamed() else {
        let text = "No block can be blamed: each of these transactions could have run alone, \
                    but not all of them together.";
        return Some(text.to_owned());
    };
    let refuted: Vec<&str> = finding.refuted().map(|block| block.name.as_str()).collect();
    let kept: Vec<&str> =
        blamed.blocks.iter().filter(|b| !b.refuted).map(|block| block.name.as_str()).collect();
    let text = format!("Refuted: {}. Not refuted: ", list(&unique(&refuted), 6));
    (!kept.is_empty()).then(|| format!("{text}{}, nested inside.", list(&unique(&kept), 6)))
}

/// Each once, in their order. There may be as many as blocks can be nested.
fn unique<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut known = HashSet::new();
    names.iter().copied().filter(|name| known.insert(*name)).collect()
}

/// `once`, `twice`, `5 times`.
pub fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{} times", number(n)),
    }
}

/// A number with thin groups of three, as in `1 234 567`.
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// `Map.remove` of `java.util.Map.remove`.
pub fn call_name(name: &str) -> &str {
    let mut dots = name.rmatch_indices('.').map(|(at, _)| at);
    dots.nth(1).map_or(name, |at| &name[at + 1..])
}

/// `1 event`, `2 events`.
pub fn count(value: u64, noun: &str) -> String {
    let plural = match (value, noun.ends_with("ss")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {noun}{plural}", number(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_like_sentences() {
        assert_eq!(list::<&str>(&[], 3), "");
        assert_eq!(list(&["a"], 3), "a");
        assert_eq!(list(&["a", "b"], 3), "a and b");
        assert_eq!(list(&["a", "b", "c"], 3), "a, b and c");
        assert_eq!(list(&["a", "b", "c", "d"], 3), "a, b and 2 more");
    }

    #[test]
    fn numbers_are_grouped_from_five_digits() {
        assert_eq!(number(1234), "1234");
        assert_eq!(number(12345), "12 345");
        assert_eq!(number(1_234_567), "1 234 567");
        assert_eq!(count(1, "event"), "1 event");
        assert_eq!(count(20_000, "event"), "20 000 events");
    }
}
