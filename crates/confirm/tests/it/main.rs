//! Value-level atomicity against brute force, and on traces that are known by name.

mod differential;
mod named;
