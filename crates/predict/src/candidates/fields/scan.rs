//! The pairs of accesses of two variables, of one object or of two that one block reaches, by places.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use untorn_trace::{Op, ThreadId, VarId};

use crate::candidates::blocks::Blocks;
use crate::candidates::forward::Forward;
use crate::candidates::spread::Spread;
use crate::candidates::{BlockScope, CandidatePlace};
use crate::deadline::Deadline;
use crate::facts::HistoryIndex;
use crate::history::{At, BlockId, Origin};

/// Variables of one object, and variables of any object, that a thread has accessed most recently: the first of a pair
/// is one of these.
pub const WINDOW: usize = 8;

/// Groups of pairs of two objects: there may be as many as there are accesses.
const MAX_WIDE_GROUPS: usize = 100_000;

/// The accesses of the other thread for which a pair adds something new.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum OtherAccesses {
    Reads,
    Writes,
    Both,
}

impl OtherAccesses {
    pub(super) fn includes(self, writes: bool) -> bool {
        match self {
            Self::Reads => !writes,
            Self::Writes => writes,
            Self::Both => true,
        }
    }
}

/// What pairs of a group have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Kind {
    /// In the order of the two accesses.
    pub(super) vars: [VarId; 2],
    pub(super) points: [CandidatePlace; 2],
    pub(super) writes: [bool; 2],
    pub(super) foreign: [OtherAccesses; 2],
    pub(super) origin: Origin,
    /// Both variables are parts of one object.
    pub(super) is_one_object: bool,
    /// No lock around both, or a declared block: it can be interrupted. Else it can only be the interrupting block.
    pub(super) is_torn: bool,
}

/// An instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Instance {
    pub(super) first: At,
    pub(super) second: At,
    pub(super) block: BlockId,
}

/// A thread's pairs of a group.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) thread: ThreadId,
    pub(super) pairs: Spread<Instance>,
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) kind: Kind,
    pub(super) samples: Vec<Sample>,
}

/// A thread's last accesses of a variable.
#[derive(Clone, Copy, Debug)]
struct RecentAccess {
    var: VarId,
    object: Owner,
    last: At,
    writes: bool,
    write: Option<At>,
}

struct Scan<'a, 'h> {
    facts: &'a HistoryIndex<'h>,
    blocks: &'a Blocks<'h>,
    sources: BlockScope,
    forward: Forward,
    /// By thread and object, the most recent first.
    recent: FxHashMap<(ThreadId, u32), Recent>,
    /// By thread, whatever the object; the most recent first.
    wide: FxHashMap<ThreadId, Recent>,
    wide_groups: usize,
    left_out: u64,
    known: FxHashMap<Kind, usize>,
    groups: Vec<Group>,
}

/// The object of a variable that counts; `None` if it is a part of none.
pub(super) type Owner = Option<u32>;

type Recent = SmallVec<[RecentAccess; WINDOW]>;

/// What was found, and what was not looked at.
pub(super) struct Scanned {
    /// In the order of their first member.
    pub(super) groups: Vec<Group>,
    /// Accesses that were not examined because time was over.
    pub(super) unseen: u64,
    /// Pairs of two objects that were too many.
    pub(super) left_out: u64,
}

/// Accesses between two readings of the clock.
const LOOK: usize = 4096;

/// All groups. `owners` by variable: the object of each one that counts.
pub(super) fn all(
    facts: &HistoryIndex<'_>,
    blocks: &Blocks<'_>,
    sources: BlockScope,
    deadline: Deadline,
    owners: &[Option<Owner>],
) -> Scanned {
    let mut scan = Scan {
        facts,
        blocks,
        sources,
        forward: Forward::default(),
        recent: FxHashMap::default(),
        wide: FxHashMap::default(),
        wide_groups: 0,
        left_out: 0,
        known: FxHashMap::default(),
        groups: Vec::new(),
    };
    let accesses = || {
        facts.history.all().filter_map(|at| match facts.history.event(at).op {
            Op::Read { var, .. } => owners[var.index()].map(|owner| (at, var, false, owner)),
            Op::Write { var, .. } => owners[var.index()].map(|owner| (at, var, true, owner)),
            _ => None,
        })
    };
    // Once it is over it stays so: what is not added here is not asked for below.
    let is_late = |number: usize| number.is_multiple_of(LOOK) && deadline.is_over();
    if sources == BlockScope::All {
        for (number, (at, var, ..)) in accesses().enumerate() {
            if is_late(number) {
                break;
            }
            scan.forward.add(facts, blocks, (at, var));
        }
    }
    let (mut unseen, mut is_over) = (0, false);
    for (number, (at, var, writes, owner)) in accesses().enumerate() {
        is_over = is_over || is_late(number);
        if is_over {
            unseen += 1;
        } else {
            scan.access(at, var, writes, owner);
        }
    }
    Scanned { groups: scan.groups, unseen, left_out: scan.left_out }
}

