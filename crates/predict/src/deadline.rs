//! The time limit of an answer.

use std::time::Instant;

/// A moment after which no more answers are computed. By default there is none, and answers do not depend on
/// the machine; with one, fewer answers are given once it has passed, and the missing ones are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    pub const NEVER: Self = Self(None);

    pub const fn at(moment: Instant) -> Self {
        Self(Some(moment))
    }

    pub fn is_over(self) -> bool {
        self.0.is_some_and(|moment| Instant::now() >= moment)
    }
}
