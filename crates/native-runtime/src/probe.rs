//! The state that hooks use, and the way of a record into the buffer.
//!
//! Only the thread that has the token writes here, so all of it exists once. A thread knows that it has the token by
//! the address of its control block, which is one instruction away.

use std::arch::asm;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use untorn_runtime::Record;
use untorn_schedule::Arrival;

use crate::inside::{Inside, clean_stack};
use crate::interpose::real;
use crate::patience;
use crate::run;
use crate::sites::{self, Found};

#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Hot {
    /// The control block of the thread that has the token; 0 if no thread has it.
    pub(crate) owner: AtomicUsize,
    /// Where the next record goes, and the address at which the runtime is asked.
    pub(crate) position: AtomicUsize,
    pub(crate) limit: AtomicUsize,
    /// The records of a write that is about to happen, and where it happens. 0 bytes if there is none.
    written_records: AtomicUsize,
    written_address: AtomicUsize,
    written_bytes: AtomicUsize,
    /// Threads that lost the token outside.
    pub(crate) away: AtomicUsize,
    /// The atomic read that was repeated last, its value, and how often.
    spin_site: AtomicUsize,
    spin_value: AtomicUsize,
    spins: AtomicUsize,
}

pub(crate) static HOT: Hot = Hot {
    owner: AtomicUsize::new(0),
    position: AtomicUsize::new(0),
    limit: AtomicUsize::new(0),
    written_records: AtomicUsize::new(0),
    written_address: AtomicUsize::new(0),
    written_bytes: AtomicUsize::new(0),
    away: AtomicUsize::new(0),
    spin_site: AtomicUsize::new(0),
    spin_value: AtomicUsize::new(0),
    spins: AtomicUsize::new(0),
};

/// Pieces of one range that are recorded. The longest step has three ranges, which fit behind the end of a buffer.
pub(crate) const MAX_PIECES: usize = 160;

/// Equal reads in a row after which a thread lets others run: it waits for one of them.
const MAX_SPINS: usize = 24;

/// The address of the control block of the current thread.
#[inline(always)]
pub(crate) fn own_block() -> usize {
    let block: usize;
    // SAFETY: reads the thread pointer, which the ABI keeps there.
    unsafe { asm!("mov {}, fs:0", out(reg) block, options(nostack, preserves_flags, readonly)) };
    block
}

/// Whether the current thread has the token.
#[inline(always)]
pub(crate) fn is_owner() -> bool {
    own_block() == HOT.owner.load(Relaxed)
}

/// Loads by an instruction of our own: the address is the program's, and may be one that Rust has no pointer for, 0 for
/// instance.
macro_rules! load {
    ($instruction:literal, $at:expr) => {{
        let value: u64;
        asm!($instruction, at = in(reg) $at, value = lateout(reg) value,
            options(nostack, preserves_flags, readonly));
        value
    }};
}

#[inline(always)]
unsafe fn load_byte(at: usize) -> u64 {
    // SAFETY: as the caller promises.
    unsafe { load!("movzx {value:e}, byte ptr [{at}]", at) }
}

/// A piece of memory within an aligned word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) address: usize,
    pub(crate) size: usize,
}

impl Piece {
    /// The bytes that are there now, as a number.
    #[inline(always)]
    pub(crate) fn load(self) -> u64 {
        let at = self.address;
        // SAFETY: the program itself accesses these bytes now, or has just written them. If it must not, it is killed
        // here as it would have been there.
        unsafe {
            match self.size {
                1 => load_byte(at),
                2 => load!("movzx {value:e}, word ptr [{at}]", at),
                4 => load!("mov {value:e}, dword ptr [{at}]", at),
                8 => load!("mov {value}, qword ptr [{at}]", at),
                size => (0..size).fold(0, |value, nth| value | load_byte(at + nth) << (8 * nth)),
            }
        }
    }
}

/// The pieces of a range, word by word.
pub(crate) fn pieces(address: usize, bytes: usize) -> impl Iterator<Item = Piece> {
    let end = address.saturating_add(bytes);
    let mut next = address;
    std::iter::from_fn(move || {
        if next >= end {
            return None;
        }
        let (from, to) = (next, ((next & !7) + 8).min(end));
        next = to;
        Some(Piece { address: from, size: to - from })
    })
}

/// Writes a record. The current thread has the token, and has asked before ([`ready`]).
#[inline(always)]
pub(crate) fn put(site: u32, piece: Piece, value: u64) {
    let at = HOT.position.load(Relaxed);
    let record = Record {
        site,
        object: piece.address as u32,
        value,
        index: (piece.address >> 32) as u32 & 0xffff | (piece.size as u32) << 16,
        branches: 0,
    };
    // SAFETY: the position is that of a record in the buffer, or in the room behind its limit.
    unsafe { (at as *mut Record).write(record) };
    HOT.position.store(at + Record::SIZE, Relaxed);
}

