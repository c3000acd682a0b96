//! What a program gets from outside: facts with a kind and a place, which a run may replace.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a program gets an input from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputPlace {
    /// The argument of the program at this position, counted from 0.
    Argument(u32),
    /// The system property of this name.
    Property(String),
    /// The environment variable of this name.
    Environment(String),
    /// All that standard input delivers.
    StandardInput,
}

impl fmt::Display for InputPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(at) => write!(f, "argument {}", at + 1),
            Self::Property(name) => write!(f, "property {name}"),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::StandardInput => f.write_str("standard input"),
        }
    }
}

/// One input.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Input {
    pub place: InputPlace,
    pub value: String,
}

/// Inputs of a run, in order, at most one of each place. A place that is not among them stays as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Inputs(Vec<Input>);

impl Inputs {
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// All arguments of a program.
    pub fn arguments<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let numbered = values.into_iter().enumerate();
        numbered.map(|(at, value)| (InputPlace::Argument(at as u32), value.into())).collect()
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, place: &InputPlace) -> Option<&str> {
        let found = self.0.binary_search_by(|input| input.place.cmp(place)).ok()?;
        Some(&self.0[found].value)
    }

    pub fn set(&mut self, place: InputPlace, value: String) {
        match self.0.binary_search_by(|input| input.place.cmp(&place)) {
            Ok(at) => self.0[at].value = value,
            Err(at) => self.0.insert(at, Input { place, value }),
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Input> {
        self.0.iter()
    }

    /// These, and where they say nothing, the others.
    #[must_use]
    pub fn or(&self, others: &Self) -> Self {
        let mut all = others.clone();
        self.iter().for_each(|input| all.set(input.place.clone(), input.value.clone()));
        all
    }
}

impl FromIterator<(InputPlace, String)> for Inputs {
    fn from_iter<T: IntoIterator<Item = (InputPlace, String)>>(inputs: T) -> Self {
        let mut all = Self::none();
        inputs.into_iter().for_each(|(place, value)| all.set(place, value));
        all
    }
}

/// Completes "with …": `arguments 10 5`.
impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        let is_argument = |input: &&Input| matches!(input.place, InputPlace::Argument(_));
        let arguments: Vec<String> =
            self.iter().filter(is_argument).map(|input| quoted(&input.value)).collect();
        match arguments.as_slice() {
            [] => {}
            [one] => words.push(format!("argument {one}")),
            many => words.push(format!("arguments {}", many.join(" "))),
        }
        words.extend(self.iter().filter(|input| !is_argument(input)).map(
            |input| match &input.place {
                InputPlace::StandardInput => format!("standard input {:?}", input.value),
                place => format!("{place} {}", quoted(&input.value)),
            },
        ));
        f.write_str(&words.join(", "))
    }
}

/// A word as a shell would be given it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-+_./:=,@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_said_as_a_shell_would_be_given_them() {
        let mut inputs = Inputs::arguments(["10", "it's", ""]);
        assert_eq!(inputs.to_string(), r"arguments 10 'it'\''s' ''");
        inputs.set(InputPlace::StandardInput, "3\n".to_owned());
        inputs.set(InputPlace::Property("mode".to_owned()), "fast".to_owned());
        let words = r#"arguments 10 'it'\''s' '', property mode fast, standard input "3\n""#;
        assert_eq!(inputs.to_string(), words);
        assert_eq!(Inputs::arguments(["1"]).to_string(), "argument 1");
    }

    #[test]
    fn one_value_for_each_place() {
        let mut inputs = Inputs::arguments(["1", "2"]);
        inputs.set(InputPlace::Argument(1), "3".to_owned());
        assert_eq!(inputs, Inputs::arguments(["1", "3"]));
        assert_eq!(inputs.get(&InputPlace::Argument(0)), Some("1"));
        assert_eq!(inputs.get(&InputPlace::StandardInput), None);
        let less = Inputs::arguments(["7"]);
        assert_eq!(less.or(&inputs), Inputs::arguments(["7", "3"]));
    }
}
