//! Did it happen? Looks for instances of targets in a run.

use rustc_hash::FxHashMap;
use untorn_predict::{At, Origin};
use untorn_trace::{Op, SiteId, VarId};

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
    pub(crate) fn all(&self) -> [At; 4] {
        let [first, last] = self.own;
        let [one, other] = self.other;
        [first, one, other, last]
    }
}

/// Where the other thread accesses two variables.
struct Remote {
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

/// The accesses of a run by place and variable, in order.
#[derive(Debug)]
pub(crate) struct Accesses<'r> {
    run: &'r Run,
    by_place: FxHashMap<(SiteAccess, VarId), Vec<At>>,
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
        let mut by_place: FxHashMap<(SiteAccess, VarId), Vec<At>> = FxHashMap::default();
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
                by_place.entry((place, var)).or_default().push(at);
            }
        }
        Self { run, by_place, by_site, waits }
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
                let remote = Remote { sites: [other, more], same_order, is_one_object };
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
        let own = self.before((first, var), last).iter().rev().copied();
        let start = own.into_iter().find(|&at| history.event(at).thread == thread)?;
        if !self.is_one_block(key, start, last) {
            return None;
        }
        let foreign = self.between((second, var), start, last);
        let intruder = foreign.iter().copied().find(|&at| history.event(at).thread != thread)?;
        Some(Instance { own: [start, last], other: [intruder, intruder] })
    }

    /// The block accessed x and then y; of x the other thread came later, of y earlier.
    fn crossing_at(
        &self,
        key: &Key,
        first: SiteAccess,
        remote: &Remote,
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
        let is_foreign = |at: &At| history.event(*at).thread != thread;
        if remote.same_order {
            let [site_x, site_y] = remote.sites;
            let xs = self.between((site_x, x), start, last).iter().copied().filter(is_foreign);
            return xs.take(MAX_TRIED).find_map(|at_x| {
                let mut ys = self.between((site_y, y), at_x, last).iter().copied();
                let at_y = ys.find(|&at| history.event(at).thread == history.event(at_x).thread)?;
                Some(Instance { own: [start, last], other: [at_x, at_y] })
            });
        }
        let [site_y, site_x] = remote.sites;
        let ys = self.before((site_y, y), last).iter().rev().copied().filter(is_foreign);
        ys.into_iter().take(MAX_TRIED).find_map(|at_y| {
            let xs = self.by_place.get(&(site_x, x)).map_or(&[][..], Vec::as_slice);
            let mut xs = xs[xs.partition_point(|&at| at < start.max(at_y))..].iter().copied();
            let at_x = xs.find(|&at| history.event(at).thread == history.event(at_y).thread)?;
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

    fn before(&self, place: (SiteAccess, VarId), end: At) -> &[At] {
        let all = self.by_place.get(&place).map_or(&[][..], Vec::as_slice);
        &all[..all.partition_point(|&at| at < end)]
    }

    fn between(&self, place: (SiteAccess, VarId), start: At, end: At) -> &[At] {
        let all = self.before(place, end);
        &all[all.partition_point(|&at| at <= start)..]
    }

    /// Whether two accesses are of two variables, of one object or of two as is wanted.
    fn is_pair(&self, one: At, other: At, remote: &Remote) -> bool {
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
