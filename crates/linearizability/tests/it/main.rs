//! The decision against all permutations.

mod differential;
mod models;
