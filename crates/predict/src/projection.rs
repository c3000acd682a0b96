//! The part of a run that predictions are about: accesses of shared variables, synchronisation, the blocks around them.
//!
//! Of the accesses of a large program nine of ten are to variables that one thread alone touches, or that nobody
//! writes. No reordering can change what they read, so no prediction is about them. The projection of a run leaves them
//! out, and with them blocks without an access that is left, and branches, of which it keeps where they matter.
//!
//! **Paper:** none; that local events do not matter is the first reduction of every partial-order method (Lipton,
//! *Reduction: a method of proving properties of parallel programs*, CACM 1975). `docs/design/036-projection.md` has the
//! theorem and its proof.
//!
//! What is kept:
//! * reads and writes of a variable that two threads access and one writes ([`Sharing`]);
//! * everything that orders threads: locks, waits, notifications, forks, joins; the first and the last event of each
//!   thread, because forks come before the one and joins after the other, as [`Op::HIDDEN`] if they are nothing else;
//! * beginning and end of each block and activation with a kept access inside;
//! * before which events a thread that has read something else would have stopped ([`heeds`](crate::History::heeds)): what it did in
//!   between, a branch above all, may have depended on the value.
//!
//! Promise: a goal of kept events, but for those that are hidden, has a reordering in the projection exactly if it has
//! one in the run, for each strength; [`lift`](crate::History::lift) is how the one becomes the other. Candidates are
//! the same, and the simulation decides the same. Engines that look at a bounded number of events look farther; one with
//! a budget may answer *undecided* where it did not before, or the other way round.
//!
//! Two passes, each with memory for the variables and for what is kept.

use std::fmt;

use rustc_hash::FxHashMap;
use untorn_trace::{Access, Event, Op, ThreadId, VarId};

use crate::history::{HistoryError, Origin, Turns, Whole};

/// Who accesses a variable.
#[derive(Clone, Copy, Debug)]
struct Users {
    /// The thread that came first; `NOBODY`, or `MANY` if there were others.
    who: u32,
    is_written: bool,
}

const NOBODY: u32 = u32::MAX;
const MANY: u32 = u32::MAX - 1;

/// The first pass: which variables are shared.
#[derive(Debug, Default)]
pub struct Sharing {
    users: Vec<Users>,
    has_branches: bool,
    blocks: [u64; 2],
}

impl Sharing {
    /// The next events of the run.
    pub fn add(&mut self, events: &[Event]) {
        for event in events {
            match event.op {
                Op::Read { var, .. } => self.access(event.thread, var, false),
                Op::Write { var, .. } => self.access(event.thread, var, true),
                Op::Branch { count } => self.has_branches |= count > 0,
                Op::Begin { .. } => self.blocks[0] += 1,
                Op::Call { .. } => self.blocks[1] += 1,
                _ => {}
            }
        }
    }

    fn access(&mut self, thread: ThreadId, var: VarId, writes: bool) {
        if self.users.len() <= var.index() {
            self.users.resize(var.index() + 1, Users { who: NOBODY, is_written: false });
        }
        let users = &mut self.users[var.index()];
        users.is_written |= writes;
        users.who = match users.who {
            NOBODY => thread.0,
            who if who == thread.0 => who,
            _ => MANY,
        };
    }

    /// Whether two threads access the variable, and one writes.
    pub fn is_shared(&self, var: VarId) -> bool {
        self.users.get(var.index()).is_some_and(|users| users.who == MANY && users.is_written)
    }

    /// How many blocks of an origin there are.
    pub const fn blocks(&self, origin: Origin) -> u64 {
        match origin {
            Origin::Declared => self.blocks[0],
            Origin::Inferred => self.blocks[1],
        }
    }
}

/// What a value of a variable leads to, by variable.
pub struct Steering<'a> {
    /// Its value decides which locations are accessed later: see `Knowledge`.
    pub steers: &'a dyn Fn(VarId) -> bool,
    /// It was found by way of a value.
    pub elements: &'a dyn Fn(VarId) -> bool,
}

/// A block that has begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Where its beginning was put.
    slot: usize,
    origin: Origin,
    /// It is the first event of its thread.
    is_first: bool,
    is_needed: bool,
}

/// A thread, as far as the second pass has come.
#[derive(Debug, Default)]
struct Thread {
    has_begun: bool,
    /// Its first event, if that is the first half of an update, which was left out.
    begun: Option<(u32, VarId)>,
    open: Vec<Open>,
    /// What its next event heeds: see [`History::heeds`](crate::History::heeds).
    heeds: u32,
    /// Its last event, if that was left out.
    last: Option<(u32, Event)>,
    /// Where it last wrote variables that are not shared, if their values lead elsewhere.
    written: FxHashMap<VarId, u32>,
}

/// A run without what predictions are not about.
#[derive(Debug)]
pub struct Projected {
    pub(crate) events: Vec<Event>,
    pub(crate) whole: Whole,
    /// By event: the number that came with it; 0 if none did.
    pub tags: Vec<u32>,
}

