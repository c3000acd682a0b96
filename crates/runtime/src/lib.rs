//! What happens inside of a program under test, in whatever language: control of its threads, and recording.
//!
//! A front end (the JVM's agent; a native runtime) implements [`Host`], by which the runtime reaches the probes and
//! the threads of the program, and [`Convert`], which makes events of what the probes recorded. In return
//! [`Control`] decides who runs: it keeps the token, asks the scheduler (`untorn-schedule`), lets threads wait and
//! leave, finds deadlocks, and ends the run. [`Recorder`] takes full buffers to the thread that writes the trace.
//! [`Watchdog`] notices threads that block where no probe can tell.
//!
//! Nothing here uses the locks of the standard library or of the C library (see [`sync`]), and the memory can be
//! its own (see [`Allocator`]): both belong to the program under test. Threads are the front end's to start.

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
pub use buffers::Record;
pub use control::{
    AwaitedDescriptor, Control, Holder, Pulse, Resumption, Settings, Signal, ThreadNames,
    current_processor, current_thread,
};
pub use host::{Host, Moment, WaitDescription};
pub use input::{Answer, Input};
pub use recorder::{Convert, Recorder};
pub use setup::{START_MILLIS, scheduler};
pub use token::{Released, Tokens, WaitResult};
pub use watchdog::Watchdog;
