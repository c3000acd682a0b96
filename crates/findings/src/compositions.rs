//! Compositions (calls that look like one step), for machines: JSON and SARIF.

pub mod json;
pub mod sarif;
