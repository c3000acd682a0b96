//! From traces to findings.

mod truth;
