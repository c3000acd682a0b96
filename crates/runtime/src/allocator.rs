//! The runtime's own memory.
//!
//! The memory of the program under test must not depend on the runtime. The JVM, for example, sorts the methods of a
//! class by the addresses of their names, and these come from the C library's `malloc`. The order is visible: in
//! `Class.getDeclaredMethods`, in the order in which the verifier loads classes, and so in the identities of objects.
//! Without address randomisation, the program by itself always requests the same memory in the same order, but the
//! runtime does not: it may have a schedule or not, and its folder has another name each time. And in a native
//! program the runtime observes `malloc`. So the library that is loaded into the program makes this its
//! `#[global_allocator]`. In a native program the addresses of the program's own memory must not depend on the runtime
//! either: there the runtime takes its memory from a region where nobody else looks for any.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use dlmalloc::Dlmalloc;
use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

use crate::sync::Lock;

/// Takes its memory from the system in large pieces, and uses neither `malloc` nor the locks of the C library.
pub struct Allocator {
    memory: Lock<Dlmalloc<Pages>>,
}

impl Allocator {
    /// One whose memory lies where the system puts it.
    pub const fn new() -> Self {
        Self::with(Pages { next: None })
    }

    /// One whose memory lies at this address and above. Address space that was used once is not used again there, so
    /// nothing else should be near.
    pub const fn above(address: usize) -> Self {
        Self::with(Pages { next: Some(AtomicUsize::new(address)) })
    }

    const fn with(pages: Pages) -> Self {
        Self { memory: Lock::new(Dlmalloc::new_with_allocator(pages)) }
    }
}

/// The smallest piece of memory that the system gives.
const PAGE: usize = 4096;

/// Memory in large pieces, by system calls that do not pass through the C library.
struct Pages {
    /// Where the next piece goes; `None` if the system decides.
    next: Option<AtomicUsize>,
}

impl Pages {
    fn map(&self, size: usize) -> Option<*mut c_void> {
        let (place, flags) = match &self.next {
            Some(next) => {
                let room = size.next_multiple_of(PAGE);
                (next.fetch_add(room, Ordering::Relaxed), MapFlags::FIXED_NOREPLACE)
            }
            None => (0, MapFlags::empty()),
        };
        let place = std::ptr::without_provenance_mut(place);
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, flags | MapFlags::PRIVATE);
        // SAFETY: new memory, which never takes the place of other memory.
        unsafe { mmap_anonymous(place, size, access, flags) }.ok()
    }
}

// SAFETY: each piece is new memory that nobody else has, and is given back at most once.
unsafe impl dlmalloc::Allocator for Pages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        match self.map(size) {
            Some(memory) => (memory.cast(), size, 0),
            None => (null_mut(), 0, 0),
        }
    }

    fn remap(&self, memory: *mut u8, before: usize, after: usize, can_move: bool) -> *mut u8 {
        // A piece that grows in place could grow into the next one, and one that moves leaves the region.
        if self.next.is_some() {
            return null_mut();
        }
        let flags = if can_move { MremapFlags::MAYMOVE } else { MremapFlags::empty() };
        // SAFETY: a piece of our own.
        unsafe { mremap(memory.cast(), before, after, flags) }
            .map_or(null_mut(), <*mut c_void>::cast)
    }

    fn free_part(&self, memory: *mut u8, before: usize, after: usize) -> bool {
        // SAFETY: the end of a piece of our own, which nobody uses any more.
        unsafe { munmap(memory.add(after).cast(), before - after) }.is_ok()
    }

    fn free(&self, memory: *mut u8, size: usize) -> bool {
        // SAFETY: a piece of our own, which nobody uses any more.
        unsafe { munmap(memory.cast(), size) }.is_ok()
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE
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

    #[test]
    fn threads_get_memory_that_nobody_else_has() {
        use_by_threads(Allocator::new());
    }

    #[test]
    fn memory_can_be_in_a_region_of_its_own() {
        const REGION: usize = 0x2100_0000_0000;
        let allocator = Allocator::above(REGION);
        let layout = Layout::from_size_align(100_000, 8).expect("a layout");
        // SAFETY: the layout has a size.
        let memory = unsafe { allocator.alloc(layout) };
        assert!((REGION..REGION + (1 << 30)).contains(&memory.addr()), "{memory:?}");
        // SAFETY: allocated above.
        unsafe { allocator.dealloc(memory, layout) };
        use_by_threads(allocator);
    }

    /// Detects pieces that overlap, are not aligned, not zeroed, or lose their content when they grow.
    fn use_by_threads(allocator: Allocator) {
        let allocator = Arc::new(allocator);
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
