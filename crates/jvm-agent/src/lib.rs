//! The agent inside of a JVM: it rewrites classes as they load, records exact events and owns the schedule.
//!
//! How an event is made: a probe that `instrument` inserted writes a record into a buffer (`UntornProbe`, the Java
//! half). When the thread's budget is used up or it would block, the runtime (`untorn-runtime`) decides which thread
//! runs next. It accesses the JVM through `host`; `blocking`, `threads` and `natives` pass to it what Java code is
//! about to do. It hands full buffers to a thread on which `convert` turns them into events, which go into the `.utr`
//! file together with the schedule.

mod agent;
mod ask_bits;
mod blocking;
mod classes;
mod convert;
mod explicit_monitors;
mod host;
mod identities;
mod instrument;
mod jni;
mod jvm_selection;
mod jvmti;
mod locks;
mod natives;
mod path_memory;
mod plans;
mod probe;
mod run;
mod scenario;
mod scope;
mod server;
mod sites;
mod summary;
mod threads;
mod vars;
mod watchdog;
mod weak_refs;

use untorn_runtime::Allocator;

pub use agent::{Agent_OnLoad, Java_java_lang_UntornProbe_init};
pub use scenario::{
    Java_java_lang_UntornScenario_observed, Java_java_lang_UntornScenario_scenario,
};

/// The JVM's own memory must not depend on the agent's allocations: see [`Allocator`].
#[global_allocator]
static MEMORY: Allocator = Allocator::new();
