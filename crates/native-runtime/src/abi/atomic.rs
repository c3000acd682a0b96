//! Atomic operations. The runtime executes them itself: always in the strongest order, because one thread runs at a time
//! and what a weaker order would allow is not looked for. The order in the code is a fact of the site.

use std::arch::asm;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use untorn_trace::MemoryOrder;

use crate::abi::stub;
use crate::probe::{self, Piece};
use crate::sites::{self, Kind};

/// As compilers number the orders.
const fn order(number: i32) -> MemoryOrder {
    // Upper bits are hints to the hardware.
    match number & 0xff {
        0 => MemoryOrder::Relaxed,
        1 | 2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcquireRelease,
        _ => MemoryOrder::SequentiallyConsistent,
    }
}

/// A number that the processor changes in one step.
trait Number: Copy + PartialEq {
    const SIZE: usize;
    unsafe fn load(at: *mut Self) -> Self;
    unsafe fn store(at: *mut Self, new: Self);
    /// The value before; the new one is there if it was as expected.
    unsafe fn replace(at: *mut Self, expected: Self, new: Self) -> Self;
    /// Up to 64 bits of it each.
    fn halves(self) -> [u64; 2];

    /// The value before.
    unsafe fn update(at: *mut Self, change: impl Fn(Self) -> Self) -> Self {
        // SAFETY: as the caller promises, here and below.
        let mut before = unsafe { Self::load(at) };
        loop {
            let found = unsafe { Self::replace(at, before, change(before)) };
            if found == before {
                return before;
            }
            before = found;
        }
    }
}

macro_rules! number {
    ($($number:ty: $atomic:ty;)*) => {$(
        impl Number for $number {
            const SIZE: usize = size_of::<Self>();

            unsafe fn load(at: *mut Self) -> Self {
                // SAFETY: the program has an atomic of this size there, here and below.
                unsafe { <$atomic>::from_ptr(at) }.load(SeqCst)
            }

            unsafe fn store(at: *mut Self, new: Self) {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(at) }.store(new, SeqCst);
            }

            unsafe fn replace(at: *mut Self, expected: Self, new: Self) -> Self {
                // SAFETY: as above.
                let place = unsafe { <$atomic>::from_ptr(at) };
                place.compare_exchange(expected, new, SeqCst, SeqCst).unwrap_or_else(|found| found)
            }

            fn halves(self) -> [u64; 2] {
                [self.into(), 0]
            }
        }
    )*};
}

number! {
    u8: AtomicU8;
    u16: AtomicU16;
    u32: AtomicU32;
    u64: AtomicU64;
}

impl Number for u128 {
    const SIZE: usize = 16;

    unsafe fn load(at: *mut Self) -> Self {
        // SAFETY: as the caller promises; if the value is 0, it is replaced by itself.
        unsafe { Self::replace(at, 0, 0) }
    }

    unsafe fn store(at: *mut Self, new: Self) {
        // SAFETY: as the caller promises.
        unsafe { Self::update(at, |_| new) };
    }

    unsafe fn replace(at: *mut Self, expected: Self, new: Self) -> Self {
        let (low, high): (u64, u64);
        // SAFETY: the program has an atomic of this size there, so it is aligned, and the processor has the instruction.
        unsafe {
            asm!(
                "xchg {kept}, rbx",
                "lock cmpxchg16b [rdi]",
                "mov rbx, {kept}",
                // Not in any register: the compiler may choose rbx, which the first instruction changes.
                in("rdi") at,
                kept = inout(reg) new as u64 => _,
                inlateout("rax") expected as u64 => low,
                inlateout("rdx") (expected >> 64) as u64 => high,
                in("rcx") (new >> 64) as u64,
                options(nostack),
            );
        }
        Self::from(high) << 64 | Self::from(low)
    }

    fn halves(self) -> [u64; 2] {
        [self as u64, (self >> 64) as u64]
    }
}

/// Before an atomic operation: whether it is to be recorded, and as which site.
#[inline(always)]
fn begin(pc: usize, address: usize, kind: Kind, mo: i32) -> Option<u32> {
    if !probe::is_owner() && !probe::outsider() {
        return None;
    }
    probe::settle();
    let site = sites::find_ordered(pc, kind, order(mo));
    let write = kind != Kind::AtomicRead;
    probe::ready(site, address, write).then(|| site.number())
}

