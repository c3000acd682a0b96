//! Pairs of calls that belong together but need not be one step.
//!
//! Paper: ICFinder, sections 7 and 8.1 (open and close; get and put back; loops of compare-and-set).

/// Names of calls that bracket work in between, or that hand something out and take it back.
const PAIRED: &[(&str, &str)] = &[
    ("open", "close"),
    ("start", "stop"),
    ("begin", "end"),
    ("begin", "commit"),
    ("begin", "rollback"),
    ("lock", "unlock"),
    ("acquire", "release"),
    ("pause", "resume"),
    ("suspend", "resume"),
    ("enter", "exit"),
    ("enter", "leave"),
    ("connect", "disconnect"),
    ("register", "unregister"),
    ("register", "deregister"),
    ("push", "pop"),
    ("attach", "detach"),
    ("incref", "decref"),
    ("increment", "decrement"),
    ("init", "destroy"),
    ("borrow", "return"),
    ("enable", "disable"),
    ("retain", "release"),
    ("mark", "reset"),
    ("await", "signal"),
    ("setup", "cleanup"),
];

/// Whether the first call opens what the second closes, by their names: `openLog` and `closeLog`.
pub fn is_bracket(first: &str, second: &str) -> bool {
    let (first, second) = (first.to_ascii_lowercase(), second.to_ascii_lowercase());
    PAIRED.iter().any(|(open, close)| {
        let (Some(a), Some(b)) = (first.find(open), second.find(close)) else { return false };
        // `unlock` holds `lock`: the rests must agree as well.
        let rest =
            |text: &str, at: usize, len: usize| format!("{}{}", &text[..at], &text[at + len..]);
        rest(&first, a, open.len()) == rest(&second, b, close.len())
    }) || second == format!("un{first}")
        || second == format!("de{first}")
}

/// Whether the calls take something out and put it back.
pub fn puts_back(first: &str, second: &str) -> bool {
    let takes = ["get", "take", "poll", "borrow", "remove", "pop"];
    let puts = ["put", "offer", "add", "return", "release", "push", "set"];
    takes.iter().any(|take| first.starts_with(take))
        && puts.iter().any(|put| second.starts_with(put))
}

/// Whether a call compares with what was read before by itself.
pub fn compares(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("compareand") || name == "cas" || name.starts_with("cas") && name.len() <= 8
}

/// Whether a call checks before it acts, according to its name.
pub fn decides(name: &str) -> bool {
    ["IfAbsent", "IfPresent", "IfNecessary", "IfNeeded", "IfNotExists"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets() {
        assert!(is_bracket("open", "close"));
        assert!(is_bracket("openLog", "closeLog"));
        assert!(is_bracket("pauseAllThreads", "resumeAllThreads"));
        assert!(is_bracket("register", "unregister"));
        assert!(!is_bracket("close", "open"));
        assert!(!is_bracket("openLog", "closeFile"));
        assert!(!is_bracket("unlock", "lock"));
        assert!(!is_bracket("containsKey", "remove"));
    }
}
