//! The agent inside of a JVM: it rewrites classes as they load, records exact events and owns the schedule.
//!
//! The way of an event: a probe that `instrument` inserted writes a record into a buffer (`UntornProbe`, the Java
//! half). The runtime (`untorn-runtime`) decides, when the thread's budget is used up or it would block, who runs
//! next; it reaches the JVM through `host`, and `blocking`, `threads` and `natives` tell it what Java code is about
//! to do. It takes full buffers to a thread on which `convert` makes events of them, which go into the `.utr` file
//! together with the schedule.

mod agent;
mod blocking;
mod classes;
mod convert;
mod host;
mod instrument;
mod jni;
mod jvm_selection;
mod jvmti;
mod locks;
mod natives;
mod plans;
mod probe;
mod scope;
mod sites;
mod summary;
mod threads;
mod vars;
mod watchdog;
mod weak_refs;

use untorn_runtime::Allocator;

pub use agent::{Agent_OnLoad, Java_java_lang_UntornProbe_init};

/// The JVM's own memory must not depend on what the agent does: see [`Allocator`].
#[global_allocator]
static MEMORY: Allocator = Allocator::new();