#[inline(always)]
fn put<T: Number>(site: u32, address: usize, value: T) {
    for (half, at) in value.halves().into_iter().zip((0..T::SIZE).step_by(8)) {
        let piece = Piece { address: address + at, size: T::SIZE.min(8) };
        probe::put(site, piece, half);
    }
}

fn load<T: Number>(at: *mut T, mo: i32, pc: usize) -> T {
    let address = at.addr();
    let site = begin(pc, address, Kind::AtomicRead, mo);
    // SAFETY: the program has an atomic there.
    let value = unsafe { T::load(at) };
    if let Some(site) = site {
        let spins = probe::awaits_change(site, value.halves()[0]);
        put(site, address, value);
        if spins {
            probe::give_way(site);
        }
    }
    value
}

fn store<T: Number>(at: *mut T, new: T, mo: i32, pc: usize) {
    let site = begin(pc, at.addr(), Kind::AtomicWrite, mo);
    // SAFETY: the program has an atomic there.
    unsafe { T::store(at, new) };
    if let Some(site) = site {
        put(site, at.addr(), new);
    }
}

fn update<T: Number>(at: *mut T, mo: i32, pc: usize, change: impl Fn(T) -> T) -> T {
    let site = begin(pc, at.addr(), Kind::UpdateRead, mo);
    // SAFETY: the program has an atomic there.
    let before = unsafe { T::update(at, &change) };
    if let Some(site) = site {
        put_update(site, at.addr(), pc, mo, before, change(before));
    }
    before
}

fn put_update<T: Number>(site: u32, address: usize, pc: usize, mo: i32, before: T, after: T) {
    let write = sites::find_ordered(pc, Kind::UpdateWrite, order(mo));
    let halves = before.halves().into_iter().zip(after.halves());
    // Each read is directly followed by its write.
    for ((before, after), at) in halves.zip((0..T::SIZE).step_by(8)) {
        let piece = Piece { address: address + at, size: T::SIZE.min(8) };
        probe::put(site, piece, before);
        probe::put(write.number(), piece, after);
    }
}

/// The value before.
fn replace<T: Number>(at: *mut T, expected: T, new: T, mo: i32, pc: usize) -> T {
    let site = begin(pc, at.addr(), Kind::UpdateRead, mo);
    // SAFETY: the program has an atomic there.
    let found = unsafe { T::replace(at, expected, new) };
    let Some(site) = site else { return found };
    if found == expected {
        put_update(site, at.addr(), pc, mo, found, new);
        return found;
    }
    // It has only read.
    let read = sites::find_ordered(pc, Kind::AtomicRead, order(mo)).number();
    let spins = probe::awaits_change(read, found.halves()[0]);
    put(read, at.addr(), found);
    if spins {
        probe::give_way(read);
    }
    found
}

/// The value that was there is left where the expected one was.
unsafe fn exchange_if<T: Number>(at: *mut T, expected: *mut T, new: T, mo: i32, pc: usize) -> i32 {
    // SAFETY: the program passes a variable of its own, here and below.
    let wanted = unsafe { expected.read_unaligned() };
    let found = replace(at, wanted, new, mo, pc);
    if found != wanted {
        // SAFETY: as above.
        unsafe { expected.write_unaligned(found) };
    }
    (found == wanted).into()
}

