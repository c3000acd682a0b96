//! Programs read from class files, against naive definitions: made by hand, compiled, of the JDK, broken.

mod archives;
mod common;
mod graphs;
mod jdk;
mod operations;
mod values;
