//! The host half of the native front end: C, C++ and Rust programs that were built by our compiler wrappers.
//!
//! [`Native`] is the front end. [`compile`] is `untorn cc` and `untorn c++`: the user's own compiler, with its
//! instrumentation for data races and our runtime in place of the one that comes with it. [`cargo`] is the same for Rust. [`binary`] says what an
//! executable was built by.

pub mod binary;
pub mod cargo;
pub mod compile;
mod front_end;
mod launch;
mod output;
mod runner;

pub use front_end::{NAME, Native};
pub use untorn_native_protocol::NativeSetup;