macro_rules! atomics {
    ($($number:ident $module:ident;)*) => {$(
        mod $module {
            type N = $number;

            pub(super) extern "C" fn load(at: *mut N, mo: i32, pc: usize) -> N {
                super::load(at, mo, pc)
            }
            pub(super) extern "C" fn store(at: *mut N, new: N, mo: i32, pc: usize) {
                super::store(at, new, mo, pc);
            }
            pub(super) extern "C" fn exchange(at: *mut N, new: N, mo: i32, pc: usize) -> N {
                super::update(at, mo, pc, |_| new)
            }
            pub(super) extern "C" fn add(at: *mut N, by: N, mo: i32, pc: usize) -> N {
                super::update(at, mo, pc, |old| old.wrapping_add(by))
            }
            pub(super) extern "C" fn sub(at: *mut N, by: N, mo: i32, pc: usize) -> N {
                super::update(at, mo, pc, |old| old.wrapping_sub(by))
            }
            pub(super) extern "C" fn and(at: *mut N, by: N, mo: i32, pc: usize) -> N {
                super::update(at, mo, pc, |old| old & by)
            }
            pub(super) extern "C" fn or(at: *mut N, by: N, mo: i32, pc: usize) -> N {
                super::update(at, mo, pc, |old| old | by)
            }
            pub(super) extern "C" fn xor(at: *mut N, by: N, mo: i32, pc: usize) -> N {
                super::update(at, mo, pc, |old| old ^ by)
            }
            pub(super) extern "C" fn nand(at: *mut N, by: N, mo: i32, pc: usize) -> N {
                super::update(at, mo, pc, |old| !(old & by))
            }
            pub(super) unsafe extern "C" fn exchange_if(
                at: *mut N,
                expected: *mut N,
                new: N,
                mo: i32,
                _failed: i32,
                pc: usize,
            ) -> i32 {
                // SAFETY: as the program promises.
                unsafe { super::exchange_if(at, expected, new, mo, pc) }
            }
            pub(super) extern "C" fn exchange_value(
                at: *mut N,
                expected: N,
                new: N,
                mo: i32,
                _failed: i32,
                pc: usize,
            ) -> N {
                super::replace(at, expected, new, mo, pc)
            }
        }
    )*};
}

atomics! {
    u8 n8;
    u16 n16;
    u32 n32;
    u64 n64;
    u128 n128;
}

stub! {
    __tsan_atomic8_load "rdx" => n8::load;
    __tsan_atomic8_store "rcx" => n8::store;
    __tsan_atomic8_exchange "rcx" => n8::exchange;
    __tsan_atomic8_fetch_add "rcx" => n8::add;
    __tsan_atomic8_fetch_sub "rcx" => n8::sub;
    __tsan_atomic8_fetch_and "rcx" => n8::and;
    __tsan_atomic8_fetch_or "rcx" => n8::or;
    __tsan_atomic8_fetch_xor "rcx" => n8::xor;
    __tsan_atomic8_fetch_nand "rcx" => n8::nand;
    __tsan_atomic8_compare_exchange_strong "r9" => n8::exchange_if;
    __tsan_atomic8_compare_exchange_weak "r9" => n8::exchange_if;
    __tsan_atomic8_compare_exchange_val "r9" => n8::exchange_value;
}

stub! {
    __tsan_atomic16_load "rdx" => n16::load;
    __tsan_atomic16_store "rcx" => n16::store;
    __tsan_atomic16_exchange "rcx" => n16::exchange;
    __tsan_atomic16_fetch_add "rcx" => n16::add;
    __tsan_atomic16_fetch_sub "rcx" => n16::sub;
    __tsan_atomic16_fetch_and "rcx" => n16::and;
    __tsan_atomic16_fetch_or "rcx" => n16::or;
    __tsan_atomic16_fetch_xor "rcx" => n16::xor;
    __tsan_atomic16_fetch_nand "rcx" => n16::nand;
    __tsan_atomic16_compare_exchange_strong "r9" => n16::exchange_if;
    __tsan_atomic16_compare_exchange_weak "r9" => n16::exchange_if;
    __tsan_atomic16_compare_exchange_val "r9" => n16::exchange_value;
}

stub! {
    __tsan_atomic32_load "rdx" => n32::load;
    __tsan_atomic32_store "rcx" => n32::store;
    __tsan_atomic32_exchange "rcx" => n32::exchange;
    __tsan_atomic32_fetch_add "rcx" => n32::add;
    __tsan_atomic32_fetch_sub "rcx" => n32::sub;
    __tsan_atomic32_fetch_and "rcx" => n32::and;
    __tsan_atomic32_fetch_or "rcx" => n32::or;
    __tsan_atomic32_fetch_xor "rcx" => n32::xor;
    __tsan_atomic32_fetch_nand "rcx" => n32::nand;
    __tsan_atomic32_compare_exchange_strong "r9" => n32::exchange_if;
    __tsan_atomic32_compare_exchange_weak "r9" => n32::exchange_if;
    __tsan_atomic32_compare_exchange_val "r9" => n32::exchange_value;
}

