//! What the accesses around a finding allow to be said: who knew what, and what became of a write.
//!
//! Whatever is not certain is not said. That something did not happen is known only where every access is at hand.

use crate::model::Finding;
use crate::operation::{Action, Operation};

/// Accesses that [`crate::model::Finding::operations`] has at most beside those of its cycle, if there is no scene.
const MAX_AROUND: usize = 16;

/// The accesses that a finding shows, in trace order.
#[derive(Debug)]
pub struct AccessOrder<'a> {
    accesses: Vec<&'a Operation>,
    /// Nothing is missing between the first and the last of them.
    whole: bool,
}

/// What a write of a block did that had read the variable before another thread wrote it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Update<'a> {
    /// It replaced what the block had not read.
    Lost,
    /// The block had read the variable once more, and got something else than before: what it decided before that was
    /// outdated when it acted, but it knew what it replaced.
    Stale { now: &'a Operation },
    /// Neither is certain.
    Open,
}

fn is_access(operation: &&Operation) -> bool {
    matches!(operation.action, Action::Read | Action::Write)
}

impl<'a> AccessOrder<'a> {
    pub fn new(finding: &'a Finding) -> Self {
        let mut course = Self::unsorted(finding);
        // They are, unless somebody has written the report by hand.
        course.accesses.sort_by_key(|op| op.at);
        course
    }

    fn unsorted(finding: &'a Finding) -> Self {
        match &finding.scene {
            Some(scene) => Self {
                accesses: scene
                    .steps
                    .iter()
                    .map(|step| &step.operation)
                    .filter(is_access)
                    .collect(),
                whole: scene.whole,
            },
            None => Self {
                accesses: finding.operations.iter().filter(is_access).collect(),
                whole: finding.operations.len() < MAX_AROUND,
            },
        }
    }

    /// The accesses of a variable between two positions, without both.
    fn between(
        &self,
        target: &'a str,
        from: u64,
        to: u64,
    ) -> impl DoubleEndedIterator<Item = &'a Operation> + '_ {
        let start = self.accesses.partition_point(|op| op.at <= from);
        let end = self.accesses.partition_point(|op| op.at < to).max(start);
        self.accesses[start..end].iter().copied().filter(move |op| op.target == target)
    }

    /// The access at a position.
    pub fn at(&self, at: u64) -> Option<&'a Operation> {
        let place = self.accesses.binary_search_by_key(&at, |op| op.at).ok()?;
        Some(self.accesses[place])
    }

    /// Whether up to a position the thread has not accessed the variable again.
    pub fn knows_only(&self, known: &'a Operation, until: u64) -> bool {
        let mut later = self.between(&known.target, known.at, until);
        self.whole && later.all(|op| op.thread != known.thread)
    }

    /// Whether no write lies between two accesses of a variable.
    pub fn is_direct(&self, from: &'a Operation, to: &Operation) -> bool {
        let mut between = self.between(&from.target, from.at, to.at);
        // A call that changes a collection need not replace what another one did.
        !from.is_of_contents()
            && self.whole
            && from.at < to.at
            && between.all(|op| op.action != Action::Write)
    }

    /// Whether the read returned what the write of another thread had written.
    pub fn is_source(&self, write: &'a Operation, read: &Operation) -> bool {
        write.value == read.value && self.is_direct(write, read)
    }

    /// Whether the thread did not write the variable between two positions.
    pub fn is_unwritten(&self, thread: &str, target: &'a str, from: u64, until: u64) -> bool {
        let mut between = self.between(target, from, until);
        self.whole && between.all(|op| op.action != Action::Write || op.thread != thread)
    }

    /// The latest write of a variable before a position.
    pub fn latest_write(&self, target: &'a str, before: u64) -> Option<&'a Operation> {
        let mut all = self.between(target, 0, before).rev();
        all.find(|op| op.action == Action::Write).filter(|_| self.whole)
    }

    /// The next access of the same variable.
    pub fn next(&self, after: &'a Operation) -> Option<&'a Operation> {
        self.between(&after.target, after.at, u64::MAX).next().filter(|_| self.whole)
    }

    /// The write by which a block acted that had read a variable twice, with another value the second time: its next
    /// access of the variable in the same transaction, if nobody else has written it since.
    pub fn acted(&self, [saw, _, now]: [&'a Operation; 3]) -> Option<&'a Operation> {
        let mut later = self.between(&now.target, now.at, u64::MAX);
        let next = later.find(|op| op.thread == now.thread || op.action == Action::Write)?;
        let is_own = next.thread == now.thread && next.transaction == now.transaction;
        let is_news = now.value.is_some() && saw.value.is_some() && now.value != saw.value;
        (self.whole && is_own && is_news && next.action == Action::Write).then_some(next)
    }

    /// What the last of three accesses did: a read, a write of another thread, and a write.
    pub fn update(&self, [saw, changed, acted]: [&'a Operation; 3]) -> Update<'a> {
        let mut own = self
            .between(&acted.target, changed.at, acted.at)
            .filter(|op| op.thread == acted.thread && op.action == Action::Read);
        if let Some(now) = own.next_back() {
            let is_news = now.value.is_some() && saw.value.is_some() && now.value != saw.value;
            let is_true = self.is_direct(changed, acted) && now.value == changed.value;
            return if is_news && is_true { Update::Stale { now } } else { Update::Open };
        }
        // The same value over the same value: nothing is missing afterwards.
        let is_other = changed.value.is_none() || changed.value != acted.value;
        if is_other && self.is_direct(changed, acted) { Update::Lost } else { Update::Open }
    }
}
