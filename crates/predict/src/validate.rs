//! Steps through a reordering: the engines' own check that what they hand out is one.
//!
//! It knows a history and its sections as the engines do. The tests use another check, which shares
//! nothing with this crate (`testkit::check_reordering`).

use rustc_hash::FxHashMap;
use untorn_trace::{Op, ThreadId};

use crate::answer::Reordering;
use crate::goal::Goal;
use crate::history::{At, ReadFrom, Section};
use crate::index::{Index, exclude_each_other};

pub(crate) fn is_reordering_in(index: &Index<'_>, goal: &Goal, reordering: &Reordering) -> bool {
    let mut validator = Validator {
        index,
        goal,
        done: vec![0; index.history.thread_count()],
        open: Vec::new(),
        memory: FxHashMap::default(),
        place: FxHashMap::default(),
        stopped: Vec::new(),
        half: None,
    };
    let fits = reordering.steps.iter().enumerate().all(|(place, &at)| validator.step(place, at));
    let places: Option<Vec<_>> = goal.events.iter().map(|at| validator.place.get(at)).collect();
    let in_order = places.is_some_and(|p| p.windows(2).all(|pair| pair[0] < pair[1]));
    fits && in_order && !goal.events.is_empty() && reordering.steps.last() == goal.events.last()
}

struct Validator<'i, 'a> {
    index: &'i Index<'a>,
    goal: &'i Goal,
    done: Vec<u32>,
    open: Vec<&'a Section>,
    memory: FxHashMap<u32, At>,
    place: FxHashMap<At, usize>,
    stopped: Vec<ThreadId>,
    half: Option<At>,
}

impl Validator<'_, '_> {
    fn step(&mut self, place: usize, at: At) -> bool {
        let history = self.index.history;
        if at.index() >= history.len() {
            return false;
        }
        let event = history.event(at);
        let own = &mut self.done[event.thread.index()];
        let fits = *own == history.nth(at)
            && !self.stopped.contains(&event.thread)
            && self.half.is_none_or(|half| half == at);
        *own += 1;
        let fits = fits && self.synchronises(at) && self.reads(at);
        self.half = history.second_half(at);
        self.place.insert(at, place);
        if let Op::Write { var, .. } = event.op {
            self.memory.insert(var.0, at);
        }
        fits
    }

    fn has_happened(&self, at: At) -> bool {
        self.place.contains_key(&at)
    }

    fn synchronises(&mut self, at: At) -> bool {
        let history = self.index.history;
        let event = history.event(at);
        let forked = history.forked(event.thread).is_none_or(|fork| self.has_happened(fork));
        let allowed = match event.op {
            Op::Join { child } => {
                history.of_thread(child).last().is_none_or(|&last| self.has_happened(last))
            }
            Op::Resume { .. } => history.cause(at).is_none_or(|cause| {
                let wait = history.previous(at).and_then(|wait| self.place.get(&wait));
                self.place.get(&cause).is_some_and(|cause| wait.is_some_and(|wait| wait < cause))
            }),
            _ => true,
        };
        let Some(section) = history.section_at(at) else { return forked && allowed };
        if section.enter != at {
            self.open.retain(|open| open.enter != section.enter);
            return forked && allowed;
        }
        let free = !self.open.iter().any(|open| exclude_each_other(open, section));
        self.open.push(section);
        forked && allowed && free
    }

    fn reads(&mut self, at: At) -> bool {
        let history = self.index.history;
        let Op::Read { var, .. } = history.event(at).op else { return true };
        let Some(wanted) = self.index.wanted(at) else { return true };
        let now = self.memory.get(&var.0).map_or(ReadFrom::Initial, |&at| ReadFrom::Write(at));
        if self.index.satisfies(wanted, var, now) {
            return true;
        }
        self.stopped.push(history.event(at).thread);
        self.goal.events.contains(&at) && history.second_half(at).is_none()
    }
}
