//! The scheduler: its protocol, its formats, and random programs that it runs.

mod formats;
mod programs;
mod protocol;
