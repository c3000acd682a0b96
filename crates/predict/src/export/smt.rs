//! The definition of a reordering over integers, event by event.

use std::fmt::Write as _;

use untorn_trace::Op;

use crate::goal::Goal;
use crate::history::{At, ReadFrom, Section};
use crate::index::{Index, exclude_each_other};
use crate::zone::Zone;

pub(super) fn write(index: &Index<'_>, goal: &Goal, zone: &Zone) -> String {
    let threads = zone.threads().flat_map(|thread| zone.of_thread(index, thread));
    let mut events: Vec<At> = threads.copied().collect();
    events.sort_unstable();
    let mut writer = Writer { index, goal, zone, events, text: String::new() };
    writer.text.push_str("(set-logic QF_IDL)\n");
    writer.declare();
    writer.threads();
    writer.goal();
    writer.locks();
    writer.reads();
    writer.text.push_str("(check-sat)\n");
    writer.text
}

struct Writer<'i, 'a> {
    index: &'i Index<'a>,
    goal: &'i Goal,
    zone: &'i Zone,
    events: Vec<At>,
    text: String,
}

impl<'a> Writer<'_, 'a> {
    fn assert(&mut self, what: &str) {
        let _ = writeln!(self.text, "(assert {what})");
    }

    fn is_done(&self, at: At) -> bool {
        self.index.contains(&self.zone.base, at)
    }

    /// That an event is in the reordering.
    fn inside(&self, at: At) -> String {
        if self.zone.contains(self.index, at) {
            format!("in{}", at.0)
        } else {
            self.is_done(at).to_string()
        }
    }

    /// That one event comes before another; both are in the reordering.
    fn before(&self, a: At, b: At) -> String {
        match (self.is_done(a), self.is_done(b)) {
            (true, _) => "true".to_owned(),
            (_, true) => "false".to_owned(),
            _ if self.zone.contains(self.index, a) && self.zone.contains(self.index, b) => {
                format!("(< o{} o{})", a.0, b.0)
            }
            _ => "false".to_owned(),
        }
    }

    fn needs(&mut self, then: At, first: At) {
        let (then_in, first_in) = (self.inside(then), self.inside(first));
        let order = self.before(first, then);
        self.assert(&format!("(=> {then_in} (and {first_in} {order}))"));
    }

    fn declare(&mut self) {
        for at in self.events.clone() {
            let _ =
                writeln!(self.text, "(declare-const o{0} Int)\n(declare-const in{0} Bool)", at.0);
        }
        if self.events.len() > 1 {
            let all: String = self.events.iter().map(|at| format!(" o{}", at.0)).collect();
            self.assert(&format!("(distinct{all})"));
        }
    }

    fn threads(&mut self) {
        let history = self.index.history;
        for at in self.events.clone() {
            let thread = history.event(at).thread;
            match (history.previous(at), history.forked(thread)) {
                (Some(previous), _) => self.needs(at, previous),
                (None, Some(fork)) => self.needs(at, fork),
                (None, None) => {}
            }
            match history.event(at).op {
                Op::Join { child } => {
                    if let Some(&last) = history.of_thread(child).last() {
                        self.needs(at, last);
                    }
                }
                Op::Resume { .. } => {
                    if let (Some(cause), Some(wait)) = (history.cause(at), history.previous(at)) {
                        self.needs(at, cause);
                        // Both done before the question began, in the order of the history.
                        let order = self.before(wait, cause);
                        let inside = self.inside(at);
                        self.assert(&format!("(=> {inside} {order})"));
                    }
                }
                _ => {}
            }
            if let Some(second) = history.second_half(at)
                && self.goal.events.last() != Some(&at)
            {
                let (first_in, second_in) = (self.inside(at), self.inside(second));
                self.assert(&format!("(=> {first_in} {second_in})"));
                if self.zone.contains(self.index, second) {
                    self.assert(&format!("(= (- o{} o{}) 1)", second.0, at.0));
                }
            }
        }
    }

    fn goal(&mut self) {
        for at in self.goal.events.clone() {
            let inside = self.inside(at);
            self.assert(&inside);
        }
        for pair in self.goal.events.clone().windows(2) {
            let order = self.before(pair[0], pair[1]);
            self.assert(&order);
        }
        let next = self.goal.events.last().and_then(|&last| self.index.history.next(last));
        if let Some(next) = next {
            let inside = self.inside(next);
            self.assert(&format!("(not {inside})"));
        }
    }

    fn locks(&mut self) {
        let index = self.index;
        let is_open = |section: &&Section| {
            let over = section.leave.is_some_and(|leave| index.contains(&self.zone.base, leave));
            index.contains(&self.zone.limit, section.enter) && !over
        };
        let sections: Vec<&'a Section> = index.history.sections().iter().filter(is_open).collect();
        for (i, a) in sections.iter().enumerate() {
            for b in &sections[i + 1..] {
                if exclude_each_other(a, b) {
                    let (first, then) = (self.leaves_first(a, b), self.leaves_first(b, a));
                    let both = [self.inside(a.enter), self.inside(b.enter)].join(" ");
                    self.assert(&format!("(=> (and {both}) (or {first} {then}))"));
                }
            }
        }
    }

    fn leaves_first(&self, first: &Section, then: &Section) -> String {
        match first.leave {
            Some(leave) => {
                format!("(and {} {})", self.inside(leave), self.before(leave, then.enter))
            }
            None => "false".to_owned(),
        }
    }

    fn reads(&mut self) {
        let history = self.index.history;
        for read in self.events.clone() {
            let Op::Read { var, .. } = history.event(read).op else { continue };
            let Some(wanted) = self.index.wanted(read) else { continue };
            let may_differ =
                self.goal.events.contains(&read) && history.second_half(read).is_none();
            let counts = match (may_differ, history.next(read)) {
                (true, Some(next)) => self.inside(next),
                (true, None) => continue,
                (false, _) => self.inside(read),
            };
            let all = history.writes(var).iter().copied();
            let writes: Vec<At> = all.filter(|&w| self.zone.contains(self.index, w)).collect();
            let mut ways = Vec::new();
            let first = self.index.last_write(var, &self.zone.base);
            if self.index.satisfies(wanted, var, first) {
                let later = writes
                    .iter()
                    .map(|&w| format!(" (or (not {}) {})", self.inside(w), self.before(read, w)));
                ways.push(format!("(and true{})", later.collect::<String>()));
            }
            for &source in &writes {
                if self.index.satisfies(wanted, var, ReadFrom::Write(source)) {
                    ways.push(self.reads_from(read, source, &writes));
                }
            }
            self.assert(&format!("(=> {counts} (or false {}))", ways.join(" ")));
        }
    }

    /// `source` is the last write before `read`.
    fn reads_from(&self, read: At, source: At, writes: &[At]) -> String {
        let others = writes.iter().filter(|&&other| other != source).map(|&other| {
            let out = [self.before(other, source), self.before(read, other)].join(" ");
            format!(" (or (not {}) {out})", self.inside(other))
        });
        let others: String = others.collect();
        format!("(and {} {}{others})", self.inside(source), self.before(source, read))
    }
}
