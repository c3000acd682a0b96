//! Descriptors of fields and methods (JVMS 4.3).

use smallvec::SmallVec;

/// A method's parameters and result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature<'a> {
    /// The descriptors of the parameters, without the receiver.
    pub parameters: SmallVec<[&'a str; 6]>,
    pub result: &'a str,
}

impl<'a> Signature<'a> {
    /// `None` if the text is not a method descriptor.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut rest = text.strip_prefix('(')?;
        let mut parameters = SmallVec::new();
        while !rest.starts_with(')') {
            let (first, tail) = rest.split_at(field_len(rest)?);
            parameters.push(first);
            rest = tail;
        }
        let result = &rest[1..];
        let is_whole = result == "V" || field_len(result) == Some(result.len());
        is_whole.then_some(Self { parameters, result })
    }

    /// How many slots of the stack the parameters take.
    pub fn parameter_slots(&self) -> usize {
        self.parameters.iter().map(|parameter| slots(parameter)).sum()
    }
}

/// The descriptors of a method's parameters. If the text makes no sense they end early.
pub fn parameters(descriptor: &str) -> impl Iterator<Item = &str> {
    let mut rest = descriptor.strip_prefix('(').unwrap_or_default();
    std::iter::from_fn(move || {
        let (first, tail) = rest.split_at(field_len(rest)?);
        rest = tail;
        Some(first)
    })
}

/// How long the field descriptor is that the text begins with.
fn field_len(text: &str) -> Option<usize> {
    let dimensions = text.bytes().take_while(|&byte| byte == b'[').count();
    let rest = &text[dimensions..];
    match rest.bytes().next()? {
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => Some(dimensions + 1),
        b'L' => rest.find(';').map(|end| dimensions + end + 1),
        _ => None,
    }
}

/// Whether the text is the descriptor of a field; `V` is none.
pub fn is_field(text: &str) -> bool {
    field_len(text) == Some(text.len())
}

/// How many slots a value of the type takes.
pub fn slots(descriptor: &str) -> usize {
    match descriptor {
        "V" => 0,
        "J" | "D" => 2,
        _ => 1,
    }
}

/// The class that a field descriptor names; `None` for numbers and arrays.
pub fn class_of(descriptor: &str) -> Option<&str> {
    descriptor.strip_prefix('L')?.strip_suffix(';')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors() {
        let found =
            Signature::parse("(IJ[[Ljava/lang/String;D)Ljava/util/Map;").expect("well-formed");
        assert_eq!(found.parameters.as_slice(), ["I", "J", "[[Ljava/lang/String;", "D"]);
        assert_eq!((found.parameter_slots(), found.result), (6, "Ljava/util/Map;"));
        for broken in ["", "(", "()", "I", "(I", "(L)V", "(I)VV", "([)V", "(é)V", "()[", "()Lé"] {
            assert_eq!(Signature::parse(broken), None, "{broken}");
        }
        assert_eq!(parameters("(I[JLA;)V").collect::<Vec<_>>(), ["I", "[J", "LA;"]);
        assert_eq!(parameters("(IV").collect::<Vec<_>>(), ["I"]);
        assert!(is_field("[J") && !is_field("V") && !is_field("II") && !is_field(""));
        assert_eq!(class_of("Ljava/util/Map;"), Some("java/util/Map"));
        assert_eq!(class_of("[Ljava/util/Map;"), None);
    }
}
