//! Ranges: structures that are assigned as a whole, and the memory functions of the C library.
//!
//! Calls of `memcpy` and its like in instrumented code come here because our compiler wrapper renames them
//! (`--wrap`). Those of other libraries do not: they are no accesses of the program.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::Ordering::Relaxed;

use super::access::{put_read, put_written};
use crate::abi::stub;
use crate::probe::{self, HOT, MAX_PIECES, Piece};
use crate::sites::{self, Kind};

/// Bytes of a range that have events.
const MOST: usize = (MAX_PIECES - 2) * 8;

/// A range, and whether it is about to be read or written.
#[derive(Clone, Copy)]
struct Range {
    address: usize,
    bytes: usize,
    kind: Kind,
}

const fn read(address: usize, bytes: usize) -> Range {
    Range { address, bytes, kind: Kind::Read }
}

const fn write(address: usize, bytes: usize) -> Range {
    Range { address, bytes, kind: Kind::Write }
}

/// The current thread is about to access ranges, of which at most the last is written. No other thread runs between the
/// first of these events and the access.
fn access(ranges: &[Range], pc: usize) {
    if !probe::is_owner() && !probe::outsider() {
        return;
    }
    probe::settle();
    for range in ranges {
        let site = sites::find(pc, range.kind);
        if !probe::ready(site, range.address, range.kind == Kind::Write) {
            return;
        }
    }
    for &Range { address, bytes, kind } in ranges.iter().filter(|range| range.bytes > 0) {
        let site = sites::find(pc, kind).number();
        if bytes > MOST {
            let left_out = sites::find(pc, Kind::LeftOut).number();
            probe::put(left_out, Piece { address, size: 8 }, (bytes - MOST) as u64 / 8);
        }
        let bytes = bytes.min(MOST);
        if kind == Kind::Read {
            put_read(site, address, bytes);
        } else {
            let first = HOT.position.load(Relaxed);
            put_written(site, address, bytes);
            probe::await_write(first, address, bytes);
        }
    }
}

extern "C" fn read_by_compiler(address: usize, bytes: usize, pc: usize) {
    if probe::is_owner() && bytes <= MOST && probe::is_copy(bytes) {
        probe::read_before_write(sites::find(pc, Kind::Read), address, bytes);
        return;
    }
    access(&[read(address, bytes)], pc);
}

extern "C" fn write_by_compiler(address: usize, bytes: usize, pc: usize) {
    access(&[write(address, bytes)], pc);
}

stub! {
    __tsan_read_range "rdx" => read_by_compiler;
    __tsan_write_range "rdx" => write_by_compiler;
}

unsafe extern "C" fn copy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    pc: usize,
) -> *mut c_void {
    access(&[read(from.addr(), bytes), write(to.addr(), bytes)], pc);
    // SAFETY: as the program promises. A program that passes ranges which overlap gets what most systems do.
    unsafe { libc::memmove(to, from, bytes) }
}

unsafe extern "C" fn fill(to: *mut c_void, byte: c_int, bytes: usize, pc: usize) -> *mut c_void {
    access(&[write(to.addr(), bytes)], pc);
    // SAFETY: as the program promises.
    unsafe { libc::memset(to, byte, bytes) }
}

unsafe extern "C" fn compare(
    one: *const c_void,
    other: *const c_void,
    bytes: usize,
    pc: usize,
) -> c_int {
    access(&[read(one.addr(), bytes), read(other.addr(), bytes)], pc);
    // SAFETY: as the program promises.
    unsafe { libc::memcmp(one, other, bytes) }
}

unsafe extern "C" fn length(text: *const c_char, pc: usize) -> usize {
    // SAFETY: as the program promises.
    let length = unsafe { libc::strlen(text) };
    access(&[read(text.addr(), length + 1)], pc);
    length
}

unsafe extern "C" fn copy_text(to: *mut c_char, from: *const c_char, pc: usize) -> *mut c_char {
    // SAFETY: as the program promises, here and below.
    let bytes = unsafe { libc::strlen(from) } + 1;
    access(&[read(from.addr(), bytes), write(to.addr(), bytes)], pc);
    unsafe { libc::strcpy(to, from) }
}

unsafe extern "C" fn copy_some(
    to: *mut c_char,
    from: *const c_char,
    most: usize,
    pc: usize,
) -> *mut c_char {
    // SAFETY: as the program promises, here and below.
    let read = unsafe { libc::strnlen(from, most) };
    access(&[self::read(from.addr(), (read + 1).min(most)), write(to.addr(), most)], pc);
    unsafe { libc::strncpy(to, from, most) }
}

unsafe extern "C" fn append_text(to: *mut c_char, from: *const c_char, pc: usize) -> *mut c_char {
    // SAFETY: as the program promises, here and below.
    let (before, bytes) = unsafe { (libc::strlen(to), libc::strlen(from) + 1) };
    let ends = [read(to.addr(), before + 1), read(from.addr(), bytes)];
    access(&[ends[0], ends[1], write(to.addr() + before, bytes)], pc);
    unsafe { libc::strcat(to, from) }
}

unsafe extern "C" fn compare_text(one: *const c_char, other: *const c_char, pc: usize) -> c_int {
    // SAFETY: as the program promises, here and below.
    unsafe {
        let [first, second] = [one, other].map(|text| read(text.addr(), libc::strlen(text) + 1));
        access(&[first, second], pc);
        libc::strcmp(one, other)
    }
}

stub! {
    __wrap_memcpy "rcx" => copy;
    __wrap_memmove "rcx" => copy;
    __wrap_memset "rcx" => fill;
    __wrap_memcmp "rcx" => compare;
    __wrap_strlen "rsi" => length;
    __wrap_strcpy "rdx" => copy_text;
    __wrap_strncpy "rcx" => copy_some;
    __wrap_strcat "rdx" => append_text;
    __wrap_strcmp "rdx" => compare_text;
    __tsan_memcpy "rcx" => copy;
    __tsan_memmove "rcx" => copy;
    __tsan_memset "rcx" => fill;
}
