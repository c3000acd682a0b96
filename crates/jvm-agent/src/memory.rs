//! Memory of the agent's own.
//!
//! The JVM sorts the methods of a class by the addresses of their names, and these come from the C library's `malloc`. The
//! order shows: in `Class.getDeclaredMethods`, in the order in which the verifier loads classes, and so in the
//! identities of objects. At fixed addresses (see `launch`) the JVM by itself always asks for the same memory in the same order, but
//! the agent does not: it knows a schedule or none, its folder has another name each time. So the agent, once it is
//! loaded, takes its memory from elsewhere.
//!
//! The command line has the same crate in it, and keeps the allocator of the system.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

use dlmalloc::GlobalDlmalloc;

/// Set before the agent allocates anything, and never changed again: memory goes back to where it came from.
static APART: AtomicBool = AtomicBool::new(false);

#[global_allocator]
static MEMORY: Memory = Memory;

struct Memory;

/// From now on all memory is the agent's own. Nothing may have been allocated before.
pub(crate) fn keep_apart() {
    APART.store(true, Ordering::Relaxed);
}

// SAFETY: either of two correct allocators, and always the same one in a process.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe {
            if APART.load(Ordering::Relaxed) {
                GlobalDlmalloc.alloc(layout)
            } else {
                System.alloc(layout)
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe {
            if APART.load(Ordering::Relaxed) {
                GlobalDlmalloc.alloc_zeroed(layout)
            } else {
                System.alloc_zeroed(layout)
            }
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe {
            if APART.load(Ordering::Relaxed) {
                GlobalDlmalloc.dealloc(memory, layout);
            } else {
                System.dealloc(memory, layout);
            }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe {
            if APART.load(Ordering::Relaxed) {
                GlobalDlmalloc.realloc(memory, layout, size)
            } else {
                System.realloc(memory, layout, size)
            }
        }
    }
}
