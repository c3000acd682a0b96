//! The loop, on simulated programs: what is found, what is not, and why. No JVM is needed.

mod budget;
mod bystanders;
mod declared;
mod effects;
mod facts;
mod failures;
mod harness;
mod inferred;
mod locks;
mod options;
mod replays;
mod warm;
