//! Patterns of names in which `*` stands for any text: of classes, methods, labels and JVMs.

/// Whether a pattern, in which `*` stands for anything, fits a name.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = first;
    let mut stars = false;
    for part in parts {
        stars = true;
        last = part;
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    // After the last `*` the rest must end with its part: prefer the latest place for it.
    if stars { last.is_empty() || name.ends_with(last) } else { rest.is_empty() }
}

/// A pattern that is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Glob(String);

impl Glob {
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    pub fn matches(&self, name: &str) -> bool {
        matches(&self.0, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches("java/util/Hash*", "java/util/HashMap$Node"));
        assert!(matches("*/transfer", "com/acme/Bank/transfer"));
        assert!(matches("com/acme/*", "com/acme/x/Y"));
        assert!(matches("a*b*c", "aXbYc"));
        assert!(!matches("a*b*c", "aXcYd"));
        assert!(!matches("java/util/Stack", "java/util/StackX"));
        assert!(!matches("*/transfer", "com/acme/Bank/transferAll"));
    }

    #[test]
    fn a_star_stands_for_any_text() {
        let matching = [
            ("com.acme.Bank.transfer", "com.acme.Bank.transfer"),
            ("com.acme.*.transfer", "com.acme.Bank.transfer"),
            ("*", ""),
            ("*.add", "Set.add"),
            ("a*b*c", "a--b--b--c"),
            ("a**", "a"),
        ];
        for (pattern, name) in matching {
            assert!(matches(pattern, name), "{pattern} should match {name}");
        }
        let others = [
            ("Set.add", "Set.addAll"),
            ("Set", "Set.add"),
            ("a*a", "a"),
            ("a*b*b", "ab"),
            ("", "x"),
        ];
        for (pattern, name) in others {
            assert!(!matches(pattern, name), "{pattern} should not match {name}");
        }
    }
}
