//! What a report has to know of the language of the program: advice, and how its source is read.
//!
//! Everything else in this crate speaks of threads, blocks, variables and locks. Which language it is follows from the
//! front end that recorded the trace; an imported trace gets the advice that holds in every language.

mod java;
mod neutral;

use crate::story::Fix;

/// A programming language, as far as a report speaks it.
///
/// All methods are pure: they depend only on their arguments. Each answers one question that comes up while a
/// story is made; `None` means that there is no advice.
pub trait Language: Sync {
    /// What a source line calls the lock that it takes: `left` of `synchronized (left) {`.
    fn lock_name(&self, line: &str) -> Option<String>;

    /// The line, changed so that the method it declares holds the lock of its object; `None` if the line declares
    /// something else, or the method holds it already.
    fn locked_declaration(&self, line: &str, method: &str) -> Option<String>;

    /// Whether a thread that waits inside this method waits for another thread to end.
    fn is_join(&self, class: &str, method: &str) -> bool;

    /// What the language offers against a problem, beside holding a lock.
    fn fix(&self, problem: &Problem<'_>) -> Option<Fix>;

    /// Words that differ from language to language.
    fn phrase(&self, phrase: Phrase) -> &'static str;
}

/// A problem for which languages have solutions of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem<'a> {
    /// Accesses of one variable by a block were interrupted.
    OneVariable {
        /// `RWW`: the accesses of the block, and between them that of the other thread.
        pattern: &'a str,
        variable: &'a str,
        /// What the first access saw or wrote.
        value: Option<&'a str>,
        method: &'a str,
        other_thread: &'a str,
    },
    /// A block looked at a variable and wrote it when it was something else; it had read the new value by then.
    StaleCheck { variable: &'a str, value: Option<&'a str> },
    /// Accesses of two variables that belong together were interrupted; `pattern` has four letters.
    TwoVariables { pattern: &'a str, variables: [&'a str; 2] },
    /// The variable is a part of an object of this class, which may be one of the library.
    LibraryClass { class: &'a str },
    /// Two calls, by the names of their methods, are not one step.
    TwoCalls { first: &'a str, last: &'a str },
    /// Threads wait for each other's locks.
    CircularWait,
    /// A notification on this lock came before the wait, or never.
    MissedNotification { lock: &'a str },
}

/// Words that differ from language to language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phrase {
    /// What makes each access of a variable visible at once: `volatile`.
    VisibleAtOnce,
    /// How a declared block was declared.
    DeclaredBlock,
    /// Why calls count as one step.
    ComposedCalls,
    /// Which locks a trace may lack, so that it does not show which thread waits for which.
    UnrecordedLocks,
    /// Waking one of several threads that wait.
    NotifyOne,
    /// A line of code that takes two objects in one order for all threads, or nothing.
    ObjectOrder,
}

/// The language of the programs that a front end records.
pub fn of_front_end(name: &str) -> &'static dyn Language {
    match name {
        "jvm" => &java::Java,
        _ => &neutral::Neutral,
    }
}
