//! Memory is allocated and given back: what lay there before and what lies there after are different variables.

use std::ffi::{c_int, c_void};

use libc::{off_t, size_t};

use super::real;
use crate::abi::stub;
use crate::inside::Inside;
use crate::probe::{self, Piece};
use crate::sites::{self, Kind};

/// Before an allocation: whether it is to be recorded, and at which site.
fn begin(pc: usize, kind: Kind) -> Option<u32> {
    if !probe::is_owner() {
        return None;
    }
    // The pending write was read back by whoever is inside of the runtime now.
    if Inside::is_current() {
        return None;
    }
    probe::settle();
    let site = sites::find(pc, kind);
    probe::ready(site, 0, false).then(|| site.number())
}

fn allocated(site: Option<u32>, memory: *mut c_void, bytes: size_t) -> *mut c_void {
    if let Some(site) = site.filter(|_| !memory.is_null() && probe::is_owner()) {
        probe::put(site, Piece { address: memory.addr(), size: 8 }, bytes as u64);
    }
    memory
}

extern "C" fn malloc_at(bytes: size_t, pc: usize) -> *mut c_void {
    let site = begin(pc, Kind::Allocate);
    // SAFETY: as the program promises, here and below.
    allocated(site, unsafe { real::__libc_malloc(bytes) }, bytes)
}

extern "C" fn calloc_at(count: size_t, bytes: size_t, pc: usize) -> *mut c_void {
    let site = begin(pc, Kind::Allocate);
    let memory = unsafe { real::__libc_calloc(count, bytes) };
    allocated(site, memory, count.wrapping_mul(bytes))
}

extern "C" fn memalign_at(alignment: size_t, bytes: size_t, pc: usize) -> *mut c_void {
    let site = begin(pc, Kind::Allocate);
    allocated(site, unsafe { real::__libc_memalign(alignment, bytes) }, bytes)
}

extern "C" fn posix_memalign_at(
    memory: *mut *mut c_void,
    alignment: size_t,
    bytes: size_t,
    pc: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let found = memalign_at(alignment, bytes, pc);
    if found.is_null() {
        return libc::ENOMEM;
    }
    unsafe { *memory = found };
    0
}

extern "C" fn free_at(memory: *mut c_void, pc: usize) {
    if memory.is_null() {
        return;
    }
    if let Some(site) = begin(pc, Kind::Free) {
        let bytes = unsafe { libc::malloc_usable_size(memory) };
        probe::put(site, Piece { address: memory.addr(), size: 8 }, bytes as u64);
    }
    unsafe { real::__libc_free(memory) };
}

extern "C" fn realloc_at(memory: *mut c_void, bytes: size_t, pc: usize) -> *mut c_void {
    let freed = if memory.is_null() { None } else { begin(pc, Kind::Free) };
    let before = if freed.is_some() { unsafe { libc::malloc_usable_size(memory) } } else { 0 };
    let moved = unsafe { real::__libc_realloc(memory, bytes) };
    if let Some(site) = freed.filter(|_| probe::is_owner() && moved != memory) {
        probe::put(site, Piece { address: memory.addr(), size: 8 }, before as u64);
    }
    if moved != memory {
        let site = if probe::is_owner() && !Inside::is_current() {
            Some(sites::find(pc, Kind::Allocate).number())
        } else {
            None
        };
        return allocated(site, moved, bytes);
    }
    moved
}

/// `operator new`: throws if there is no memory, which the one of the library does.
extern "C-unwind" fn new_at(bytes: size_t, pc: usize) -> *mut c_void {
    let memory = malloc_at(bytes.max(1), pc);
    if memory.is_null() { unsafe { real_new(bytes) } } else { memory }
}

/// The operator of the language's own library, which throws.
unsafe fn real_new(bytes: size_t) -> *mut c_void {
    type New = unsafe extern "C-unwind" fn(size_t) -> *mut c_void;
    // SAFETY: a program that calls the operator has the library that defines it.
    unsafe {
        let found = libc::dlsym(libc::RTLD_NEXT, c"_Znwm".as_ptr());
        std::mem::transmute::<*mut c_void, New>(found)(bytes)
    }
}

extern "C" fn mmap_at(
    at: *mut c_void,
    bytes: size_t,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    if probe::is_owner() && !Inside::is_current() {
        probe::settle();
    }
    // SAFETY: as the program promises.
    unsafe { real::mmap(at, bytes, access, flags, file, offset) }
}

extern "C" fn munmap_at(at: *mut c_void, bytes: size_t, pc: usize) -> c_int {
    if let Some(site) = begin(pc, Kind::Free) {
        probe::put(site, Piece { address: at.addr(), size: 8 }, bytes as u64);
    }
    // SAFETY: as the program promises.
    unsafe { real::munmap(at, bytes) }
}

extern "C" fn mremap_at(
    at: *mut c_void,
    old: size_t,
    new: size_t,
    flags: c_int,
    to: *mut c_void,
    pc: usize,
) -> *mut c_void {
    if let Some(site) = begin(pc, Kind::Free) {
        probe::put(site, Piece { address: at.addr(), size: 8 }, old as u64);
    }
    // SAFETY: as the program promises.
    unsafe { real::mremap(at, old, new, flags, to) }
}

stub! {
    malloc "rsi" => malloc_at;
    calloc "rdx" => calloc_at;
    memalign "rdx" => memalign_at;
    aligned_alloc "rdx" => memalign_at;
    posix_memalign "rcx" => posix_memalign_at;
    realloc "rdx" => realloc_at;
    free "rsi" => free_at;
    _Znwm "rsi" => new_at;
    _Znam "rsi" => new_at;
    munmap "rdx" => munmap_at;
    mremap "r9" => mremap_at;
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn mmap() {
    core::arch::naked_asm!("jmp {}", sym mmap_at)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn mmap64() {
    core::arch::naked_asm!("jmp {}", sym mmap_at)
}
