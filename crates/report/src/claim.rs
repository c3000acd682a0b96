//! What a sentence says of the run, as data: so that code which did not write the sentence can hold it against the
//! trace. `untorn_findings::truth` does.
//!
//! A sentence is made together with its claims, from the same accesses. Opinions ("that is not meant to be seen") and
//! what follows from the definition of a serial order make no claims.

use crate::operation::{Action, Operation};

/// One access of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessFact {
    /// The position in the trace.
    pub at: u64,
    pub thread: String,
    pub variable: String,
    pub writes: bool,
    /// As it is shown; absent where nothing is said of it.
    pub value: Option<String>,
}

impl From<&Operation> for AccessFact {
    fn from(operation: &Operation) -> Self {
        Self {
            at: operation.at,
            thread: operation.thread.clone(),
            variable: operation.target.clone(),
            writes: operation.action == Action::Write,
            value: operation.value.clone(),
        }
    }
}

/// Something that a sentence says happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Claim {
    /// This thread accessed this variable, with this value.
    Access(AccessFact),
    /// Both happened, in this order.
    Ordered(AccessFact, AccessFact),
    /// Two accesses of one thread, and one of another thread between them.
    Between { first: AccessFact, between: AccessFact, last: AccessFact },
    /// Up to this position the thread has not accessed the variable again: it knows what it read or wrote there.
    KnowsOnly { known: AccessFact, until: u64 },
    /// The second write replaced the value of the first one: no write lies between them.
    Overwritten { gone: AccessFact, by: AccessFact },
    /// The same, and the second thread had not read the variable since.
    Lost { gone: AccessFact, by: AccessFact },
    /// The next access of the variable, by any thread, is a write of another thread.
    NeverRead { gone: AccessFact },
    /// A thread saw one value, another thread wrote the variable, the thread read the new value and then acted: when it
    /// wrote, the variable was still as in its latest read.
    StaleCheck { saw: AccessFact, changed: AccessFact, now: AccessFact, acted: AccessFact },
    /// The read returned what the write of another thread had written.
    ReadFrom { read: AccessFact, write: AccessFact },
    /// Between the two positions the thread did not write the variable.
    NotWritten { thread: String, variable: String, from: u64, until: u64 },
    /// Just before this position the variable had this value.
    HadBefore { variable: String, value: String, at: u64 },
    /// Just after this position the variable had this value, and the thread had written it.
    HasNow { variable: String, value: String, thread: String, at: u64 },
    /// The thread enters the block, or leaves it.
    Boundary { thread: String, block: String, at: u64, enters: bool },
    /// The thread is in this block at the position.
    Inside { thread: String, block: String, at: u64 },
    /// The accesses of each transaction, by position; how many serial orders the transactions have; and one of them that
    /// gives all values, `None` if there is no such order.
    Serial { parts: Vec<Vec<u64>>, orders: usize, fits: Option<Vec<usize>> },
}

/// A sentence, or a few words, with what they claim.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Statement {
    pub text: String,
    pub claims: Vec<Claim>,
}

impl Statement {
    pub fn new(text: impl Into<String>, claims: Vec<Claim>) -> Self {
        Self { text: text.into(), claims }
    }

    /// Words that say nothing of the run.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Vec::new())
    }
}

/// The access as a claim of its own.
pub fn access(operation: &Operation) -> Claim {
    Claim::Access(operation.into())
}

pub fn between(first: &Operation, between: &Operation, last: &Operation) -> Claim {
    Claim::Between { first: first.into(), between: between.into(), last: last.into() }
}

pub fn knows_only(known: &Operation, until: u64) -> Claim {
    Claim::KnowsOnly { known: known.into(), until }
}

pub fn overwritten(gone: &Operation, by: &Operation) -> Claim {
    Claim::Overwritten { gone: gone.into(), by: by.into() }
}

pub fn lost(gone: &Operation, by: &Operation) -> Claim {
    Claim::Lost { gone: gone.into(), by: by.into() }
}

pub fn ordered(first: &Operation, second: &Operation) -> Claim {
    Claim::Ordered(first.into(), second.into())
}

pub fn read_from(read: &Operation, write: &Operation) -> Claim {
    Claim::ReadFrom { read: read.into(), write: write.into() }
}
