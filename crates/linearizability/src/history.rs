//! What the calls of one run did: when they began and returned, and what they gave.

use crate::value::Value;

/// A call of a scenario: the section it stands in, and its position there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId {
    pub section: usize,
    pub index: usize,
}

/// What a call gave.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    Returned(Value),
    /// The class of an exception.
    Threw(String),
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Returned(value) => write!(f, "{value}"),
            Self::Threw(class) => {
                write!(f, "throws {}", class.rsplit(['.', '$']).next().unwrap_or(class))
            }
        }
    }
}

/// One line of what a driver tells: `call 1 0`, `return 1 0 true`, `throw 1 0 java.lang.Error`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observation {
    Began(CallId),
    Ended(CallId, Outcome),
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("'{0}' does not say what a call did")]
    Malformed(String),
    #[error("call {index} of section {section} ended and had not begun, or twice", section = .0.section, index = .0.index)]
    OutOfOrder(CallId),
}

impl Observation {
    /// # Errors
    /// If it is none.
    pub fn parse(line: &str) -> Result<Self, HistoryError> {
        let malformed = || HistoryError::Malformed(line.to_owned());
        let mut words = line.splitn(4, ' ');
        let verb = words.next().unwrap_or_default();
        let mut number = || words.next()?.parse::<usize>().ok();
        let (section, index) = (number().ok_or_else(malformed)?, number().ok_or_else(malformed)?);
        let call = CallId { section, index };
        match (verb, words.next()) {
            ("call", None) => Ok(Self::Began(call)),
            ("return", Some(value)) => {
                Ok(Self::Ended(call, Outcome::Returned(Value::parse(value))))
            }
            ("throw", Some(class)) => Ok(Self::Ended(call, Outcome::Threw(class.to_owned()))),
            _ => Err(malformed()),
        }
    }
}

/// A call of a run. Positions count what was observed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CallRecord {
    pub id: CallId,
    pub began: usize,
    /// When it returned, and what; `None` if it never did.
    pub ended: Option<(usize, Outcome)>,
}

/// The calls of a run in the order in which they began.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct History {
    pub calls: Vec<CallRecord>,
}

impl History {
    /// From what a driver tells of a run, line by line.
    ///
    /// # Errors
    /// If a line says nothing, or calls end that have not begun.
    pub fn parse<'l>(lines: impl IntoIterator<Item = &'l str>) -> Result<Self, HistoryError> {
        let all: Result<Vec<Observation>, _> = lines.into_iter().map(Observation::parse).collect();
        Self::new(all?)
    }

    /// # Errors
    /// If calls end that have not begun.
    pub fn new(observed: impl IntoIterator<Item = Observation>) -> Result<Self, HistoryError> {
        let mut calls: Vec<CallRecord> = Vec::new();
        for (at, one) in observed.into_iter().enumerate() {
            match one {
                Observation::Began(id) => {
                    let waits =
                        |own: &CallRecord| own.id.section == id.section && own.ended.is_none();
                    if calls.iter().any(|own| own.id == id || waits(own)) {
                        return Err(HistoryError::OutOfOrder(id));
                    }
                    calls.push(CallRecord { id, began: at, ended: None });
                }
                Observation::Ended(id, outcome) => {
                    let own = calls.iter_mut().find(|own| own.id == id && own.ended.is_none());
                    own.ok_or(HistoryError::OutOfOrder(id))?.ended = Some((at, outcome));
                }
            }
        }
        Ok(Self { calls })
    }

    pub fn get(&self, id: CallId) -> Option<&CallRecord> {
        self.calls.iter().find(|call| call.id == id)
    }

    pub fn outcome(&self, id: CallId) -> Option<&Outcome> {
        self.get(id)?.ended.as_ref().map(|(_, outcome)| outcome)
    }

    /// Whether every call that began returned.
    pub fn is_complete(&self) -> bool {
        self.calls.iter().all(|call| call.ended.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_is_refused() {
        for line in ["", "call", "call 1", "call x 1", "return 1 0", "call 1 0 5", "sing 1 0 la"] {
            assert!(Observation::parse(line).is_err(), "{line}");
        }
        assert!(History::parse(["return 1 0 5"]).is_err());
        assert!(
            History::parse(["call 1 0", "call 1 1"]).is_err(),
            "a thread makes one call at a time"
        );
        assert!(History::parse(["call 1 0", "return 1 0 5", "return 1 0 5"]).is_err());
    }

    #[test]
    fn a_value_may_contain_anything() {
        let history = History::parse(["call 1 0", "return 1 0 \"a b c\""]).expect("a history");
        assert_eq!(
            history.calls[0].ended.as_ref().map(|(_, own)| own.to_string()),
            Some("\"a b c\"".to_owned())
        );
    }
}
