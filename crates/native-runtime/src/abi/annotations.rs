//! What the author of a program says by `untorn.h`: blocks that are meant to be one step, and names of memory.

use std::ffi::{CStr, c_char};

use crate::abi::stub;
use crate::sites::Kind;
use crate::texts;
use crate::turn;

fn text(name: *const c_char) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: as the program promises: a text that ends with a zero.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

extern "C" fn begin(name: *const c_char, pc: usize) {
    if let Some(turn) = turn::take(pc) {
        turn.note(Kind::BlockBegin, 0, texts::number_of(&text(name)));
    }
}

extern "C" fn end(pc: usize) {
    if let Some(turn) = turn::take(pc) {
        turn.note(Kind::BlockEnd, 0, 0);
    }
}

/// The size and the number of the name share the value.
extern "C" fn shared(object: usize, bytes: usize, name: *const c_char, pc: usize) {
    if let Some(turn) = turn::take(pc) {
        let bytes = (bytes as u64).min(u32::MAX.into());
        turn.note(Kind::Name, object, texts::number_of(&text(name)) << 32 | bytes);
    }
}

stub! {
    untorn_atomic_begin "rsi" => begin;
    untorn_atomic_end "rdi" => end;
    untorn_shared "rcx" => shared;
}
