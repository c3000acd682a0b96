//! The host half of the JVM front end: starts a Java program under the agent, finds the agent and the JDK, and reads
//! what the agent says of the run.
//!
//! The agent itself is `untorn-jvm-agent`, a shared library that nothing here links. What both halves tell each
//! other is `untorn-jvm-protocol` and `untorn-runtime-protocol`, whose parts are exported again here.

pub mod launch;

pub use untorn_jvm_protocol::{JUNIT_MAIN, NO_TEST_EXIT, config, java_home, jvm_selection};
pub use untorn_runtime_protocol::{DEADLOCK_EXIT, INPUT, Progress, SCHEDULE};
