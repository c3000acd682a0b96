//! The loop, on simulated programs: what is found, what is not, and why. No JVM is needed.

mod budget;
mod bystanders;
mod counterfactual;
mod declared;
mod dependence;
mod effects;
mod facts;
mod failures;
mod harness;
mod inferred;
mod inputs;
mod locks;
mod options;
mod own_code;
mod plain;
mod projection;
mod replays;
mod significance;
mod triples;
mod two_objects;
mod warm;
