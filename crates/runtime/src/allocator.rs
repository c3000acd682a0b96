//! The runtime's own memory.
//!
//! The memory of the program under test must not depend on the runtime. The JVM, for example, sorts the methods of a
//! class by the addresses of their names, and these come from the C library's `malloc`. The order is visible: in
//! `Class.getDeclaredMethods`, in the order in which the verifier loads classes, and so in the identities of objects.
//! Without address randomisation, the program by itself always requests the same memory in the same order, but the
//! runtime does not: it may have a schedule or not, and its folder has another name each time. And in a native
//! program the runtime observes `malloc`. So the library that is loaded into the program makes this its
//! `#[global_allocator]`.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};

use dlmalloc::Dlmalloc;

use crate::sync::Lock;

/// Takes its memory from the system in large pieces, and uses neither `malloc` nor the locks of the C library.
pub struct Allocator {
    memory: Lock<Dlmalloc>,
}

impl Allocator {
    pub const fn new() -> Self {
        Self { memory: Lock::new(Dlmalloc::new()) }
    }
}

impl Default for Allocator {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Allocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Allocator").finish_non_exhaustive()
    }
}

// SAFETY: all calls go to one correct allocator, one at a time, with what the caller promises of size and
// alignment. The lock allocates nothing.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { self.memory.lock().malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { self.memory.lock().calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { self.memory.lock().free(memory, layout.size(), layout.align()) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { self.memory.lock().realloc(memory, layout.size(), layout.align(), size) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    /// Detects pieces that overlap, are not aligned, not zeroed, or lose their content when they grow.
    #[test]
    fn threads_get_memory_that_nobody_else_has() {
        let allocator = Arc::new(Allocator::new());
        let workers = (1..=4_u8).map(|number| {
            let allocator = Arc::clone(&allocator);
            thread::spawn(move || use_memory(&allocator, number))
        });
        for worker in workers.collect::<Vec<_>>() {
            worker.join().expect("memory stays as it was written");
        }
    }

    fn use_memory(allocator: &Allocator, mark: u8) {
        for round in 1..400_usize {
            let layout = Layout::from_size_align(round * 37, 1 << (round % 8)).expect("a layout");
            // SAFETY: the layout has a size; the memory is used within it and given back with the layout it has then.
            unsafe {
                let memory = allocator.alloc_zeroed(layout);
                assert!(!memory.is_null() && memory.addr().is_multiple_of(layout.align()));
                let bytes = std::slice::from_raw_parts_mut(memory, layout.size());
                assert!(bytes.iter().all(|&byte| byte == 0));
                bytes.fill(mark);
                thread::yield_now();
                let size = layout.size() * 2;
                let memory = allocator.realloc(memory, layout, size);
                let kept = std::slice::from_raw_parts(memory, layout.size());
                assert!(kept.iter().all(|&byte| byte == mark));
                let layout = Layout::from_size_align(size, layout.align()).expect("a layout");
                allocator.dealloc(memory, layout);
            }
        }
    }
}
