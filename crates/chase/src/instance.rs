//! Did it happen? Looks for instances of targets in a run.

use rustc_hash::FxHashMap;
use untorn_predict::{At, BlockId, Origin};
use untorn_trace::{Op, SiteId, VarId};

use crate::evidence::Run;
use crate::target::Key;

/// Third events looked at for one target: a place in a hot loop has millions.
const MOST_LOOKED_AT: usize = 100_000;

/// The accesses of a run by place and variable, in order.
#[derive(Debug)]
pub(crate) struct Accesses<'r> {
    run: &'r Run,
    by_place: FxHashMap<(SiteId, VarId), Vec<At>>,
    by_site: FxHashMap<SiteId, Vec<At>>,
}

impl<'r> Accesses<'r> {
    /// Of the places that the keys name; nothing else is kept.
    pub(crate) fn new<'k>(run: &'r Run, keys: impl Iterator<Item = &'k Key>) -> Self {
        let mut by_site: FxHashMap<SiteId, Vec<At>> = FxHashMap::default();
        for key in keys {
            for place in &key.places {
                by_site.extend(run.site(place).map(|site| (site, Vec::new())));
            }
        }
        let mut by_place: FxHashMap<(SiteId, VarId), Vec<At>> = FxHashMap::default();
        for at in run.history.all() {
            let event = run.history.event(at);
            let (Op::Read { var, .. } | Op::Write { var, .. }) = event.op else { continue };
            if let Some(all) = by_site.get_mut(&event.site) {
                all.push(at);
                by_place.entry((event.site, var)).or_default().push(at);
            }
        }
        Self { run, by_place, by_site }
    }

    /// The first instance of a target, if it happened in this run.
    pub(crate) fn find(&self, key: &Key) -> Option<[At; 3]> {
        let site = |place: &String| self.run.site(place);
        let [first, second, third] = &key.places;
        let (first, second, third) = (site(first)?, site(second)?, site(third)?);
        let lasts = self.by_site.get(&third)?.iter().take(MOST_LOOKED_AT);
        lasts.copied().find_map(|last| self.ending_at(key, first, second, last))
    }

    fn ending_at(&self, key: &Key, first: SiteId, second: SiteId, last: At) -> Option<[At; 3]> {
        let history = &self.run.history;
        let thread = history.event(last).thread;
        let var = VarId(history.event(last).op.target());
        let before = |site: SiteId| {
            let all = self.by_place.get(&(site, var)).map_or(&[][..], Vec::as_slice);
            &all[..all.partition_point(|&at| at < last)]
        };
        let mut own = before(first).iter().rev().copied();
        let start = own.find(|&at| history.event(at).thread == thread)?;
        if !self.is_one_block(key, start, last) {
            return None;
        }
        let foreign = before(second);
        let between = &foreign[foreign.partition_point(|&at| at < start)..];
        let intruder = between.iter().copied().find(|&at| history.event(at).thread != thread)?;
        Some([start, intruder, last])
    }

    /// Whether a block of that name and origin is around both.
    fn is_one_block(&self, key: &Key, first: At, last: At) -> bool {
        let chain = |at: At| {
            std::iter::successors(self.run.history.block_of(at), |&id| {
                self.run.history.block(id).outer
            })
        };
        let around: Vec<BlockId> = chain(first).collect();
        chain(last).filter(|id| around.contains(id)).any(|id| {
            let block = self.run.history.block(id);
            let named = self.run.tables.labels.get(block.label).unwrap_or_default() == key.block;
            block.origin == key.origin && (named || key.origin == Origin::Declared)
        })
    }
}
