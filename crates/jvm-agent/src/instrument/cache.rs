//! Rewritten classes, for a JVM that makes many runs: each run loads the same classes anew.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use untorn_bytecode::ClassFile;

use super::{Instrumented, Rewriter, Tally};
use crate::scope::Depth;

/// What came of rewriting a class.
#[derive(Debug)]
struct Rewritten {
    /// What was rewritten, and how deep.
    original: Vec<u8>,
    depth: Depth,
    instrumented: Option<Instrumented>,
    /// What the class adds to the tally of a run.
    tally: Tally,
}

/// By name; several class loaders may have classes of one name.
type Classes = FxHashMap<String, Vec<Arc<Rewritten>>>;

#[derive(Debug, Default)]
pub(super) struct Cache {
    classes: Mutex<Classes>,
    lambdas: Mutex<FxHashMap<Vec<u8>, Option<Vec<u8>>>>,
    /// The tally before the first run.
    base: Mutex<Tally>,
}

impl Rewriter {
    /// The first run is about to begin: what is counted so far belongs to none.
    pub fn remember_base(&self) {
        *lock(&self.cache.base) = self.tally().clone();
    }

    /// Another run is about to begin.
    pub fn back_to_base(&self) {
        *self.tally() = lock(&self.cache.base).clone();
    }

    /// The same as [`Rewriter::rewrite`] for a class that may have been rewritten before. If it has not, `new` sees it.
    pub fn rewrite_again(
        &self,
        name: &str,
        bytes: &[u8],
        depth: Depth,
        new: impl FnOnce(&ClassFile<'_>),
    ) -> Option<Instrumented> {
        // Held all the time, so that what is counted meanwhile is of this class.
        let mut classes = lock(&self.cache.classes);
        let known = classes.entry(name.to_owned()).or_default();
        let is_it = |known: &&Arc<Rewritten>| known.depth == depth && known.original == bytes;
        if let Some(found) = known.iter().find(is_it) {
            self.tally().add(&found.tally);
            return found.instrumented.clone();
        }
        if let Ok(class) = ClassFile::parse(bytes) {
            new(&class);
        }
        let before = std::mem::take(&mut *self.tally());
        let instrumented = self.rewrite(bytes, depth);
        let tally = std::mem::replace(&mut *self.tally(), before);
        self.tally().add(&tally);
        let (original, made) = (bytes.to_vec(), instrumented.clone());
        known.push(Arc::new(Rewritten { original, depth, instrumented: made, tally }));
        instrumented
    }

    /// The same as [`Rewriter::rewrite_lambda`].
    pub fn rewrite_lambda_again(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut lambdas = lock(&self.cache.lambdas);
        if let Some(rewritten) = lambdas.get(bytes) {
            return rewritten.clone();
        }
        let rewritten = self.rewrite_lambda(bytes);
        lambdas.insert(bytes.to_vec(), rewritten.clone());
        rewritten
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tally {
    fn add(&mut self, more: &Self) {
        self.application_classes += more.application_classes;
        self.application_methods += more.application_methods;
        self.library_classes += more.library_classes;
        self.lock_classes += more.lock_classes;
        self.skipped_classes += more.skipped_classes;
        self.skipped_methods += more.skipped_methods;
        let room = Self::NAMED.saturating_sub(self.skipped.len());
        self.skipped.extend(more.skipped.iter().take(room).cloned());
        let room = Self::NAMED.saturating_sub(self.unseen.len());
        self.unseen.extend(more.unseen.iter().take(room).cloned());
    }
}
