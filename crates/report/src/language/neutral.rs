//! Advice that holds in every language: for traces whose front end is not known.

use super::{Language, Phrase, Problem};
use crate::story::Fix;

#[derive(Debug)]
pub struct Neutral;

impl Language for Neutral {
    fn lock_name(&self, _line: &str) -> Option<String> {
        None
    }

    fn locked_declaration(&self, _line: &str, _method: &str) -> Option<String> {
        None
    }

    fn is_join(&self, _class: &str, _method: &str) -> bool {
        false
    }

    fn fix(&self, problem: &Problem<'_>) -> Option<Fix> {
        match *problem {
            Problem::OneVariable { .. } => one_variable(problem),
            Problem::TwoVariables { pattern: "WRRW" | "RWWR" | "WWWW", variables: [x, y] } => {
                Some(one_write(x, y))
            }
            Problem::StaleCheck { variable, .. } => Some(stale_check(variable)),
            Problem::TwoVariables { .. }
            | Problem::LibraryClass { .. }
            | Problem::TwoCalls { .. } => None,
            Problem::CircularWait => Some(Fix::new(
                "Or be ready to give up",
                "A thread that does not get the second lock in time gives the first one back and tries again. An order is \
                 simpler, and has no limit to choose.",
            )),
            Problem::MissedNotification { lock } => Some(Fix::new(
                "Wait for a condition, not for the call",
                format!(
                    "A notification on {lock} that comes before the wait is lost. Whoever makes the condition true sets it \
                     and notifies all under the same lock; whoever waits asks in a loop."
                ),
            )),
        }
    }

    fn phrase(&self, phrase: Phrase) -> &'static str {
        match phrase {
            Phrase::VisibleAtOnce => "visible to all threads at once",
            Phrase::DeclaredBlock => "declared",
            Phrase::ComposedCalls => {
                "composed: calls of a thread-safe object that look meant to be one step"
            }
            Phrase::UnrecordedLocks => "Not every lock is recorded as one",
            Phrase::NotifyOne => "to notify one thread instead of all",
            Phrase::ObjectOrder => "",
        }
    }
}

/// Accesses of one variable of which a local copy is enough, or one atomic update.
pub(super) fn one_variable(problem: &Problem<'_>) -> Option<Fix> {
    let &Problem::OneVariable { pattern, variable: x, value, method, other_thread } = problem
    else {
        return None;
    };
    let only = format!("Enough if {x} is the only state involved.");
    match pattern {
        "RWW" if value.is_some() => Some(Fix::new(
            "Or make it one atomic update",
            format!("Compare and swap, in a loop: it stores only if {x} has not changed. {only}"),
        )),
        "RWR" => Some(Fix::new(
            format!("Or read {x} once"),
            format!(
                "Copy it into a local variable and use the copy: {other_thread} cannot change that. {only}"
            ),
        )),
        "WWR" => Some(Fix::new(
            "Or keep the value in a local variable",
            format!(
                "{method} reads back what it has just written; a local copy needs no second access of {x}."
            ),
        )),
        "WRW" | "WWW" => Some(Fix::new(
            format!("Or write {x} once, at the end"),
            format!(
                "Compute the result in a local variable and publish it in one write: there is nothing in between to see. {only}"
            ),
        )),
        _ => None,
    }
}

/// The check belongs into the step that acts.
pub(super) fn stale_check(x: &str) -> Fix {
    Fix::new(
        "Or check again in the step that acts",
        format!(
            "A compare and swap whose loop looks at {x} again each time: it stores only if what was checked still holds. \
             Enough if {x} is the only state involved."
        ),
    )
}

/// Two variables in one referenced object.
pub(super) fn one_write(x: &str, y: &str) -> Fix {
    Fix::new(
        "Or change both in one write",
        format!(
            "Put {x} and {y} into one object that never changes, and replace the reference to it: whoever reads it gets \
             both from before, or both from after."
        ),
    )
}
