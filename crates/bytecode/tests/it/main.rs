//! Class files read and rewritten: made by hand, of the JDK, broken, and run by a JVM.

mod common;
mod identity;
mod jvm;
mod layout;
mod mutated;
mod reading;
