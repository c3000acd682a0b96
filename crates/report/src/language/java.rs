//! Java, and what else runs on a JVM.

use super::{Language, Phrase, Problem};
use crate::story::Fix;

#[derive(Debug)]
pub struct Java;

impl Language for Java {
    /// What is more than a name means another object each time.
    fn lock_name(&self, line: &str) -> Option<String> {
        let (_, after) = line.split_once("synchronized")?;
        let (inside, _) = after.trim_start().strip_prefix('(')?.split_once(')')?;
        let name = inside.trim().trim_start_matches("this.");
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
        let ok =
            !name.is_empty() && name != "this" && name.len() <= 40 && name.chars().all(is_plain);
        ok.then(|| name.to_owned())
    }

    /// `synchronized` goes in front of the type.
    fn locked_declaration(&self, line: &str, method: &str) -> Option<String> {
        let text = line.trim();
        let declares = text.ends_with('{')
            && text.contains(&format!(" {method}("))
            && !text.contains("synchronized")
            && !["=", "return ", "new ", "->", "//", "if ("].iter().any(|not| text.contains(not));
        if !declares {
            return None;
        }
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        let modifiers = ["public", "protected", "private", "static", "final"];
        let mut at = 0;
        for word in rest.split_inclusive(' ') {
            if !modifiers.contains(&word.trim()) {
                break;
            }
            at += word.len();
        }
        Some(format!("{indent}{}synchronized {}", &rest[..at], &rest[at..]))
    }

    fn is_join(&self, class: &str, method: &str) -> bool {
        class == "java.lang.Thread" && method == "join"
    }

    fn fix(&self, problem: &Problem<'_>) -> Option<Fix> {
        match *problem {
            Problem::OneVariable { pattern: "RWW", variable, value, .. } => {
                one_update(variable, value)
            }
            Problem::OneVariable { .. } => super::neutral::one_variable(problem),
            Problem::StaleCheck { variable, value } => Some(stale_check(variable, value)),
            Problem::TwoVariables { pattern, variables } => Some(two_variables(pattern, variables)),
            Problem::LibraryClass { class } => collection(class),
            Problem::TwoCalls { first, last } => one_call(first, last),
            Problem::CircularWait => Some(Fix::new(
                "Or be ready to give up",
                "ReentrantLock.tryLock with a time limit: a thread that does not get the second lock gives the first one back \
                 and tries again. An order is simpler, and has no limit to choose.",
            )),
            Problem::MissedNotification { lock } => Some(
                Fix::new(
                    "Wait for a condition, not for the call",
                    format!(
                        "A notification on {lock} that comes before the wait is lost. Whoever makes the condition true sets it \
                         and calls notifyAll under the same lock; whoever waits asks in a loop."
                    ),
                )
                .with(&[], &["while (!ready) lock.wait();".to_owned()]),
            ),
        }
    }

    fn phrase(&self, phrase: Phrase) -> &'static str {
        match phrase {
            Phrase::VisibleAtOnce => "volatile",
            Phrase::DeclaredBlock => "declared: synchronized code, or named with --atomic",
            Phrase::ComposedCalls => {
                "composed: calls of a thread-safe object that look meant to be one step, by the class files"
            }
            Phrase::UnrecordedLocks => "Locks of java.util.concurrent are not recorded as locks",
            Phrase::NotifyOne => "notify instead of notifyAll",
            Phrase::ObjectOrder => {
                "var first = a.number < b.number ? a : b;  // then the other one"
            }
        }
    }
}

/// A read and a write that are one step.
fn one_update(x: &str, value: Option<&str>) -> Option<Fix> {
    let only = format!("Enough if {x} is the only state involved.");
    let value = value?;
    if value == "null" {
        let fix = Fix::new(
            "Or set it once, in one step",
            format!("compareAndSet stores only if {x} is still null. {only}"),
        );
        let line = format!("{x}.compareAndSet(null, made);  // AtomicReference");
        return Some(fix.with(&[], &[line]));
    }
    if value.parse::<f64>().is_ok() {
        let line = format!("{x}.updateAndGet(old -> …);  // AtomicInteger or AtomicLong");
        return Some(Fix::new("Or make it one atomic update", only).with(&[], &[line]));
    }
    let is_reference = value.starts_with('#');
    is_reference.then(|| {
        Fix::new(
            "Or make it one atomic update",
            format!("An AtomicReference with compareAndSet in a loop. {only}"),
        )
    })
}

