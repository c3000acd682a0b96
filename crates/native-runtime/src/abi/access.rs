//! Reads and writes.

use crate::abi::stub;
use crate::probe::{self, MAX_PIECES, Piece};
use crate::sites::{self, Kind};

/// The current thread is about to read so many bytes.
#[inline(always)]
fn read<const SIZE: usize>(address: usize, pc: usize, kind: Kind) {
    if !probe::is_owner() && !probe::outsider() {
        return;
    }
    let site = sites::find(pc, kind);
    if probe::is_copy(SIZE) {
        probe::read_before_write(site, address, SIZE);
        return;
    }
    probe::settle();
    if !probe::ready(site, address, false) {
        return;
    }
    if (address & 7) + SIZE <= 8 {
        let piece = Piece { address, size: SIZE };
        let value = piece.load();
        probe::put(site.number(), piece, value);
    } else {
        put_read(site.number(), address, SIZE);
    }
}

/// The current thread is about to write so many bytes.
#[inline(always)]
fn write<const SIZE: usize>(address: usize, pc: usize, kind: Kind) {
    if !probe::is_owner() && !probe::outsider() {
        return;
    }
    probe::settle();
    let site = sites::find(pc, kind);
    if !probe::ready(site, address, true) {
        return;
    }
    let first = probe::HOT.position.load(std::sync::atomic::Ordering::Relaxed);
    if (address & 7) + SIZE <= 8 {
        let piece = Piece { address, size: SIZE };
        probe::put(site.number(), piece, piece.load());
    } else {
        put_written(site.number(), address, SIZE);
    }
    probe::await_write(first, address, SIZE);
}

#[inline(never)]
pub(super) fn put_read(site: u32, address: usize, bytes: usize) {
    for piece in probe::pieces(address, bytes).take(MAX_PIECES) {
        probe::put(site, piece, piece.load());
    }
}

#[inline(never)]
pub(super) fn put_written(site: u32, address: usize, bytes: usize) {
    for piece in probe::pieces(address, bytes).take(MAX_PIECES) {
        // What was there before: see `is_copy`.
        probe::put(site, piece, piece.load());
    }
}

macro_rules! accesses {
    ($($function:ident $size:literal $kind:ident $hook:ident: $($name:ident)*;)*) => {$(
        extern "C" fn $function(address: usize, pc: usize) {
            $hook::<$size>(address, pc, Kind::$kind);
        }
        stub! { $($name "rsi" => $function;)* }
    )*};
}

accesses! {
    read1 1 Read read: __tsan_read1;
    read2 2 Read read: __tsan_read2 __tsan_unaligned_read2;
    read4 4 Read read: __tsan_read4 __tsan_unaligned_read4;
    read8 8 Read read: __tsan_read8 __tsan_unaligned_read8 __tsan_vptr_read;
    read16 16 Read read: __tsan_read16 __tsan_unaligned_read16;
    write1 1 Write write: __tsan_write1;
    write2 2 Write write: __tsan_write2 __tsan_unaligned_write2;
    write4 4 Write write: __tsan_write4 __tsan_unaligned_write4;
    write8 8 Write write: __tsan_write8 __tsan_unaligned_write8;
    write16 16 Write write: __tsan_write16 __tsan_unaligned_write16;
    volatile_read1 1 Read read: __tsan_volatile_read1;
    volatile_read2 2 Read read: __tsan_volatile_read2 __tsan_unaligned_volatile_read2;
    volatile_read4 4 Read read: __tsan_volatile_read4 __tsan_unaligned_volatile_read4;
    volatile_read8 8 Read read: __tsan_volatile_read8 __tsan_unaligned_volatile_read8;
    volatile_read16 16 Read read: __tsan_volatile_read16 __tsan_unaligned_volatile_read16;
    volatile_write1 1 Write write: __tsan_volatile_write1;
    volatile_write2 2 Write write: __tsan_volatile_write2 __tsan_unaligned_volatile_write2;
    volatile_write4 4 Write write: __tsan_volatile_write4 __tsan_unaligned_volatile_write4;
    volatile_write8 8 Write write: __tsan_volatile_write8 __tsan_unaligned_volatile_write8;
    volatile_write16 16 Write write: __tsan_volatile_write16 __tsan_unaligned_volatile_write16;
}

/// A read directly followed by a write of the same memory, which clang announces at once.
macro_rules! compound {
    ($($function:ident $size:literal: $($name:ident)*;)*) => {$(
        extern "C" fn $function(address: usize, pc: usize) {
            read::<$size>(address, pc, Kind::Read);
            write::<$size>(address, pc, Kind::Write);
        }
        stub! { $($name "rsi" => $function;)* }
    )*};
}

compound! {
    both1 1: __tsan_read_write1;
    both2 2: __tsan_read_write2 __tsan_unaligned_read_write2;
    both4 4: __tsan_read_write4 __tsan_unaligned_read_write4;
    both8 8: __tsan_read_write8 __tsan_unaligned_read_write8;
    both16 16: __tsan_read_write16 __tsan_unaligned_read_write16;
}

/// The table of virtual functions of an object is set: a write, if it changes.
extern "C" fn vptr_update(address: usize, new: usize, pc: usize) {
    // SAFETY: the program writes there next.
    if unsafe { (address as *const usize).read() } != new {
        write::<8>(address, pc, Kind::Write);
    }
}

stub! { __tsan_vptr_update "rdx" => vptr_update; }
