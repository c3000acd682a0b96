//! Did it happen? Looks for instances of targets in a run.

use std::ops::Range;

use rustc_hash::FxHashMap;
use untorn_predict::{At, Origin};
use untorn_trace::{Op, SiteId, ThreadId, VarId};

use crate::run::Run;
use crate::target::{Key, Shape};

/// What happened: two accesses of a block, and what came between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Instance {
    /// In the order of time.
    pub own: [At; 2],
    /// What came after the first and conflicts with it, and what came before the second and conflicts with
    /// that. One and the same access if there is one variable only.
    pub other: [At; 2],
}

impl Instance {
    /// The same in another history of the run.
    pub(crate) fn relocate(&self, place: impl Fn(At) -> At) -> Self {
        Self { own: self.own.map(&place), other: self.other.map(&place) }
    }

    pub(crate) fn all(&self) -> [At; 4] {
        let [first, last] = self.own;
        let [one, other] = self.other;
        [first, one, other, last]
    }
}

/// Where the other thread accesses two variables.
struct IntruderSites {
    /// In the order of time.
    sites: [SiteAccess; 2],
    /// The variable that the torn block accesses first comes first here, too.
    same_order: bool,
    is_one_object: bool,
}

/// Accesses of one place that are tried for one instance of two variables.
const MAX_TRIED: usize = 1_000;

/// Third events looked at for one target: a place in a hot loop has millions.
const MAX_LOOKED_AT: usize = 100_000;

/// A place, and whether it writes there: the halves of an update share one.
type SiteAccess = (SiteId, bool);

/// The accesses of one variable at one place, in order. A thread that spins makes thousands of them, so nobody goes
/// through all of them for each access of another place.
#[derive(Debug, Default)]
struct PlaceAccesses {
    all: Vec<At>,
    threads: Vec<ThreadId>,
    /// By access: the first later one, and the last earlier one, of another thread. Filled in at the end.
    next_foreign: Vec<usize>,
    previous_foreign: Vec<Option<usize>>,
}

impl PlaceAccesses {
    fn push(&mut self, at: At, thread: ThreadId) {
        self.all.push(at);
        self.threads.push(thread);
    }

    fn link(&mut self) {
        let count = self.all.len();
        self.next_foreign = vec![count; count];
        for index in (0..count.saturating_sub(1)).rev() {
            let is_same = self.threads[index] == self.threads[index + 1];
            let next = if is_same { self.next_foreign[index + 1] } else { index + 1 };
            self.next_foreign[index] = next;
        }
        self.previous_foreign = vec![None; count];
        for index in 1..count {
            let is_same = self.threads[index] == self.threads[index - 1];
            self.previous_foreign[index] =
                if is_same { self.previous_foreign[index - 1] } else { Some(index - 1) };
        }
    }

    /// Those of other threads than `thread` in a range of time, in order.
    fn foreign(&self, thread: ThreadId, range: Range<At>) -> impl Iterator<Item = At> {
        let skip = move |index: usize| {
            let is_own = self.threads.get(index) == Some(&thread);
            if is_own { self.next_foreign[index] } else { index }
        };
        let first = skip(self.all.partition_point(|&at| at < range.start));
        let indices = std::iter::successors(Some(first), move |&index| Some(skip(index + 1)));
        indices
            .map_while(|index| self.all.get(index).copied())
            .take_while(move |&at| at < range.end)
    }

    /// Those of other threads before `end`, the latest first.
    fn latest_foreign(&self, thread: ThreadId, end: At) -> impl Iterator<Item = At> {
        let skip = move |index: usize| {
            let is_own = self.threads[index] == thread;
            if is_own { self.previous_foreign[index] } else { Some(index) }
        };
        let last = self.all.partition_point(|&at| at < end).checked_sub(1).and_then(skip);
        let indices =
            std::iter::successors(last, move |&index| index.checked_sub(1).and_then(skip));
        indices.map(|index| self.all[index])
    }
}

/// The accesses of a run by place and variable, in order.
#[derive(Debug)]
pub(crate) struct Accesses<'r> {
    run: &'r Run,
    by_place: FxHashMap<(SiteAccess, VarId), PlaceAccesses>,
    by_thread: FxHashMap<(SiteAccess, VarId, ThreadId), Vec<At>>,
    by_site: FxHashMap<SiteAccess, Vec<At>>,
    /// By thread, in order: where it waits on a monitor.
    waits: Vec<Vec<At>>,
}

