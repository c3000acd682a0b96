//! The solver against brute force, and the search on paths written by hand.

mod search;
mod solving;
