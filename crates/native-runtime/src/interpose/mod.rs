//! Functions of the C library by which threads wait, wake, start, end, allocate and ask for the time.
//!
//! Ours come before those of the C library. In a program that is not recorded, and in threads that are not controlled,
//! they pass everything on. Else they ask the scheduler first, and then really do what they were asked for: a program
//! that is released in the middle goes on correctly.

mod condition;
mod containers;
mod exits;
mod files;
mod futex;
mod memory;
mod mutex;
mod once;
pub(crate) mod real;
mod rwlock;
mod semaphore;
mod threads;
mod time;
mod waits;

use crate::sites::Kind;
use crate::turn;

pub(crate) use threads::prepare as prepare_threads;

/// Records an event by which threads are ordered.
pub(crate) fn note_sync(kind: Kind, address: usize, pc: usize) {
    if let Some(turn) = turn::take(pc) {
        turn.note(kind, address, 0);
    }
}
