//! The locks that each thread holds, at every event.
//!
//! A set of sections is stored once for each change; events in between share it.

use untorn_trace::ThreadId;

use crate::history::{At, History};

/// A critical section: the position in [`History::sections`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SectionId(pub u32);

#[derive(Debug)]
pub struct Holds {
    /// By event: the sections that are open while it happens; an enter and a leave are inside.
    set_of: Vec<u32>,
    /// Set `i` is `members[ends[i - 1]..ends[i]]`, outermost first.
    ends: Vec<u32>,
    members: Vec<SectionId>,
    /// By thread, in the order of their enters.
    of_thread: Vec<Vec<SectionId>>,
}

impl Holds {
    pub(super) fn new(history: &History) -> Self {
        let mut holds = Self {
            set_of: Vec::with_capacity(history.len()),
            ends: vec![0],
            members: Vec::new(),
            of_thread: vec![Vec::new(); history.thread_count()],
        };
        let mut open: Vec<(u32, Vec<SectionId>)> = vec![(0, Vec::new()); history.thread_count()];
        let mut entered = 0;
        for at in history.all() {
            let thread = history.event(at).thread.index();
            let (set, held) = &mut open[thread];
            let section = history.section_at(at);
            if section.is_some_and(|section| section.enter == at) {
                // Sections are numbered by their enters.
                let id = SectionId(entered);
                entered += 1;
                held.push(id);
                holds.of_thread[thread].push(id);
                *set = holds.add(held);
            }
            holds.set_of.push(*set);
            if section.is_some_and(|section| section.leave == Some(at)) {
                held.retain(|id| history.sections()[id.0 as usize].leave != Some(at));
                *set = holds.add(held);
            }
        }
        holds
    }

    fn add(&mut self, held: &[SectionId]) -> u32 {
        if held.is_empty() {
            return 0;
        }
        self.members.extend(held);
        self.ends.push(self.members.len() as u32);
        self.ends.len() as u32 - 1
    }

    /// The sections that are open while the event happens, outermost first.
    #[inline]
    pub fn at(&self, at: At) -> &[SectionId] {
        let set = self.set_of[at.index()] as usize;
        let start = if set == 0 { 0 } else { self.ends[set - 1] as usize };
        &self.members[start..self.ends[set] as usize]
    }

    /// The sections of a thread, in the order of their enters.
    pub fn sections_of(&self, thread: ThreadId) -> &[SectionId] {
        &self.of_thread[thread.index()]
    }

    /// The sections that are open right after the event.
    pub fn after(&self, at: At, history: &History) -> impl Iterator<Item = SectionId> {
        let left = history.section_at(at).filter(|section| section.leave == Some(at)).copied();
        self.at(at)
            .iter()
            .copied()
            .filter(move |id| left.is_none_or(|left| history.sections()[id.0 as usize] != left))
    }
}