/// The check inside of the update.
fn stale_check(x: &str, value: Option<&str>) -> Fix {
    let fix = super::neutral::stale_check(x);
    if value.is_some_and(|value| value.parse::<f64>().is_ok()) {
        let line = format!(
            "{x}.updateAndGet(old -> /* the check of old */ ? … : old);  // AtomicInteger or AtomicLong"
        );
        return fix.with(&[], &[line]);
    }
    fix
}

fn two_variables(pattern: &str, [x, y]: [&str; 2]) -> Fix {
    match pattern {
        "WRRW" | "RWWR" | "WWWW" => super::neutral::one_write(x, y).with(
            &[],
            &[format!("record State(… {x}, … {y}) {{}}"), "volatile State state;".to_owned()],
        ),
        _ => Fix::new(
            "Or decide and act in one step",
            format!(
                "Keep {x} and {y} in one AtomicReference and compareAndSet the new pair: it fails if either has changed \
                 since it was read."
            ),
        ),
    }
}

/// Collections of the JDK have methods that do both steps at once.
fn collection(class: &str) -> Option<Fix> {
    let (title, text) = match class {
        "Vector" | "Stack" | "ArrayList" | "LinkedList" | "ArrayDeque" => (
            format!("Lock the {class} itself around both calls"),
            "Its methods lock one call each, not two of them together. Code that asks and then acts must hold \
                 the same monitor: synchronized (list) { … } around both.",
        ),
        "HashMap" | "Hashtable" | "ConcurrentHashMap" | "TreeMap" | "LinkedHashMap" => (
            "Use one call that does both".to_owned(),
            "On a ConcurrentHashMap, putIfAbsent, computeIfAbsent, merge and replace(key, old, new) check and act in \
             one step.",
        ),
        "StringBuffer" | "StringBuilder" | "AbstractStringBuilder" => (
            "Or do not share the buffer".to_owned(),
            "Build the text in one thread and hand over the finished String; or hold the monitor of both buffers \
             for the whole call.",
        ),
        _ => return None,
    };
    Some(Fix::new(title, text))
}

/// The single call that replaces the two.
fn one_call(first: &str, last: &str) -> Option<Fix> {
    let fix = |title: &str, text: &str| Some(Fix::new(title, text));
    match (first, last) {
        ("containsKey" | "get", "put" | "putIfAbsent") => fix(
            "Use putIfAbsent or computeIfAbsent",
            "Both look and store in one step, and say what was there.",
        ),
        ("containsKey" | "get", "remove") => fix(
            "Call remove alone",
            "It gives what it removed, and null if there was nothing. remove(key, value) removes only what was seen.",
        ),
        ("containsKey", "get") => {
            fix("Call get alone", "It gives null if there is nothing: one call answers both.")
        }
        ("get", "replace") | ("get" | "containsKey", "compute" | "merge") => fix(
            "Use compute, merge or replace(key, old, new)",
            "They look at the old value and store the new one in one step.",
        ),
        ("isEmpty" | "size" | "peek", "poll" | "remove" | "take" | "pop" | "element") => fix(
            "Call poll alone",
            "It gives null if there is nothing, so no check is needed before.",
        ),
        ("contains", "add" | "addAll") => fix(
            "Use a set, or addIfAbsent",
            "add of a concurrent set and addIfAbsent of a CopyOnWriteArrayList look and add in one step.",
        ),
        ("get", "set" | "lazySet") => fix(
            "Use updateAndGet or compareAndSet",
            "They store only if no other thread did meanwhile.",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_is_a_name() {
        let name = |line: &str| Java.lock_name(line);
        assert_eq!(name("  synchronized (left) {").as_deref(), Some("left"));
        assert_eq!(name("  synchronized void go() {"), None);
        assert_eq!(name("  synchronized (this) {"), None);
        assert_eq!(name("  synchronized (locks[i]) {"), None);
        assert_eq!(name("  synchronized (this.right) {").as_deref(), Some("right"));
    }

    #[test]
    fn a_declaration_gets_its_lock() {
        let locked = |line: &str| Java.locked_declaration(line, "go");
        let added = locked("    public static void go(int x) {");
        assert_eq!(added.as_deref(), Some("    public static synchronized void go(int x) {"));
        assert_eq!(locked("  void go() { "), Some("  synchronized void go() { ".to_owned()));
        assert_eq!(locked("  synchronized void go() {"), None);
        assert_eq!(locked("  return go() {"), None);
        assert_eq!(locked("  void stop() {"), None);
    }
}
