//! The baseline: calls that are often made together should be one step.
//!
//! Paper: Lu, Park, Hu, Ma, Jiang, Li, Popa and Zhou, *MUVI: automatically inferring multi-variable
//! access correlations and detecting related semantic and concurrency bugs*, SOSP 2007, lifted from
//! accesses to calls as ICFinder does (section 8.1): two calls are together if one method makes both
//! on one set of one object. Deviation: frequent pairs are counted instead of mining closed sets of
//! any size; what is compared are pairs anyway.
//!
//! Promise: exact with respect to its definition, which is a guess.

use rustc_hash::{FxHashMap, FxHashSet};

use untorn_codemodel::access_paths::AccessPath;
use untorn_codemodel::ids::{MethodId, RefId};

/// Two calls on one object in one method, whatever their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub method: MethodId,
    pub owner: AccessPath,
    pub calls: (RefId, RefId),
}

impl Key {
    pub fn new(method: MethodId, owner: AccessPath, a: RefId, b: RefId) -> Self {
        Self { method, owner, calls: (a.min(b), a.max(b)) }
    }
}

/// So many methods must make both calls.
pub const MIN_SUPPORT: usize = 2;

/// Counts which calls are made together.
#[derive(Debug, Default)]
pub struct Muvi {
    together: FxHashSet<Key>,
}

impl Muvi {
    pub fn note(&mut self, key: Key) {
        self.together.insert(key);
    }

    /// The pairs of calls that at least [`MIN_SUPPORT`] methods make, wherever they are made.
    pub fn frequent(self) -> FxHashSet<Key> {
        let mut methods: FxHashMap<(RefId, RefId), FxHashSet<MethodId>> = FxHashMap::default();
        for key in &self.together {
            methods.entry(key.calls).or_default().insert(key.method);
        }
        let is_frequent = |key: &Key| methods[&key.calls].len() >= MIN_SUPPORT;
        self.together.into_iter().filter(is_frequent).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use untorn_codemodel::access_paths::Base;

    #[test]
    fn twice_is_often() {
        let owner = AccessPath::new(Base::Parameter(0));
        let mut muvi = Muvi::default();
        let key = |method, a, b| Key::new(MethodId(method), owner, RefId(a), RefId(b));
        muvi.note(key(0, 1, 2));
        muvi.note(key(1, 2, 1));
        muvi.note(key(1, 3, 1));
        // The same method twice, on another object, is once.
        muvi.note(Key { owner: AccessPath::new(Base::Parameter(1)), ..key(1, 3, 1) });
        let mut found: Vec<Key> = muvi.frequent().into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, [key(0, 1, 2), key(1, 1, 2)]);
    }
}
