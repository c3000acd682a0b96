//! The JVM front end: an agent that rewrites classes as they load, records exact events and owns the schedule.
//!
//! One crate, two uses: as a shared library it is the agent (`agent`), as a Rust library it is what the command
//! line needs to start a program under it (`launch`).
//!
//! The way of an event: a probe that [`instrument`] inserted writes a [`buffers::Record`] (`UntornProbe`, the Java
//! half); `control` decides, when the thread's budget is used up or it would block, who runs next;
//! `recorder` takes full buffers and has `convert` make events of them, which go into the `.utr` file
//! together with the schedule.

mod agent;
pub mod buffers;
pub mod choose;
pub mod classes;
pub mod config;
mod control;
mod convert;
mod held;
mod input;
pub mod instrument;
mod jni;
mod jvmti;
pub mod launch;
mod locks;
mod memory;
mod natives;
pub mod plans;
mod probe;
mod recorder;
pub mod scope;
pub mod sites;
mod vars;
mod watchdog;

pub use agent::{Agent_OnLoad, EPOCH_MILLIS, Java_java_lang_UntornProbe_init};
pub use control::DEADLOCK_EXIT;
pub use input::INPUT;
pub use recorder::SCHEDULE;

/// The class that runs a JUnit test; every JVM with the agent has it.
pub const JUNIT_MAIN: &str = "java.lang.UntornJUnit";

/// What [`JUNIT_MAIN`] says when there is no test to run.
pub const NO_TEST_EXIT: i32 = 87;
