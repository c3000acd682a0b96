//! One sentence for each step, with the names and values of that step.

use super::{Plot, composition, short_value, short_variable, split_block};
use crate::model::SceneStep;
use crate::operation::{Action, Operation};
use crate::text::ellipsis;

pub fn sentence(plot: &Plot<'_>, steps: &[SceneStep], index: usize) -> String {
    let operation = &steps[index].operation;
    let who = ellipsis(&operation.thread, 40);
    let method = split_block(&operation.target).1;
    let key = plot.keys.iter().position(|&key| plot.finding.operations[key].at == operation.at);
    match operation.action {
        Action::Begin => format!("{who} enters {method}."),
        Action::End => leaves(plot, steps, index, &who, method),
        Action::Read | Action::Write => match (of_call(plot, operation, key), plot.three(), key) {
            (Some(text), ..) => text,
            (_, Some(three), Some(place)) => of_key(plot, three, place, &who),
            _ => plot
                .pair()
                .and_then(|pair| pair.sentence(plot, operation))
                .unwrap_or_else(|| plain(plot, steps, index, &who)),
        },
        Action::Wait | Action::Request if plot.finding.transactions.is_empty() => {
            format!("{}.", super::deadlock::waits(&steps[index], plot.finding.language()))
        }
        Action::Acquire | Action::Request if plot.finding.is_deadlock() => {
            super::deadlock::sentence(plot, operation, key.is_some()).unwrap_or_default()
        }
        action => {
            let target = short_variable(&operation.target);
            let tail = match (key, action) {
                (Some(_), Action::Release) if is_torn(plot, operation) => {
                    ": from here on others can get in"
                }
                (Some(_), Action::Acquire) if !is_torn(plot, operation) => {
                    ": in the middle of the other block"
                }
                _ => "",
            };
            format!("{who} {} {target}{tail}.", present(action))
        }
    }
}

/// An access that one of the calls of a composition makes.
fn of_call(plot: &Plot<'_>, operation: &Operation, key: Option<usize>) -> Option<String> {
    composition::find(plot)?.sentence(operation, key?, plot.keys.len())
}

fn is_torn(plot: &Plot<'_>, operation: &Operation) -> bool {
    operation.transaction == Some(0)
        && plot.finding.transactions.first().is_some_and(|own| own.blamed)
}

fn leaves(plot: &Plot<'_>, steps: &[SceneStep], index: usize, who: &str, method: &str) -> String {
    let operation = &steps[index].operation;
    // The last access of the variable determines its final value.
    let last = steps[..index]
        .iter()
        .rev()
        .map(|step| &step.operation)
        .find(|op| op.action == Action::Write && op.transaction == operation.transaction);
    match last.and_then(|op| Some((short_variable(&op.target), short_value(op.value.as_deref())?)))
    {
        Some((x, value)) if is_torn(plot, operation) => {
            format!("{who} leaves {method}; {x} is {value} now.")
        }
        _ => format!("{who} leaves {method}."),
    }
}

fn present(action: Action) -> &'static str {
    match action {
        Action::Acquire => "takes",
        Action::Release => "gives back",
        Action::Wait => "waits and gives up",
        Action::Resume => "has back",
        Action::Fork => "starts",
        Action::Join => "has seen the end of",
        Action::Call => "calls",
        Action::Return => "returns from",
        Action::Notify | Action::NotifyAll => "notifies",
        Action::Request => "asks for",
        other => other.verb(),
    }
}

/// The value in a sentence.
fn value(operation: &Operation) -> Option<String> {
    short_value(operation.value.as_deref())
}

/// An access that is not part of the pattern.
fn plain(plot: &Plot<'_>, steps: &[SceneStep], index: usize, who: &str) -> String {
    let operation = &steps[index].operation;
    let x = short_variable(&operation.target);
    let foreign = operation.transaction.is_none();
    let aside =
        if foreign && plot.finding.scene.is_some() { ", outside of these blocks" } else { "" };
    match (operation.action, value(operation)) {
        (Action::Read, Some(value)) => {
            let same = plot.three().is_some_and(|[first, second, _]| {
                first.action == Action::Read
                    && first.value == operation.value
                    && first.target == operation.target
                    && second.thread == operation.thread
                    && operation.at < second.at
            });
            let too = if same { ", too" } else { "" };
            format!("{who} reads {x}: {value}{too}{aside}.")
        }
        (Action::Read, None) => format!("{who} reads {x}{aside}."),
        (_, Some(value)) => format!("{who} writes {value} to {x}{aside}."),
        (_, None) => format!("{who} writes {x}{aside}."),
    }
}

/// One of the three accesses that make the violation.
fn of_key(plot: &Plot<'_>, three: [&Operation; 3], place: usize, who: &str) -> String {
    let [first, second, third] = three;
    let x = plot.key_variable();
    let other = ellipsis(&second.thread, 40);
    let torn = ellipsis(&first.thread, 40);
    let v = |op: &Operation| value(op).unwrap_or_else(|| "a value".to_owned());
    let block = match plot.lanes.first().map(|lane| lane.block.as_str()) {
        None | Some("") => "the block".to_owned(),
        Some(name) => ellipsis(name, 40),
    };
    match (plot.pattern.as_str(), place) {
        ("RWW" | "RWR", 0) => format!("{who} reads {x}: {}, and goes on with it.", v(first)),
        ("WWR" | "WRW" | "WWW", 0) => {
            format!("{who} writes {} to {x}; {block} is not done yet.", v(first))
        }
        ("RWW" | "RWR", 1) => {
            format!("{who} writes {} to {x}. {torn} still holds {}.", v(second), v(first))
        }
        ("WWR" | "WWW", 1) => {
            format!("{who} writes {} to {x}, over the {} of {torn}.", v(second), v(first))
        }
        ("WRW", 1) => {
            format!("{who} reads {x}: {}, while {block} of {torn} is still at work.", v(second))
        }
        ("RWW", 2) if first.value.as_deref() == Some("null") => format!(
            "{who} writes {} to {x}: it was null when {who} looked. {other}’s {} is overwritten.",
            v(third),
            v(second)
        ),
        ("RWW", 2) => format!(
            "{who} writes {} to {x}, knowing only the {} from before. {other}’s {} is overwritten.",
            v(third),
            v(first),
            v(second)
        ),
        ("RWR", 2) if first.value == third.value => {
            format!("{who} reads {x} again: {}, but not from the same write.", v(third))
        }
        ("RWR", 2) => {
            format!("{who} reads {x} again: {}. A moment ago it was {}.", v(third), v(first))
        }
        ("WWR", 2) => {
            format!("{who} reads {x}: {}, and not the {} just written.", v(third), v(first))
        }
        ("WRW", 2) => format!(
            "{who} writes {} to {x}. What {other} saw was never meant to be seen.",
            v(third)
        ),
        ("WWW", 2) => {
            format!("{who} writes {} to {x}. {other}’s {} is overwritten.", v(third), v(second))
        }
        _ => format!("{who} {}s {x}.", three[place.min(2)].action.verb()),
    }
}
