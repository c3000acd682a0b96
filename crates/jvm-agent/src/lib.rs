//! The agent inside of a JVM: it rewrites classes as they load, records exact events and owns the schedule.
//!
//! The way of an event: a probe that `instrument` inserted writes a `buffers::Record` (`UntornProbe`, the Java
//! half); `control` decides, when the thread's budget is used up or it would block, who runs next;
//! `recorder` takes full buffers and has `convert` make events of them, which go into the `.utr` file
//! together with the schedule.

mod agent;
mod buffers;
mod classes;
mod control;
mod convert;
mod input;
mod instrument;
mod jni;
mod jvm_selection;
mod jvmti;
mod locks;
mod memory;
mod natives;
mod plans;
mod probe;
mod recorder;
mod scope;
mod sites;
mod vars;
mod watchdog;
mod weak_refs;

pub use agent::{Agent_OnLoad, Java_java_lang_UntornProbe_init};
