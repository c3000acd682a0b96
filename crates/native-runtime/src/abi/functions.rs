//! Functions begin and end, and the rest of the interface.

use crate::abi::stub;
use crate::probe::{self, Piece};
use crate::sites::{self, Kind};

/// A function begins: it returns to `caller`, `pc` is in it, and its frame lies below `stack`.
extern "C" fn entered(caller: usize, stack: usize, pc: usize) {
    activation(pc, Kind::Enter, stack, caller);
}

extern "C" fn left(stack: usize, pc: usize) {
    activation(pc, Kind::Leave, stack, 0);
}

#[inline(always)]
fn activation(pc: usize, kind: Kind, stack: usize, value: usize) {
    if !probe::is_owner() && !probe::outsider() {
        return;
    }
    probe::settle();
    let site = sites::find(pc, kind);
    if probe::ready(site, 0, false) {
        probe::put(site.number(), Piece { address: stack, size: 8 }, value as u64);
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn __tsan_func_entry() {
    core::arch::naked_asm!("mov rsi, rsp", "mov rdx, qword ptr [rsp]", "jmp {}", sym entered)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn __tsan_func_exit() {
    core::arch::naked_asm!("mov rdi, rsp", "mov rsi, qword ptr [rsp]", "jmp {}", sym left)
}

/// An announcement by the program that orders threads.
extern "C" fn acquire(address: usize, pc: usize) {
    crate::interpose::note_sync(Kind::SyncRead, address, pc);
}

extern "C" fn release(address: usize, pc: usize) {
    crate::interpose::note_sync(Kind::SyncWrite, address, pc);
}

stub! {
    __tsan_acquire "rsi" => acquire;
    __tsan_release "rsi" => release;
}

/// Called by each module when it is loaded, and by others of its like: nothing has to be done.
macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub extern "C" fn $name() {}
    )*};
}

nothing! {
    __tsan_init
    __tsan_ignore_thread_begin
    __tsan_ignore_thread_end
    __tsan_mutex_create
    __tsan_mutex_destroy
    __tsan_mutex_pre_lock
    __tsan_mutex_post_lock
    __tsan_mutex_pre_unlock
    __tsan_mutex_post_unlock
    __tsan_mutex_pre_signal
    __tsan_mutex_post_signal
    __tsan_mutex_pre_divert
    __tsan_mutex_post_divert
    __tsan_external_read
    __tsan_external_write
}
