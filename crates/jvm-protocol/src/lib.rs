//! What the command line and the agent inside of a JVM tell each other.
//!
//! The command line writes a [`config::Config`] and, if somebody else starts the JVM, a
//! [`jvm_selection::Selection`]. The agent answers with a line for each JVM that it was loaded into, and as every
//! runtime does (`untorn-runtime-protocol`). Both need the same [`jvm_options`]: the agent may have to start its
//! JVM anew.

pub mod config;
pub mod java_home;
pub mod jvm_options;
pub mod jvm_selection;
pub mod path_log;
pub mod server;

/// The class that runs a JUnit test; every JVM with the agent has it.
pub const JUNIT_MAIN: &str = "java.lang.UntornJUnit";

/// The class that runs a scenario of calls; see [`config::Config::scenario`].
pub const SCENARIO_MAIN: &str = "java.lang.UntornScenario";

/// The class that makes the calls of scenarios in sequential orders, in a JVM whose agent has the option
/// [`CLASSES_ONLY`].
pub const SEQUENTIAL_MAIN: &str = "java.lang.UntornSequential";

/// The option with which the agent adds its classes to a JVM, and does nothing else.
pub const CLASSES_ONLY: &str = "classes";

/// What [`JUNIT_MAIN`] says when there is no test to run.
pub const NO_TEST_EXIT: i32 = 87;
