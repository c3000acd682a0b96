//! A seeded generator of random numbers that gives the same numbers for ever.

pub use untorn_trace::shapes::Rng;
