//! The host half of the JVM front end: starts a Java program under the agent, finds the agent and the JDK, and reads
//! what the agent says of the run.
//!
//! [`Jvm`] is the front end. The agent itself is `untorn-jvm-agent`, a shared library that nothing here links. What
//! both halves tell each other is `untorn-jvm-protocol` and `untorn-runtime-protocol`.

mod agent_config;
mod class_files;
mod class_path;
mod front_end;
mod inputs;
pub mod jdk;
mod launch;
mod noise;
mod own_code;
mod program;
mod remains;
mod runner;
pub mod same_run;
mod sequential;
mod server;
mod warm;
mod which_jvm;

pub use agent_config::scenario_of;
pub use class_files::changes as changed_class_files;
pub use class_path::class_path;
pub use front_end::Jvm;
pub use program::{ProgramArguments, junit_command, scenario_command};
pub use sequential::{ClassFacts, Member, SequentialJvm};
pub use untorn_jvm_protocol::{config, jvm_selection};
