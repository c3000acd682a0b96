//! Until when an answer is wanted.

use std::time::Instant;

/// A moment after which nobody waits for an answer any more. By default there is none, and answers do not depend on
/// the machine; who sets one gets fewer answers once it has passed, and is told how many are missing.
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
