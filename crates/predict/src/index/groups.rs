//! Lists by key and thread, all in one allocation.

use untorn_trace::ThreadId;

#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// By key: where its groups begin; one more entry at the end.
    keys: Vec<u32>,
    groups: Vec<(ThreadId, u32, u32)>,
    items: Vec<u32>,
}

impl Groups {
    /// Of (key, thread, item); the items of a group are sorted.
    pub(crate) fn new(mut all: Vec<(usize, ThreadId, u32)>) -> Self {
        all.sort_unstable();
        let mut groups = Self::default();
        for (key, thread, item) in all {
            let at = groups.items.len() as u32;
            let is_new_key = groups.keys.len() <= key;
            while groups.keys.len() <= key {
                groups.keys.push(groups.groups.len() as u32);
            }
            match groups.groups.last_mut() {
                Some((last, _, end)) if !is_new_key && *last == thread => *end = at + 1,
                _ => groups.groups.push((thread, at, at + 1)),
            }
            groups.items.push(item);
        }
        groups.keys.push(groups.groups.len() as u32);
        groups
    }

    /// The lists of a key, by thread.
    pub(crate) fn of(&self, key: usize) -> impl Iterator<Item = (ThreadId, &[u32])> + use<'_> {
        let range = match (self.keys.get(key), self.keys.get(key.wrapping_add(1))) {
            (Some(&start), Some(&end)) => start as usize..end as usize,
            _ => 0..0,
        };
        let list = |start: u32, end: u32| &self.items[start as usize..end as usize];
        self.groups[range].iter().map(move |&(thread, start, end)| (thread, list(start, end)))
    }
}