stub! {
    __tsan_atomic64_load "rdx" => n64::load;
    __tsan_atomic64_store "rcx" => n64::store;
    __tsan_atomic64_exchange "rcx" => n64::exchange;
    __tsan_atomic64_fetch_add "rcx" => n64::add;
    __tsan_atomic64_fetch_sub "rcx" => n64::sub;
    __tsan_atomic64_fetch_and "rcx" => n64::and;
    __tsan_atomic64_fetch_or "rcx" => n64::or;
    __tsan_atomic64_fetch_xor "rcx" => n64::xor;
    __tsan_atomic64_fetch_nand "rcx" => n64::nand;
    __tsan_atomic64_compare_exchange_strong "r9" => n64::exchange_if;
    __tsan_atomic64_compare_exchange_weak "r9" => n64::exchange_if;
    __tsan_atomic64_compare_exchange_val "r9" => n64::exchange_value;
}

stub! {
    __tsan_atomic128_load "rdx" => n128::load;
    __tsan_atomic128_store "r8" => n128::store;
    __tsan_atomic128_exchange "r8" => n128::exchange;
    __tsan_atomic128_fetch_add "r8" => n128::add;
    __tsan_atomic128_fetch_sub "r8" => n128::sub;
    __tsan_atomic128_fetch_and "r8" => n128::and;
    __tsan_atomic128_fetch_or "r8" => n128::or;
    __tsan_atomic128_fetch_xor "r8" => n128::xor;
    __tsan_atomic128_fetch_nand "r8" => n128::nand;
}

/// Six registers are taken: the return address goes onto the stack, as the seventh argument.
macro_rules! stub_on_stack {
    ($($name:ident => $target:path;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push qword ptr [rsp]",
                "call {}",
                "add rsp, 8",
                "ret",
                sym $target,
            )
        }
    )*};
}

stub_on_stack! {
    __tsan_atomic128_compare_exchange_strong => n128::exchange_if;
    __tsan_atomic128_compare_exchange_weak => n128::exchange_if;
}

/// Two numbers of 128 bits and two orders: the second order and the return address are on the stack, the order first.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn __tsan_atomic128_compare_exchange_val() {
    core::arch::naked_asm!(
        "mov rax, qword ptr [rsp]",
        "sub rsp, 8",
        "push rax",
        "push qword ptr [rsp + 24]",
        "call {}",
        "add rsp, 24",
        "ret",
        sym n128::exchange_value,
    )
}

/// Threads run one at a time: everything is in order.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __tsan_atomic_thread_fence(_mo: i32) {
    std::sync::atomic::fence(SeqCst);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __tsan_atomic_signal_fence(_mo: i32) {
    std::sync::atomic::compiler_fence(SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads without the token execute the operation and record nothing.
    #[test]
    fn operations_do_what_they_say() {
        fn all<T: Number + std::fmt::Debug>(mut value: T, other: T) {
            let before = value;
            assert_eq!(load(&raw mut value, 5, 1), before);
            store(&raw mut value, other, 5, 1);
            assert_eq!(update(&raw mut value, 5, 1, |_| before), other);
            assert_eq!(replace(&raw mut value, other, other, 5, 1), before);
            assert_eq!(value, before, "it was not as expected");
            let mut expected = other;
            // SAFETY: both are variables.
            unsafe {
                assert_eq!(exchange_if(&raw mut value, &raw mut expected, other, 5, 1), 0);
                assert_eq!(expected, before);
                assert_eq!(exchange_if(&raw mut value, &raw mut expected, other, 5, 1), 1);
            }
            assert_eq!(value, other);
        }
        all(7_u8, 200);
        all(7_u16, 60_000);
        all(7_u32, u32::MAX);
        all(0_u64, u64::MAX);
        all(1_u128 << 100 | 9, u128::MAX - 5);
        all(0_u128, 1 << 64);
    }
}
