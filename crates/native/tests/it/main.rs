//! Native programs, built by our wrappers, recorded, replayed and explored. Needs gcc and g++.

mod annotations;
mod examples;
mod harness;
mod programs;
mod rust;
mod transparency;