/// What else is known of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Remark {
    /// A number of the caller's, which stays with the event.
    pub tag: u32,
    /// It is kept, whatever it is. As long as it says nothing to engines that is ([`Op::HIDDEN`]), it changes nothing.
    pub is_kept: bool,
}

impl fmt::Debug for Steering<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steering").finish_non_exhaustive()
    }
}

/// The second pass.
#[derive(Debug)]
pub struct Projector<'a> {
    sharing: &'a Sharing,
    steering: Steering<'a>,
    threads: Vec<Thread>,
    /// Events, their positions in the run, and what they heed; those of position `DROPPED` do not count.
    events: Vec<Event>,
    positions: Vec<u32>,
    heeds: Vec<u32>,
    tags: Vec<u32>,
    /// The number of the event that is looked at.
    tag: u32,
    dropped: usize,
    turns: Turns,
    /// See [`Whole::updates`].
    updates: Vec<u32>,
    /// Events behind as many as there are numbers for.
    beyond: u64,
}

/// The position of a block's beginning that turned out to be of no use.
const DROPPED: u32 = u32::MAX;

/// So many of them are removed at once.
const MANY_DROPPED: usize = 1 << 16;

impl<'a> Projector<'a> {
    /// `sharing` has seen the whole run.
    pub fn new(sharing: &'a Sharing, steering: Steering<'a>) -> Self {
        Self {
            sharing,
            steering,
            threads: Vec::new(),
            events: Vec::new(),
            positions: Vec::new(),
            heeds: Vec::new(),
            tags: Vec::new(),
            tag: 0,
            dropped: 0,
            turns: Turns::default(),
            updates: Vec::new(),
            beyond: 0,
        }
    }

    /// The next events of the run.
    pub fn add(&mut self, events: &[Event]) {
        for &event in events {
            self.add_one(event, Remark::default());
        }
    }

    /// The next event of the run, and what is known of it.
    pub fn add_one(&mut self, event: Event, remark: Remark) {
        let Some(at) = self.turns.add(event.thread) else {
            self.beyond += 1;
            return;
        };
        if self.threads.len() <= event.thread.index() {
            self.threads.resize_with(event.thread.index() + 1, Thread::default);
        }
        self.tag = remark.tag;
        if remark.is_kept {
            self.threads[event.thread.index()].has_begun = true;
            self.keep(at, event);
        } else {
            self.event(at, event);
        }
    }

    /// How many events are kept so far, at most.
    pub fn kept(&self) -> usize {
        self.events.len()
    }

    fn event(&mut self, at: u32, event: Event) {
        let thread = &mut self.threads[event.thread.index()];
        let is_first = !std::mem::replace(&mut thread.has_begun, true);
        let begun = thread.begun.take();
        if let (Some((read, of)), Op::Write { var, access: Access::Update, .. }) = (begun, event.op)
            && of == var
        {
            self.updates.push(read);
        }
        match event.op {
            Op::Read { var, .. } | Op::Write { var, .. } if self.sharing.is_shared(var) => {
                self.access(at, event);
            }
            Op::Read { .. } | Op::Write { .. } | Op::Branch { .. } => {
                self.pass(at, event);
                self.leave_out(at, event, is_first);
            }
            Op::Request { .. }
            | Op::Argument { .. }
            | Op::Input { .. }
            | Op::Allocate { .. }
            | Op::Deallocate { .. } => self.leave_out(at, event, is_first),
            Op::Begin { .. } => self.open(at, event, Origin::Declared, is_first),
            Op::Call { .. } => self.open(at, event, Origin::Inferred, is_first),
            Op::End { .. } => self.close(at, event, Origin::Declared, is_first),
            Op::Return { .. } => self.close(at, event, Origin::Inferred, is_first),
            Op::Acquire { .. }
            | Op::Release { .. }
            | Op::Wait { .. }
            | Op::Resume { .. }
            | Op::Notify { .. }
            | Op::Fork { .. }
            | Op::Join { .. } => self.keep(at, event),
        }
    }

    fn keep(&mut self, at: u32, event: Event) {
        let thread = &mut self.threads[event.thread.index()];
        thread.last = None;
        self.events.push(event);
        self.positions.push(at);
        self.heeds.push(thread.heeds);
        self.tags.push(self.tag);
    }

    fn leave_out(&mut self, at: u32, event: Event, is_first: bool) {
        if is_first {
            self.keep(at, Event { op: Op::HIDDEN, ..event });
            if let Op::Read { var, access: Access::Update, .. } = event.op {
                self.threads[event.thread.index()].begun = Some((at, var));
            }
        } else {
            self.threads[event.thread.index()].last = Some((at, event));
        }
    }

    fn access(&mut self, at: u32, mut event: Event) {
        let thread = &mut self.threads[event.thread.index()];
        for open in thread.open.iter_mut().rev().take_while(|open| !open.is_needed) {
            open.is_needed = true;
        }
        // The read of an update comes right before its write. If something was left out in between, it is none.
        if let Op::Write { access: access @ Access::Update, .. } = &mut event.op
            && thread.last.is_some()
        {
            *access = Access::Volatile;
        }
        self.keep(at, event);
    }

