//! Whole analyses: of the paper's listings, of the JDK, of broken classes.

mod common;
mod jdk;
mod libraries;
mod listings;
mod mutated;
