//! Re-executes what the threads of a run did, over the bytecode, with the inputs as variables.
//!
//! All values of the run are computed again or come from the path log; beside them go terms. Threads take turns as the log
//! says, and the heap is theirs together: a value that one writes and another reads keeps its term.
//!
//! **Promise:** a term has, under the inputs of the run, the value that was recorded. Where the re-execution cannot go on
//! as the log says, it says so ([`Fidelity`](crate::Fidelity)) and goes on with the next method that begins.

mod arithmetic;
mod branches;
mod calls;
mod code;
mod library;
mod log;
mod machine;
mod memory;
mod stack;
mod value;

use untorn_jvm_protocol::path_log::PathLog;
use untorn_schedule::{InputPlace, Inputs};

use crate::path::Path;

/// The path of a run with these inputs, of which some have to stay as they are.
pub fn replay(log: &PathLog, inputs: &Inputs, fixed: Vec<InputPlace>) -> Path {
    let path = Path { inputs: inputs.clone(), fixed, ..Path::default() };
    machine::Machine::new(log, path).run()
}