impl Scan<'_, '_> {
    fn access(&mut self, at: At, var: VarId, writes: bool, object: Owner) {
        let thread = self.facts.thread(at);
        let new = RecentAccess { var, object, last: at, writes, write: None };
        if let Some(number) = object {
            let mut recent = self.recent.remove(&(thread, number)).unwrap_or_default();
            self.pairs_with(&mut recent, new, true);
            self.recent.insert((thread, number), recent);
        }
        let mut recent = self.wide.remove(&thread).unwrap_or_default();
        self.pairs_with(&mut recent, new, false);
        self.wide.insert(thread, recent);
    }

    /// The pairs of earlier accesses with a new one, of one object or of two; the new one is the most recent then.
    fn pairs_with(&mut self, recent: &mut Recent, new: RecentAccess, is_one_object: bool) {
        let RecentAccess { var, object, last: at, writes, .. } = new;
        let place = recent.iter().position(|recent| recent.var == var);
        let own = place.map(|place| recent.remove(place));
        for other in recent.iter() {
            let is_same = object.is_some() && other.object == object;
            if is_same != is_one_object {
                continue;
            }
            let last = (
                other.last,
                if other.writes { OtherAccesses::Both } else { OtherAccesses::Writes },
            );
            // A write followed by a read: it adds information only for other threads' reads.
            let write = other.write.filter(|_| !other.writes).map(|at| (at, OtherAccesses::Reads));
            for (first, foreign) in std::iter::once(last).chain(write) {
                let Some(of_second) = second(own, first, writes) else { continue };
                self.pair((first, other.var), (at, var), [foreign, of_second], is_one_object);
            }
        }
        let write = if writes { Some(at) } else { own.and_then(|own| own.write) };
        recent.truncate(WINDOW - 1);
        recent.insert(0, RecentAccess { write, ..new });
    }

    fn pair(
        &mut self,
        first: (At, VarId),
        second: (At, VarId),
        foreign: [OtherAccesses; 2],
        is_one_object: bool,
    ) {
        let (facts, history) = (self.facts, self.facts.history);
        let own = self.blocks.transaction(first.0);
        let declared = own.filter(|_| own == self.blocks.transaction(second.0));
        let (block, origin) = match declared {
            Some(block) => (block, Origin::Declared),
            None if self.sources == BlockScope::All => {
                let activation = self.forward.activation(facts, self.blocks, first, second);
                let Some((block, true)) = activation else { return };
                (block, Origin::Inferred)
            }
            None => return,
        };
        let both = [first, second];
        let kind = Kind {
            vars: both.map(|(_, var)| var),
            points: both.map(|(at, var)| CandidatePlace::of(history, at, var)),
            writes: both.map(|(at, _)| matches!(history.event(at).op, Op::Write { .. })),
            foreign,
            origin,
            is_one_object,
            is_torn: declared.is_some() || !facts.is_one_section(first.0, second.0),
        };
        let index = match self.known.get(&kind) {
            Some(&index) => index,
            None if !is_one_object && self.wide_groups >= MAX_WIDE_GROUPS => {
                self.left_out += 1;
                return;
            }
            None => {
                self.wide_groups += usize::from(!is_one_object);
                self.known.insert(kind, self.groups.len());
                self.groups.push(Group { kind, samples: Vec::new() });
                self.groups.len() - 1
            }
        };
        let instance = Instance { first: first.0, second: second.0, block };
        self.groups[index].add(facts.thread(first.0), instance);
    }
}

/// For what an access after `first` adds something new; `own` are the last accesses of its
/// variable before it.
fn second(own: Option<RecentAccess>, first: At, writes: bool) -> Option<OtherAccesses> {
    let is_between = |at: At| at > first;
    match own {
        Some(own) if is_between(own.last) => {
            let new = writes && !own.write.is_some_and(is_between);
            new.then_some(OtherAccesses::Reads)
        }
        _ => Some(if writes { OtherAccesses::Both } else { OtherAccesses::Writes }),
    }
}

impl Group {
    fn add(&mut self, thread: ThreadId, instance: Instance) {
        let place = self.samples.iter().position(|sample| sample.thread == thread);
        let place = place.unwrap_or_else(|| {
            self.samples.push(Sample { thread, pairs: Spread::default() });
            self.samples.len() - 1
        });
        self.samples[place].pairs.push(instance);
    }
}
