//! Large synthetic traces: [`untorn_trace::shapes`], whose promises are tested here against the oracles.

pub use untorn_trace::shapes::{Shape, ShapeError, ShapeSource, ShapeSpec, Tear};

#[cfg(test)]
mod tests;
