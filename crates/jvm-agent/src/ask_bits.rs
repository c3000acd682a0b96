//! At which places of the code threads ask: a bit for each, which the Java probes read.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use crate::sites::CodeSite;

/// Places that there can be; beyond, nobody asks.
const PLACES: usize = 1 << 24;

#[derive(Debug)]
pub(crate) struct AskBits {
    words: &'static [AtomicU64],
}

impl AskBits {
    /// Reserves address space; the system gives memory to what is used.
    pub(crate) fn new() -> Option<Self> {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: a new anonymous mapping touches nothing that exists.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), PLACES / 8, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the mapping is that long, aligned, zero, and never goes away.
        let words = unsafe { std::slice::from_raw_parts(address.cast(), PLACES / 64) };
        Some(Self { words })
    }

    /// The address of the first word.
    pub(crate) fn base(&self) -> usize {
        self.words.as_ptr().expose_provenance()
    }

    pub(crate) fn set(&self, site: CodeSite, asks: bool) {
        let Some(word) = self.words.get(site.0 as usize / 64) else { return };
        let bit = 1 << (site.0 % 64);
        match asks {
            true => word.fetch_or(bit, Ordering::Relaxed),
            false => word.fetch_and(!bit, Ordering::Relaxed),
        };
    }
}
