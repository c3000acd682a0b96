//! The loop, on simulated programs: what is found, what is not, and why. No JVM is needed.

mod declared;
mod effects;
mod facts;
mod harness;
mod inferred;
mod locks;
mod options;
mod replays;
