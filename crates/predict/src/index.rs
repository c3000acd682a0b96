//! Look-ups of the precise engines: which locks a thread holds at a position, which events write a variable,
//! and what must have happened before an event.
//!
//! Built once for a history and a strength, linear in the number of events (times the number of
//! threads for the [`Clocks`], but only where one thread becomes ordered after new events of another).

mod clocks;
mod groups;

use rustc_hash::FxHashMap;
use untorn_trace::{Op, ThreadId, Value, VarId};

use crate::answer::Strength;
use crate::history::{At, History, ReadFrom, Section};

pub(crate) use clocks::Clocks;
pub(crate) use groups::Groups;

/// A set of events that contains with each event all earlier ones of its thread: how many of each
/// thread's events are in it.
pub(crate) type Cut = Vec<u32>;

/// What a read asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadConstraint {
    /// This write or, as in the history, none before it.
    Source(ReadFrom),
    /// Any write of this value.
    Value(Value),
}

#[derive(Debug)]
pub(crate) struct Index<'a> {
    pub(crate) history: &'a History,
    pub(crate) strength: Strength,
    /// What an event needs if every read keeps its source (if the strength cares about reads).
    pub(crate) needs: Clocks,
    /// What an event needs in every reordering; `None` if that is the same.
    must: Option<Clocks>,
    /// By thread: after how many of its events it holds what; the last entry not after a place counts.
    held: Vec<Vec<LockInterval>>,
    /// The sections of all `held`, one list after the other.
    held_sections: Vec<u32>,
    /// Sections by lock and side (`2 * lock + shared`), as indices into the history's.
    sections: Groups,
    /// Writes by variable.
    writes: Groups,
    /// The number of a variable's value, a key of `alike`. Only if the strength is about values.
    values: FxHashMap<(VarId, Value), u32>,
    /// Writes by what they write.
    alike: Groups,
}

#[derive(Clone, Copy, Debug)]
struct LockInterval {
    from: u32,
    start: u32,
    end: u32,
}

impl<'a> Index<'a> {
    pub(crate) fn new(history: &'a History, strength: Strength) -> Self {
        let by_source = matches!(strength, Strength::Precise | Strength::Under);
        let mut index = Self {
            history,
            strength,
            needs: Clocks::new(history, |_| by_source),
            must: None,
            held: vec![Vec::new(); history.thread_count()],
            held_sections: Vec::new(),
            sections: Groups::default(),
            writes: Groups::default(),
            values: FxHashMap::default(),
            alike: Groups::default(),
        };
        index.find_held();
        index.sections = index.group_sections();
        index.writes = index.group_writes();
        if strength == Strength::Precise {
            index.group_values();
        }
        if strength == Strength::Precise {
            let certain = Clocks::new(history, |read| index.is_certain(read));
            index.must = Some(certain);
        }
        index
    }

    /// What an event needs in every reordering.
    pub(crate) fn must(&self) -> &Clocks {
        self.must.as_ref().unwrap_or(&self.needs)
    }

    /// What a read must see, unless it is exempt. `None`: it may see anything.
    pub(crate) fn wanted(&self, read: At) -> Option<ReadConstraint> {
        let event = self.history.event(read);
        let Op::Read { var, .. } = event.op else { return None };
        let source = self.history.read_from(read);
        match self.strength {
            Strength::Lock | Strength::Filtered => None,
            Strength::Under => Some(ReadConstraint::Source(source)),
            Strength::Precise => match (event.value(), self.value_of(var, source)) {
                (Some(value), Some(written)) if value == written => {
                    Some(ReadConstraint::Value(value))
                }
                // Something wrote that was not recorded, or its value was not: no other write is as good.
                _ => Some(ReadConstraint::Source(source)),
            },
        }
    }

    pub(crate) fn value_of(&self, var: VarId, source: ReadFrom) -> Option<Value> {
        match source {
            ReadFrom::Initial => self.history.initial(var),
            ReadFrom::Write(write) => self.history.event(write).value(),
        }
    }

    /// Whether a source is what a read asks for.
    pub(crate) fn satisfies(&self, wanted: ReadConstraint, var: VarId, source: ReadFrom) -> bool {
        match wanted {
            ReadConstraint::Source(asked) => asked == source,
            ReadConstraint::Value(value) => self.value_of(var, source) == Some(value),
        }
    }

    /// Whether the source of the history is the only one a read can have.
    fn is_certain(&self, read: At) -> bool {
        let Op::Read { var, .. } = self.history.event(read).op else { return false };
        match self.wanted(read) {
            Some(ReadConstraint::Source(_)) => true,
            Some(ReadConstraint::Value(value)) => {
                let source = self.history.read_from(read);
                let mut sources: usize =
                    self.writes_alike(var, value).map(|(_, list)| list.len()).sum();
                sources += usize::from(self.history.initial(var) == Some(value));
                self.value_of(var, source) == Some(value) && sources == 1
            }
            None => false,
        }
    }

