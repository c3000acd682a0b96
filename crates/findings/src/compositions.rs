//! Calls that look meant to be one step, for machines: JSON and SARIF.

pub mod json;
pub mod sarif;
