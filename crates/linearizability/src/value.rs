//! What a call returned.

use std::fmt;

/// A value as text, in which `<class#number>` stands for an object that has no other name. Numbers count objects in the
/// order in which they are first seen, which differs from order to order: two values are the same if their objects
/// correspond ([`Value::matches`]).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Value {
    /// The text with `<class>` in place of `<class#number>`.
    text: String,
    objects: Vec<u32>,
}

/// Which object of one history is which one of another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Correspondence(Vec<(u32, u32)>);

impl Correspondence {
    /// Whether two objects are, or can be, the same.
    fn unite(&mut self, one: u32, other: u32) -> bool {
        let known = self.0.iter().find(|&&(a, b)| a == one || b == other);
        match known {
            Some(&pair) => pair == (one, other),
            None => {
                self.0.push((one, other));
                true
            }
        }
    }
}

impl Value {
    pub fn parse(text: &str) -> Self {
        let mut value = Self { text: String::with_capacity(text.len()), objects: Vec::new() };
        for part in text.split_inclusive('>') {
            let object = part.strip_suffix('>').and_then(|part| part.rsplit_once('#'));
            match object.and_then(|(name, number)| Some((name, number.parse().ok()?))) {
                Some((name, number)) if name.contains('<') => {
                    value.text.push_str(name);
                    value.text.push('>');
                    value.objects.push(number);
                }
                _ => value.text.push_str(part),
            }
        }
        value
    }

    /// Whether it is the same but for the numbers of objects, which `objects` relates and learns.
    pub(crate) fn matches(&self, other: &Self, objects: &mut Correspondence) -> bool {
        self.text == other.text
            && self.objects.len() == other.objects.len()
            && self.objects.iter().zip(&other.objects).all(|(&a, &b)| objects.unite(a, b))
    }
}

/// As people read it: `Node#3`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut objects = self.objects.iter();
        for part in self.text.split_inclusive(['<', '>']) {
            if let Some(before) = part.strip_suffix('<') {
                f.write_str(before)?;
            } else if let Some(class) = part.strip_suffix('>')
                && let Some(number) = objects.next()
            {
                let simple = class.rsplit(['.', '$']).next().unwrap_or(class);
                write!(f, "{simple}#{number}")?;
            } else {
                f.write_str(part)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_equal_by_what_they_are_and_objects_by_which_they_are() {
        let matches = |pairs: &[(&str, &str)]| {
            let mut objects = Correspondence::default();
            pairs.iter().all(|(a, b)| Value::parse(a).matches(&Value::parse(b), &mut objects))
        };
        assert!(matches(&[("1", "1"), ("\"a#1\"", "\"a#1\"")]));
        assert!(!matches(&[("1", "1L")]));
        assert!(matches(&[("<a.Node#3>", "<a.Node#1>"), ("[<a.Node#3>, 5]", "[<a.Node#1>, 5]")]));
        assert!(!matches(&[("<a.Node#3>", "<a.Node#1>"), ("<a.Node#3>", "<a.Node#2>")]));
        assert!(!matches(&[("<a.Node#1>", "<a.Node#1>"), ("<a.Node#2>", "<a.Node#1>")]));
        assert!(!matches(&[("<a.Node#1>", "<a.Leaf#1>")]));
    }

    #[test]
    fn people_read_simple_names() {
        assert_eq!(Value::parse("[<com.acme.List$Node#3>, 5]").to_string(), "[Node#3, 5]");
        assert_eq!(Value::parse("\"x > y\"").to_string(), "\"x > y\"");
    }
}
