//! Goals that no reordering can reach, for reasons that are quick to see.

use untorn_trace::ThreadId;

use crate::goal::Goal;
use crate::history::{At, History, Section};
use crate::index::{Index, exclude_each_other};

pub(super) fn is_impossible(index: &Index<'_>, goal: &Goal) -> bool {
    goal.events.is_empty()
        || contradicts_threads(index.history, goal)
        || contradicts_needs(index, goal)
        || is_locked_out(index, goal)
        || tears_update(index.history, goal)
}

/// An event twice, or two events of a thread in the wrong order.
fn contradicts_threads(history: &History, goal: &Goal) -> bool {
    pairs(goal).any(|(a, b)| history.event(a).thread == history.event(b).thread && a >= b)
}

/// An event needs one that shall come later.
fn contradicts_needs(index: &Index<'_>, goal: &Goal) -> bool {
    let mut past = vec![0; index.history.thread_count()];
    // What the first events need has happened before the later ones, so one set is enough.
    for (i, &at) in goal.events.iter().enumerate() {
        index.must().add_past(index.history, &mut past, at);
        if goal.events[i..].iter().any(|&later| index.contains(&past, later)) {
            return true;
        }
    }
    false
}

/// A thread is in one section from one event to another, and one between them is in a section that
/// excludes it.
fn is_locked_out(index: &Index<'_>, goal: &Goal) -> bool {
    let history = index.history;
    pairs(goal).any(|(first, last)| {
        let thread = history.event(first).thread;
        thread == history.event(last).thread
            && sections_across(index, thread, first, last).any(|around| {
                between(goal, first, last).iter().any(|&at| {
                    sections_at(index, at).any(|inside| exclude_each_other(around, inside))
                })
            })
    })
}

/// After the first half of an update comes its second, or nothing.
fn tears_update(history: &History, goal: &Goal) -> bool {
    goal.events.windows(2).any(|pair| {
        history.second_half(pair[0]).is_some_and(|second| {
            let thread = history.event(pair[0]).thread;
            pair[1] != second
                && history.event(pair[1]).thread != thread
                && goal.events.contains(&second)
        })
    })
}

fn pairs(goal: &Goal) -> impl Iterator<Item = (At, At)> {
    let events = &goal.events;
    events.iter().enumerate().flat_map(|(i, &a)| events[i + 1..].iter().map(move |&b| (a, b)))
}

fn between(goal: &Goal, first: At, last: At) -> &[At] {
    let place = |wanted: At| goal.events.iter().position(|&at| at == wanted);
    match (place(first), place(last)) {
        (Some(from), Some(to)) if from < to => &goal.events[from + 1..to],
        _ => &[],
    }
}

/// The sections that a thread is in when `at` has happened.
fn sections_at<'a>(index: &Index<'a>, at: At) -> impl Iterator<Item = &'a Section> {
    let (thread, nth) = (index.history.event(at).thread, index.history.nth(at));
    index.held(thread, nth + 1).iter().map(|&id| index.section(id))
}

fn sections_across<'a>(
    index: &Index<'a>,
    thread: ThreadId,
    first: At,
    last: At,
) -> impl Iterator<Item = &'a Section> {
    let nth = index.history.nth(first);
    let held = index.held(thread, nth + 1).iter().map(|&id| index.section(id));
    held.filter(move |section| section.leave.is_none_or(|leave| leave >= last))
}