/// The records from `first` on get their values when the write has happened.
#[inline(always)]
pub(crate) fn await_write(first: usize, address: usize, bytes: usize) {
    HOT.written_records.store(first, Relaxed);
    HOT.written_address.store(address, Relaxed);
    HOT.written_bytes.store(bytes, Relaxed);
}

/// The write that was announced has happened: reads back what was written. To be called by the thread with the token
/// whenever it comes here, before anything else.
#[inline(always)]
pub(crate) fn settle() {
    if HOT.written_bytes.load(Relaxed) != 0 {
        read_back();
    }
}

/// The same after an access of the program that failed at this address: a write that was announced may be the one.
pub(crate) fn settle_after_fault(fault: usize) {
    let (address, bytes) = (HOT.written_address.load(Relaxed), HOT.written_bytes.load(Relaxed));
    if bytes == 0 {
        return;
    }
    let is_same = (address..address.saturating_add(bytes)).contains(&fault);
    if is_same || !is_readable(address, bytes) {
        // It did not happen. Its records are the last ones.
        HOT.position.store(HOT.written_records.load(Relaxed), Relaxed);
        HOT.written_bytes.store(0, Relaxed);
    } else {
        read_back();
    }
}

/// Whether all of these bytes are in memory, without touching them.
fn is_readable(address: usize, bytes: usize) -> bool {
    const PAGE: usize = 4096;
    let Some(last) = address.checked_add(bytes - 1) else { return false };
    let mut pages = (address / PAGE..=last / PAGE).map(|page| (page * PAGE).max(address));
    pages.all(|from| {
        let mut byte = 0_u8;
        let own = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let other = libc::iovec { iov_base: from as *mut libc::c_void, iov_len: 1 };
        // SAFETY: the system copies one byte of this process into ours, or says that it cannot.
        unsafe {
            let words = [
                libc::getpid() as usize,
                (&raw const own).addr(),
                1,
                (&raw const other).addr(),
                1,
                0,
            ];
            real::raw_syscall(libc::SYS_process_vm_readv, words) == 1
        }
    })
}

/// Whether the write that was announced is a copy of what is about to be read, so that it has not happened yet: gcc announces
/// the write of an assigned structure before its read. Then as many bytes are read, and what is written to is as it was
/// when that was announced. (If a write changes nothing, it does not matter when it happens.)
#[inline(always)]
pub(crate) fn is_copy(bytes: usize) -> bool {
    HOT.written_bytes.load(Relaxed) == bytes && is_unchanged(bytes)
}

#[inline(never)]
fn is_unchanged(bytes: usize) -> bool {
    let (first, address) = (HOT.written_records.load(Relaxed), HOT.written_address.load(Relaxed));
    let end = HOT.position.load(Relaxed);
    let mut at = first;
    for piece in pieces(address, bytes).take(MAX_PIECES) {
        // SAFETY: records of this buffer up to the position; `first` is one of them, or the comparison below fails.
        if at >= end || unsafe { (*(at as *const Record)).value } != piece.load() {
            return false;
        }
        at += Record::SIZE;
    }
    at == end
}

/// Such a read: it comes before the write, also in the trace, and others may run before it.
#[inline(never)]
pub(crate) fn read_before_write(site: Found, address: usize, bytes: usize) {
    let (first, end) = (HOT.written_records.load(Relaxed), HOT.position.load(Relaxed));
    let (target, count) = (HOT.written_address.load(Relaxed), (end - first) / Record::SIZE);
    // SAFETY: the last records of this buffer, as `is_unchanged` has found.
    let written = unsafe { std::slice::from_raw_parts(first as *const Record, count) };
    let inside = Inside::enter();
    let written = written.to_vec();
    drop(inside);
    HOT.position.store(first, Relaxed);
    HOT.written_bytes.store(0, Relaxed);
    if ready(site, address, false) {
        for piece in pieces(address, bytes).take(MAX_PIECES) {
            put(site.number(), piece, piece.load());
        }
        let first = HOT.position.load(Relaxed);
        for record in written {
            let at = HOT.position.load(Relaxed);
            // SAFETY: the position is that of a record in the buffer, or in the room behind its limit.
            unsafe { (at as *mut Record).write(record) };
            HOT.position.store(at + Record::SIZE, Relaxed);
        }
        await_write(first, target, bytes);
    }
}

/// Whether a write was announced that may not have happened yet.
pub(crate) fn awaits_settling() -> bool {
    HOT.written_bytes.load(Relaxed) != 0
}

