//! The part that runs inside of a program under test, in any language: control of its threads, and recording.
//!
//! A front end (the JVM's agent; a native runtime) implements [`Host`], through which the runtime accesses the probes
//! and the threads of the program, and [`Convert`], which turns records of probes into events. In return [`Control`]
//! decides which thread runs: it keeps the token, asks the scheduler (`untorn-schedule`), lets threads wait and
//! leave, finds deadlocks, and ends the run. [`Recorder`] passes full buffers to the thread that writes the trace.
//! [`Watchdog`] detects threads that block where no probe can see it.
//!
//! # A front end, step by step
//!
//! 1. Before the program begins: make a [`Recorder`] and start a thread that runs [`Recorder::write_all`] with the front end's
//!    [`Convert`]; make the [`scheduler`] and the [`Control`]; start a thread that calls [`Watchdog::check`].
//! 2. On the program's first thread: [`Control::begin`].
//! 3. Around starting a thread: [`Control::fork`] before it, [`Control::started`] on the new thread before its own code,
//!    [`Control::ended`] after it, [`Control::joined`] when another thread has waited for its end.
//! 4. At each event a probe writes a [`Record`]; see [`Host`] for how. Before an event at which a plan or a policy wants to
//!    decide: [`Control::arrive`].
//! 5. Where a thread would block: [`Control::present`] says whether the thread is controlled and gets it the token;
//!    [`Control::hold`] then lets it leave records and block in the scheduler ([`Holder`]). The front end keeps its own
//!    model of who owns which lock ([`Locks::owner`](untorn_schedule::Locks::owner)). What is woken by a permit or an interrupt:
//!    [`Control::signal`]. Before a system call that may wait for a descriptor: [`Control::await_ready`]. Before any other
//!    wait that the runtime cannot see: [`Control::leave_contended`], and [`Control::come_back`] after it.
//! 6. At the end: [`Control::finish`]. If the front end fails: [`Control::give_up`], and the program goes on by itself.
//!
//! # What it does not use
//!
//! Nothing here uses the locks of the standard library or of the C library (see [`sync`]), and the memory can be
//! separate (see [`Allocator`]): both belong to the program under test. The front end starts all threads.

mod allocator;
pub mod buffers;
mod control;
mod host;
mod input;
mod recorder;
mod setup;
pub mod sync;
mod token;
mod watchdog;

pub use allocator::Allocator;
pub use buffers::{Record, SpareBuffers};
pub use control::{
    AwaitedDescriptor, Control, Holder, Leftovers, Resumption, Settings, Signal, ThreadNames,
    current_processor,
};
pub use host::{Host, Moment, WaitDescription};
pub use input::{Answer, Input};
pub use recorder::{Convert, Recorder};
pub use setup::{START_MILLIS, scheduler};
pub use token::{Released, Tokens, WaitResult};
pub use watchdog::Watchdog;
