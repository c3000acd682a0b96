//! Whether the current thread is inside of the runtime.
//!
//! The runtime uses functions of the C library that it also stands in for: reading a file, asking for the time. Such
//! a call goes straight to the C library.

use std::cell::Cell;

use crate::signals::handlers;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The current thread is inside as long as this lives.
#[derive(Debug)]
pub(crate) struct Inside(());

impl Inside {
    /// `None` if it is inside already.
    pub(crate) fn enter() -> Option<Self> {
        // Threads that are torn down have no such variable any more; they are none of ours.
        let was = INSIDE.try_with(|inside| inside.replace(true)).unwrap_or(true);
        // Made only if it was not: one that is dropped leaves.
        (!was).then(|| Self(()))
    }

    /// Whether the current thread is inside.
    pub(crate) fn is_current() -> bool {
        INSIDE.try_with(Cell::get).unwrap_or(true)
    }

    /// For a thread of our own, which never leaves.
    pub(crate) fn for_ever() {
        let _ = INSIDE.try_with(|inside| inside.set(true));
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = INSIDE.try_with(|inside| inside.set(false));
        clean_stack::<4096>();
        handlers::handle_kept();
    }
}

/// What we leave on the stack of the program it may read before it has written there: when it copies a structure of which
/// not all bytes were set, for instance. Our addresses differ between a run and its replay, so nothing of ours is left.
#[inline(never)]
pub(crate) fn clean_stack<const BYTES: usize>() {
    std::hint::black_box(&mut [0_u8; BYTES]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_inside_does_not_enter_again_and_stays_inside() {
        let inside = Inside::enter().expect("it is outside");
        assert!(Inside::enter().is_none());
        assert!(Inside::is_current(), "a failed attempt does not leave");
        drop(inside);
        assert!(!Inside::is_current());
    }
}