    /// What is left out may matter to a thread that has read something else before.
    fn pass(&mut self, at: u32, event: Event) {
        let thread = &mut self.threads[event.thread.index()];
        let heeded = match event.op {
            Op::Branch { count } => (count > 0).then_some(at),
            Op::Read { var, .. } | Op::Write { var, .. } if (self.steering.elements)(var) => {
                Some(at)
            }
            // It leads elsewhere if the thread wrote it after it had read something else.
            Op::Read { var, .. } if (self.steering.steers)(var) => {
                thread.written.get(&var).copied()
            }
            _ => None,
        };
        thread.heeds = thread.heeds.max(heeded.unwrap_or(0));
        if let Op::Write { var, .. } = event.op
            && (self.steering.steers)(var)
        {
            thread.written.insert(var, at);
        }
    }

    fn open(&mut self, at: u32, event: Event, origin: Origin, is_first: bool) {
        let slot = self.events.len();
        self.keep(at, event);
        let open = Open { slot, origin, is_first, is_needed: false };
        self.threads[event.thread.index()].open.push(open);
    }

    /// As `OpenBlocks` does: the two kinds need not nest.
    fn close(&mut self, at: u32, event: Event, origin: Origin, is_first: bool) {
        let open = &mut self.threads[event.thread.index()].open;
        let Some(place) = open.iter().rposition(|open| open.origin == origin) else {
            return self.leave_out(at, event, is_first);
        };
        let mut block = open.remove(place);
        if place < open.len() {
            // A block that began inside and goes on has this one around it for ever: see `Block::outer`.
            block.is_needed = true;
            open[..place].iter_mut().for_each(|outer| outer.is_needed = true);
        }
        if block.is_needed {
            return self.keep(at, event);
        }
        if block.is_first {
            self.events[block.slot].op = Op::HIDDEN;
        } else {
            self.positions[block.slot] = DROPPED;
            self.dropped += 1;
        }
        self.leave_out(at, event, is_first);
        if self.dropped >= MANY_DROPPED && self.dropped * 2 > self.events.len() {
            self.compact();
        }
    }

    /// Removes the beginnings of blocks that turned out to be of no use.
    fn compact(&mut self) {
        let mut slots: Vec<&mut usize> = self
            .threads
            .iter_mut()
            .flat_map(|thread| thread.open.iter_mut().map(|open| &mut open.slot))
            .collect();
        slots.sort_unstable();
        let mut slots = slots.into_iter().peekable();
        let mut kept = 0;
        for index in 0..self.events.len() {
            while let Some(slot) = slots.next_if(|slot| **slot == index) {
                *slot = kept;
            }
            if self.positions[index] == DROPPED {
                continue;
            }
            self.events[kept] = self.events[index];
            self.positions[kept] = self.positions[index];
            self.heeds[kept] = self.heeds[index];
            self.tags[kept] = self.tags[index];
            kept += 1;
        }
        self.events.truncate(kept);
        self.positions.truncate(kept);
        self.heeds.truncate(kept);
        self.tags.truncate(kept);
        self.dropped = 0;
    }

    /// The projection, after the last event of the run.
    ///
    /// # Errors
    /// If the run has more events than there are numbers for.
    pub fn finish(mut self) -> Result<Projected, HistoryError> {
        if self.beyond > 0 {
            return Err(HistoryError::TooLong(DROPPED as usize + self.beyond as usize));
        }
        self.compact();
        let mut ends: Vec<(u32, Event, u32)> = self
            .threads
            .iter()
            .filter_map(|thread| thread.last.map(|(at, event)| (at, event, thread.heeds)))
            .collect();
        ends.sort_unstable_by_key(|(at, ..)| *at);
        self.insert(&ends);
        let Self { events, positions, heeds, tags, turns, mut updates, .. } = self;
        updates.sort_unstable();
        let has_branches = self.sharing.has_branches;
        let whole = Whole { positions, heeds, turns, updates, has_branches };
        Ok(Projected { events, whole, tags })
    }

    /// Puts the last events of threads where they belong.
    fn insert(&mut self, ends: &[(u32, Event, u32)]) {
        let old = self.events.len();
        let hidden = |event: &Event| Event { op: Op::HIDDEN, ..*event };
        self.events.extend(ends.iter().map(|(_, event, _)| hidden(event)));
        self.positions.extend(ends.iter().map(|(at, ..)| *at));
        self.heeds.extend(ends.iter().map(|(.., heeds)| *heeds));
        self.tags.resize(self.events.len(), 0);
        let (mut from, mut left) = (old, ends.len());
        while left > 0 {
            let (at, event, heeds) = &ends[left - 1];
            let to = from + left - 1;
            if from > 0 && self.positions[from - 1] > *at {
                from -= 1;
                self.events[to] = self.events[from];
                self.positions[to] = self.positions[from];
                self.heeds[to] = self.heeds[from];
                self.tags[to] = self.tags[from];
            } else {
                left -= 1;
                self.events[to] = hidden(event);
                self.positions[to] = *at;
                self.heeds[to] = *heeds;
                self.tags[to] = 0;
            }
        }
    }
}
