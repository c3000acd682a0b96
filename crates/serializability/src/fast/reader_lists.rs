//! Variables that several threads have read since their last write.

use super::location::Txn;

/// Lists of readers, recycled. At most one transaction a thread, its last.
#[derive(Debug, Default)]
pub(super) struct ReaderLists {
    /// Up to [`ReaderLists::PLACES`] the place of a reader is its row; rows beyond follow as they come.
    pub(super) lists: Vec<Vec<Txn>>,
    free: Vec<usize>,
}

impl ReaderLists {
    /// Rows with a place of their own, where they are found without a search.
    pub(super) const PLACES: usize = 64;

    pub(super) fn take(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            self.lists.len() - 1
        })
    }

    pub(super) fn release(&mut self, list: usize) {
        self.lists[list].clear();
        self.free.push(list);
    }

    /// Puts `me` where its thread has its place; `false` if it has none yet.
    #[inline]
    pub(super) fn replace(&mut self, list: usize, me: Txn) -> bool {
        let list = &mut self.lists[list];
        let row = me.row();
        let needed = Self::PLACES.min(row + 1);
        if list.len() < needed {
            list.resize(needed, Txn::NONE);
        }
        if row < Self::PLACES {
            list[row] = me;
            return true;
        }
        match list[Self::PLACES..].iter_mut().find(|other| other.row() == row) {
            Some(old) => {
                *old = me;
                true
            }
            None => false,
        }
    }

    /// Makes room, if `list` would have to grow, by dropping dead entries after the places.
    pub(super) fn prune(list: &mut Vec<Txn>, is_dead: impl Fn(Txn) -> bool) {
        if list.len() == list.capacity() {
            let mut at = 0;
            list.retain(|&txn| {
                at += 1;
                at <= Self::PLACES || !is_dead(txn)
            });
        }
    }
}
