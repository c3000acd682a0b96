//! Inputs that lead a program another way than it went.
//!
//! A front end records a run with a path log. [`replay`] re-executes what its threads did, over the bytecode, with the
//! inputs as variables: a [`Path`] comes of it, the branches that depend on inputs and what they depend on ([`Terms`]).
//! [`Search`] turns one branch of a path and has [`solve`] find the inputs for that.
//!
//! **Invariant:** every term knows its value in the recorded run; where it is another one than the recording says, the
//! term is dropped, and that is counted.

pub mod path;
pub mod replay;
mod search;
pub mod smtlib;
pub mod solve;
pub mod term;

pub use path::{Fidelity, Path};
pub use search::{Proposal, Search, Tally};
pub use term::Terms;