    /// The sections that a thread is in after so many of its events.
    pub(crate) fn held(&self, thread: ThreadId, done: u32) -> &[u32] {
        let list = &self.held[thread.index()];
        match list.partition_point(|held| held.from <= done) {
            0 => &[],
            n => &self.held_sections[list[n - 1].start as usize..list[n - 1].end as usize],
        }
    }

    pub(crate) fn section(&self, id: u32) -> &'a Section {
        &self.history.sections()[id as usize]
    }

    /// For each thread that takes a lock in a way that excludes `section`: its sections, in order.
    pub(crate) fn rivals(
        &self,
        section: &Section,
    ) -> impl Iterator<Item = (ThreadId, &[u32])> + use<'_, 'a> {
        let key = section.lock.index() * 2;
        let (own, both) = (section.thread, !section.shared);
        let shared = self.sections.of(key + 1).filter(move |_| both);
        self.sections.of(key).chain(shared).filter(move |(thread, _)| *thread != own)
    }

    /// The last of a thread's sections in `list` that it enters within its first `done` events.
    pub(crate) fn last_entered(&self, list: &[u32], done: u32) -> Option<u32> {
        let entered = |&id: &u32| self.history.nth(self.section(id).enter) < done;
        list.partition_point(entered).checked_sub(1).map(|last| list[last])
    }

    /// By thread: the writes of a variable.
    pub(crate) fn writes_of(&self, var: VarId) -> impl Iterator<Item = (ThreadId, &[u32])> {
        self.writes.of(var.index())
    }

    /// By thread: the writes of a value to a variable. Only if the strength is about values.
    pub(crate) fn writes_alike(
        &self,
        var: VarId,
        value: Value,
    ) -> impl Iterator<Item = (ThreadId, &[u32])> {
        let key = self.values.get(&(var, value)).map_or(usize::MAX, |&key| key as usize);
        self.alike.of(key)
    }

    /// The last write of a variable within a cut, in the order of the history.
    pub(crate) fn last_write(&self, var: VarId, cut: &Cut) -> ReadFrom {
        let mut last = None;
        for (thread, list) in self.writes_of(var) {
            let done = cut[thread.index()];
            let within = list.partition_point(|&at| self.history.nth(At(at)) < done);
            if within > 0 {
                last = last.max(Some(list[within - 1]));
            }
        }
        last.map_or(ReadFrom::Initial, |at| ReadFrom::Write(At(at)))
    }

    pub(crate) fn contains(&self, cut: &Cut, at: At) -> bool {
        self.history.nth(at) < cut[self.history.event(at).thread.index()]
    }

    fn find_held(&mut self) {
        let mut open: Vec<Vec<u32>> = vec![Vec::new(); self.history.thread_count()];
        for at in self.history.all() {
            let Some(id) = self.history.section_index(at) else { continue };
            let id = id as u32;
            let thread = self.history.event(at).thread.index();
            if self.section(id).enter == at {
                open[thread].push(id);
            } else {
                open[thread].retain(|&other| other != id);
            }
            let start = self.held_sections.len() as u32;
            self.held_sections.extend_from_slice(&open[thread]);
            let end = self.held_sections.len() as u32;
            self.held[thread].push(LockInterval { from: self.history.nth(at) + 1, start, end });
        }
    }

    fn group_sections(&self) -> Groups {
        let sections = self.history.sections();
        let key = |s: &Section| s.lock.index() * 2 + usize::from(s.shared);
        let items = sections.iter().enumerate().map(|(id, s)| (key(s), s.thread, id as u32));
        Groups::new(items.collect())
    }

    fn group_writes(&self) -> Groups {
        let mut items = Vec::new();
        for var in 0..self.history.var_count() {
            for &at in self.history.writes(VarId(var as u32)) {
                items.push((var, self.history.event(at).thread, at.0));
            }
        }
        Groups::new(items)
    }

    fn group_values(&mut self) {
        let mut items = Vec::new();
        for var in (0..self.history.var_count() as u32).map(VarId) {
            for &at in self.history.writes(var) {
                let event = self.history.event(at);
                if let Some(value) = event.value() {
                    let fresh = self.values.len() as u32;
                    let key = *self.values.entry((var, value)).or_insert(fresh);
                    items.push((key as usize, event.thread, at.0));
                }
            }
        }
        self.alike = Groups::new(items);
    }
}

/// Whether two sections must not overlap: the same lock, not both shared, not one thread.
pub(crate) fn exclude_each_other(a: &Section, b: &Section) -> bool {
    a.thread != b.thread && a.lock == b.lock && !(a.shared && b.shared)
}