impl<'r> Accesses<'r> {
    /// Of the places that the keys name; nothing else is kept.
    pub(crate) fn new<'k>(run: &'r Run, keys: impl Iterator<Item = &'k Key>) -> Self {
        let mut by_site: FxHashMap<SiteAccess, Vec<At>> = FxHashMap::default();
        for key in keys {
            for (place, writes) in key.places.iter().zip(key.shape.writes()) {
                by_site.extend(run.site(place).map(|site| ((site, writes), Vec::new())));
            }
        }
        let mut by_place: FxHashMap<(SiteAccess, VarId), PlaceAccesses> = FxHashMap::default();
        let mut by_thread: FxHashMap<(SiteAccess, VarId, ThreadId), Vec<At>> = FxHashMap::default();
        let mut waits = vec![Vec::new(); run.history.thread_count()];
        for at in run.history.all() {
            let event = run.history.event(at);
            if matches!(event.op, Op::Wait { .. }) {
                waits[event.thread.index()].push(at);
            }
            let (Op::Read { var, .. } | Op::Write { var, .. }) = event.op else { continue };
            let place = (event.site, matches!(event.op, Op::Write { .. }));
            if let Some(all) = by_site.get_mut(&place) {
                all.push(at);
                by_place.entry((place, var)).or_default().push(at, event.thread);
                by_thread.entry((place, var, event.thread)).or_default().push(at);
            }
        }
        by_place.values_mut().for_each(PlaceAccesses::link);
        Self { run, by_place, by_thread, by_site, waits }
    }

    /// The first instance of a target, if it happened in this run.
    pub(crate) fn find(&self, key: &Key) -> Option<Instance> {
        let places = key.places.iter().zip(key.shape.writes());
        let sites: Option<Vec<SiteAccess>> =
            places.map(|(place, writes)| Some((self.run.site(place)?, writes))).collect();
        let sites = sites?;
        let lasts = self.by_site.get(sites.last()?)?.iter().take(MAX_LOOKED_AT).copied();
        match (key.shape, &sites[..]) {
            (Shape::One(_), &[first, second, _]) => {
                lasts.into_iter().find_map(|last| self.ending_at(key, first, second, last))
            }
            (Shape::Two { same_order, is_one_object, .. }, &[first, other, more, _]) => {
                let remote = IntruderSites { sites: [other, more], same_order, is_one_object };
                lasts.into_iter().find_map(|last| self.crossing_at(key, first, &remote, last))
            }
            _ => None,
        }
    }

    fn ending_at(
        &self,
        key: &Key,
        first: SiteAccess,
        second: SiteAccess,
        last: At,
    ) -> Option<Instance> {
        let history = &self.run.history;
        let thread = history.event(last).thread;
        let var = self.var(last);
        let own = self.by_thread.get(&(first, var, thread))?;
        let start = own[..own.partition_point(|&at| at < last)].last().copied()?;
        let intruder = self.foreign((second, var), thread, start..last).next()?;
        if !self.is_one_block(key, start, last) {
            return None;
        }
        Some(Instance { own: [start, last], other: [intruder, intruder] })
    }

    /// The block accessed x and then y; of x the other thread came later, of y earlier.
    fn crossing_at(
        &self,
        key: &Key,
        first: SiteAccess,
        remote: &IntruderSites,
        last: At,
    ) -> Option<Instance> {
        let history = &self.run.history;
        let thread = history.event(last).thread;
        let all = self.by_site.get(&first)?;
        let earlier = all[..all.partition_point(|&at| at < last)].iter().rev();
        let mut earlier = earlier.copied().take(MAX_TRIED);
        let start = earlier
            .find(|&at| history.event(at).thread == thread && self.is_pair(at, last, remote))?;
        if !self.is_one_block(key, start, last) {
            return None;
        }
        let (x, y) = (self.var(start), self.var(last));
        if remote.same_order {
            let [site_x, site_y] = remote.sites;
            let xs = self.foreign((site_x, x), thread, start..last);
            return xs.take(MAX_TRIED).find_map(|at_x| {
                let at_y = self.next_of((site_y, y, history.event(at_x).thread), at_x)?;
                if at_y >= last {
                    return None;
                }
                Some(Instance { own: [start, last], other: [at_x, at_y] })
            });
        }
        let [site_y, site_x] = remote.sites;
        self.latest_foreign((site_y, y), thread, last).take(MAX_TRIED).find_map(|at_y| {
            let at_x = self.next_of((site_x, x, history.event(at_y).thread), start.max(at_y))?;
            // One access after the other would be serial: only one block that does both crosses. And a block that
            // ran as a whole between the two is not torn, but tears.
            let is_block = self.run.block_around_both([at_x, at_y]).is_some();
            let is_torn = start < at_y || at_x < last;
            (is_block && is_torn).then_some(Instance { own: [start, last], other: [at_x, at_y] })
        })
    }

    fn var(&self, at: At) -> VarId {
        VarId(self.run.history.event(at).op.target())
    }

    /// Accesses of other threads in a range of time, in order.
    fn foreign(
        &self,
        place: (SiteAccess, VarId),
        thread: ThreadId,
        range: Range<At>,
    ) -> impl Iterator<Item = At> {
        let all = self.by_place.get(&place);
        all.into_iter().flat_map(move |all| all.foreign(thread, range.clone()))
    }

    /// Accesses of other threads before `end`, the latest first.
    fn latest_foreign(
        &self,
        place: (SiteAccess, VarId),
        thread: ThreadId,
        end: At,
    ) -> impl Iterator<Item = At> {
        let all = self.by_place.get(&place);
        all.into_iter().flat_map(move |all| all.latest_foreign(thread, end))
    }

    /// The first access of a thread at or after a moment.
    fn next_of(&self, place: (SiteAccess, VarId, ThreadId), start: At) -> Option<At> {
        let all = self.by_thread.get(&place)?;
        all.get(all.partition_point(|&at| at < start)).copied()
    }

    /// Whether two accesses are of two variables, of one object or of two as is wanted.
    fn is_pair(&self, one: At, other: At, remote: &IntruderSites) -> bool {
        let (one, other) = (self.var(one), self.var(other));
        let [object, of_other] = [one, other].map(|var| self.run.objects.of(var));
        let is_one_object = object.is_some() && object == of_other;
        one != other && is_one_object == remote.is_one_object
    }

    /// Whether a block of that name and origin is around both. Who waits on a monitor wants others to run: what comes
    /// before and what comes behind are no one step, whatever else is held meanwhile.
    fn is_one_block(&self, key: &Key, first: At, last: At) -> bool {
        let waits = &self.waits[self.run.history.event(first).thread.index()];
        let next = waits.get(waits.partition_point(|&at| at < first));
        if next.is_some_and(|&wait| wait < last) {
            return false;
        }
        self.run.blocks_around_both([first, last]).any(|id| {
            let block = self.run.history.block(id);
            let named = self.run.tables.labels.get(block.label).unwrap_or_default() == key.block;
            block.origin == key.origin && (named || key.origin == Origin::Declared)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_accesses_are_found_as_if_all_were_looked_at() {
        let mut seed = 7_u64;
        let mut random = |most: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        for _ in 0..2_000 {
            let mut place = PlaceAccesses::default();
            let accesses: Vec<(At, ThreadId)> =
                (0..random(12)).map(|at| (At(at as u32 * 2), ThreadId(random(3) as u32))).collect();
            accesses.iter().for_each(|&(at, thread)| place.push(at, thread));
            place.link();
            let (thread, start, end) =
                (ThreadId(random(3) as u32), At(random(26) as u32), At(random(26) as u32));
            let foreign =
                accesses.iter().filter(|access| access.1 != thread).map(|access| access.0);
            let between: Vec<At> = foreign.clone().filter(|&at| start <= at && at < end).collect();
            let mut before: Vec<At> = foreign.filter(|&at| at < end).collect();
            before.reverse();
            assert_eq!(place.foreign(thread, start..end).collect::<Vec<_>>(), between);
            assert_eq!(place.latest_foreign(thread, end).collect::<Vec<_>>(), before);
        }
    }
}