#[inline(never)]
fn read_back() {
    let (address, bytes) = (HOT.written_address.load(Relaxed), HOT.written_bytes.load(Relaxed));
    let mut at = HOT.written_records.load(Relaxed);
    HOT.written_bytes.store(0, Relaxed);
    for piece in pieces(address, bytes).take(MAX_PIECES) {
        // SAFETY: a record that was written before, in a buffer that nobody else has yet.
        unsafe { (*(at as *mut Record)).value = piece.load() };
        at += Record::SIZE;
    }
}

/// Before an event at `site`: whether it is to be recorded. Other threads may run before this returns.
#[inline(always)]
pub(crate) fn ready(site: Found, address: usize, write: bool) -> bool {
    if HOT.position.load(Relaxed) < HOT.limit.load(Relaxed) && !site.asks() {
        return true;
    }
    let is_recorded = stop(site, address, write);
    clean_stack::<1024>();
    is_recorded
}

#[cold]
fn stop(site: Found, address: usize, write: bool) -> bool {
    let Some(_inside) = Inside::enter() else { return false };
    stop_inside(site, address, write)
}

/// The same for who is inside already.
pub(crate) fn stop_inside(site: Found, address: usize, write: bool) -> bool {
    let Some(run) = run::current() else { return false };
    if HOT.position.load(Relaxed) >= HOT.limit.load(Relaxed) {
        run.control.limit_reached(());
        if !is_owner() {
            return false;
        }
    }
    if site.asks() {
        let (marks, access) = sites::asked(site, address, write);
        run.control.arrive((), &Arrival { marks: &marks, access });
        if !is_owner() {
            return false;
        }
        // The turn may be for this one event.
        if HOT.position.load(Relaxed) >= HOT.limit.load(Relaxed) {
            run.control.limit_reached(());
        }
    }
    is_owner()
}

/// A thread without the token comes to an event. True if it gets the token: it had lost it outside.
#[cold]
#[inline(never)]
pub(crate) fn outsider() -> bool {
    if HOT.away.load(Relaxed) == 0 {
        return false;
    }
    let Some(_inside) = Inside::enter() else { return false };
    run::current().is_some_and(|run| run.control.present(()).is_some())
}

/// An atomic read had this value. True if it has had the same again and again, whatever the thread did with memory of its
/// own in between: it waits for another thread to change it.
#[inline(always)]
pub(crate) fn awaits_change(site: u32, value: u64) -> bool {
    let again = HOT.spin_site.load(Relaxed) == site as usize
        && HOT.spin_value.load(Relaxed) as u64 == value;
    if again {
        let spins = HOT.spins.load(Relaxed) + 1;
        HOT.spins.store(spins, Relaxed);
        return spins >= MAX_SPINS;
    }
    HOT.spin_site.store(site as usize, Relaxed);
    HOT.spin_value.store(value as usize, Relaxed);
    HOT.spins.store(0, Relaxed);
    false
}

/// What a thread has read again and again. It keeps that when it loses the token.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spins {
    site: usize,
    value: usize,
    times: usize,
}

pub(crate) fn spins() -> Spins {
    Spins {
        site: HOT.spin_site.load(Relaxed),
        value: HOT.spin_value.load(Relaxed),
        times: HOT.spins.load(Relaxed),
    }
}

pub(crate) fn set_spins(spins: Spins) {
    HOT.spin_site.store(spins.site, Relaxed);
    HOT.spin_value.store(spins.value, Relaxed);
    HOT.spins.store(spins.times, Relaxed);
}

/// The thread does something else.
#[inline(always)]
pub(crate) fn moves_on() {
    HOT.spin_site.store(0, Relaxed);
}

/// The thread reads the same again and again: it waits for another one.
#[cold]
pub(crate) fn give_way(site: u32) {
    moves_on();
    let Some(_inside) = Inside::enter() else { return };
    if let Some(run) = run::current()
        && let Some(me) = run.control.present(())
    {
        patience::wait(run, me, site as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_where_words_end() {
        let cut = |address, bytes| {
            pieces(address, bytes).map(|piece| (piece.address, piece.size)).collect::<Vec<_>>()
        };
        assert_eq!(cut(16, 8), [(16, 8)]);
        assert_eq!(cut(18, 4), [(18, 4)]);
        assert_eq!(cut(14, 4), [(14, 2), (16, 2)]);
        assert_eq!(cut(13, 17), [(13, 3), (16, 8), (24, 6)]);
        assert_eq!(cut(5, 0), []);
    }

    #[test]
    fn bytes_are_read_as_a_number() {
        let bytes = [1_u8, 2, 3, 4, 5, 6, 7, 8];
        let address = bytes.as_ptr().expose_provenance();
        let load = |at, size| Piece { address: address + at, size }.load();
        assert_eq!(load(0, 1), 1);
        assert_eq!(load(1, 2), 0x0302);
        assert_eq!(load(1, 3), 0x04_0302);
        assert_eq!(load(0, 8), 0x0807_0605_0403_0201);
    }
}
