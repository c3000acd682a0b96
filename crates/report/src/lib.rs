//! The model of a finding and its pictures.
//!
//! [`model`] defines what a finding is; every other module shows it in one way. The renderers are pure
//! functions from the model to text: nothing here reads a file, prints, or knows a checker.

pub mod calls;
mod check_summary;
pub mod claim;
pub mod coverage;
pub mod dot;
pub mod explain;
pub mod failure;
pub mod folded;
pub mod groups;
pub mod html;
pub mod identity;
pub mod json;
pub mod junit;
mod language;
pub mod markdown;
pub mod model;
pub mod operation;
pub mod perfetto;
pub mod phrasing;
pub mod replayed;
pub mod sarif;
pub mod scene;
pub mod story;
pub mod svg;
pub mod terminal;
pub mod text;
mod validate;

pub use language::{Language, Phrase, Problem, of_front_end};
pub use model::{
    Alarm, Block, CheckerVerdict, Edge, EdgeKind, Finding, Note, NoteKind, Report, Tear,
    TraceReport, TraceSummary, TraceVerdict, Transaction,
};
pub use operation::{Action, Operation};
