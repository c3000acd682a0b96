//! The runtime inside of a native program: it records exact events and owns the schedule.
//!
//! The compiler's own instrumentation for data races (`-fsanitize=thread`) calls a function before each access and at
//! the beginning and the end of each function. Those functions are here (`abi`), and so are those of the C library by
//! which threads wait, wake, start, end, allocate and ask for the time (`interpose`). How an event is made: a *hook*
//! writes a record into a buffer (`probe`), with the value that is in memory. A value that is about to be written is
//! read back when the same thread next comes here, before any other one runs. When the thread's budget is used up or
//! it would block, the crate `runtime` decides which thread runs next, by way of `host`. A thread of our own turns
//! full buffers into events (`convert`), with the names that the debug information has (`symbols`).
//!
//! Without a configuration in its environment the library does nothing, and the program runs as if it were not there.
//!
//! # What it does not use
//!
//! It neither allocates by the C library nor waits by it: its memory lies in a region of its own, and its locks are
//! those of the crate `runtime`. So the addresses that the program sees are the same in every run.

// Hooks know their caller by its return address, which is the first thing on the stack here.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
// A runtime that stands between a program and the system is foreign interfaces throughout.
#![allow(unsafe_code)]
// Tests are a program of their own, in which the C library stays what it is: nothing is exported there.
#![cfg_attr(test, allow(dead_code, unused_imports, non_snake_case))]

mod abi;
mod cancel;
mod convert;
mod host;
mod inside;
mod interpose;
mod locks;
mod modules;
mod patience;
mod probe;
mod run;
mod signals;
mod sites;
mod symbols;
mod texts;
mod turn;
mod watchdog;

use untorn_runtime::Allocator;

/// The program's own memory must not depend on ours: see [`Allocator`]. Programs lie below 0x6000_0000_0000 or near the
/// end of the address space, their heaps behind them.
#[global_allocator]
static MEMORY: Allocator = Allocator::above(0x2000_0000_0000);
