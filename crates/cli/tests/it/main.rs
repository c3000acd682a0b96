//! The tool as its users call it, in one binary. `cargo test -p untorn --test it cli::` runs one module.
//!
//! * No JVM: `cli`, `examples`, `manual`, `mcp`, `predict`, `report`. With class files: `compose`.
//! * With a JVM: `check…`, `compare`, `doctor`, and those of the JVM front end alone: `harmless`, `record_…`,
//!   `replay`, `trust`, `indirect_launch`, `warm`, `terminated`.
//! * With what `./dev setup` fetches: `jdks`, `junit`, `targets`.

mod check;
mod check_compositions;
mod check_failures;
mod check_inputs;
mod check_kinds;
mod check_linearizable;
mod check_options;
mod check_seeds;
mod cli;
mod compare;
mod compose;
mod doctor;
mod examples;
mod harmless;
mod indirect_launch;
mod input_oracle;
mod jdks;
mod junit;
mod manual;
mod mcp;
mod predict;
mod predict_memory;
mod record_cut;
mod record_determinism;
mod record_errors;
mod record_events;
mod record_examples;
mod record_library;
mod record_loaders;
mod record_memory;
mod record_orders;
mod record_outside;
mod record_plans;
mod record_unseen;
mod record_values;
mod replay;
mod report;
mod servers;
mod support;
mod targets;
mod terminated;
mod trust;
mod verify;
mod warm;
