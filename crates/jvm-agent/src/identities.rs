//! The number from which the JVM counts the identities of objects.
//!
//! The launcher has the JVM count them (`-XX:hashCode=3`). How far it has counted when the program begins differs between
//! a JVM that has just started, one under a debugger, and one that has made runs before; and by identities go the order
//! of hash tables and what programs print. So each program begins at [`FIRST`]. The JVM offers no way to set the counter:
//! it is found in the memory of the JVM's own library as the one number there that goes up by one with each identity
//! that is asked for. If it is not found, it is left alone, and a JVM makes one run only.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};

/// The identity before the first that a program is given. What the JVM and the JDK need before is far below, and its
/// low bits are zero, so that small hash tables are filled in the order of identities.
pub(crate) const FIRST: u32 = 1 << 20;

/// The identity before the first that is kept for texts in the code of classes, in a JVM that makes many runs.
pub(crate) const EARLY: u32 = FIRST / 2;

/// So many candidates are followed; a memory that has more of them says nothing.
const MAX_CANDIDATES: usize = 4096;

/// The counter of the JVM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter(&'static AtomicU32);

impl Counter {
    /// Finds it; `next` gives the identity of a new object.
    pub(crate) fn find(mut next: impl FnMut() -> u32) -> Option<Self> {
        let identity = next();
        let mut candidates: Vec<&'static AtomicU32> = Vec::new();
        for (from, to) in data_of_jvm() {
            for address in (from..to).step_by(4) {
                let word = std::ptr::with_exposed_provenance::<AtomicU32>(address);
                // SAFETY: the address lies in a mapping of the JVM's library that can be read and written, and that stays
                // as long as the process.
                let word = unsafe { &*word };
                if word.load(Ordering::Relaxed) == identity {
                    candidates.push(word);
                }
            }
        }
        if candidates.len() > MAX_CANDIDATES {
            return None;
        }
        // Another thread of the JVM may ask at the same time, so a few more rounds than needed.
        for _ in 0..8 {
            let identity = next();
            candidates.retain(|word| word.load(Ordering::Relaxed) == identity);
        }
        match candidates[..] {
            [word] => Some(Self(word)),
            _ => None,
        }
    }

    /// The identity that was given last.
    pub(crate) fn get(self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// The next object that is asked for its identity gets the number behind this one.
    pub(crate) fn set(self, identity: u32) {
        self.0.store(identity, Ordering::Relaxed);
    }
}

/// Where the JVM's library keeps its variables.
fn data_of_jvm() -> Vec<(usize, usize)> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut found: Vec<(usize, usize)> = Vec::new();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (Some(range), Some(rights)) = (words.next(), words.next()) else { continue };
        let Some((from, to)) = range.split_once('-') else { continue };
        let address = |text| usize::from_str_radix(text, 16);
        let (Ok(from), Ok(to)) = (address(from), address(to)) else { continue };
        let name = words.nth(3).unwrap_or_default();
        // Variables that begin as zero are in a mapping without a name, right behind.
        let is_behind = name.is_empty() && found.last().is_some_and(|last| last.1 == from);
        if rights.starts_with("rw") && (name.ends_with("/libjvm.so") || is_behind) {
            found.push((from, to));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_jvm_there_is_no_counter() {
        let mut count = 0;
        let next = || {
            count += 1;
            count
        };
        assert!(Counter::find(next).is_none());
    }
}
