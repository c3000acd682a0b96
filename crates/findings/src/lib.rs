//! From runs to findings: everything that a report contains about a run is collected here.
//!
//! * [`cycle`]: a violation of a checker becomes a finding of the report's model.
//! * [`check`]: the outcome of an exploration becomes a report; [`violation`] and [`deadlock`] make its findings.
//! * [`coverage`]: whether enough was looked at to call a program clean.
//! * [`scene`]: what happened around a finding, read from its trace. [`sources`]: the source lines.
//! * [`truth`]: holds every sentence of a finding against its trace.
//! * [`merge`]: the reports of several machines become one.
//! * [`compositions`]: calls that look like one step, as JSON and SARIF.
//!
//! What makes two findings the same is decided in one place, [`untorn_report::identity`]; what makes one of them the
//! better proof in another one, [`untorn_explore::weight`].

pub mod check;
pub mod compositions;
pub mod coverage;
pub mod cycle;
pub mod deadlock;
pub mod failure;
pub mod folded;
pub mod merge;
pub mod scene;
pub mod sources;
pub mod truth;
pub mod violation;
