//! Events of one run, the tables that name them, and the file formats that hold them.
//!
//! Every format ends at its reader: what leaves this crate is [`Event`]s with dense ids, and
//! [`Tables`] that say what the ids are called.

pub mod event;
pub mod formats;
pub mod ids;
mod names;
pub mod source;
pub mod tables;
pub mod validate;

pub use event::{Access, Event, Hold, Op, Value, ValueKind};
pub use formats::Format;
pub use ids::{EventIdx, LabelId, LockId, SiteId, SymbolId, ThreadId, VarId};
pub use names::generic_name;
pub use source::{BATCH, Lossy, Notes, Sink, Source, Strictness, Trace, TraceError};
pub use tables::{NameTable, RunMeta, Site, SiteTable, Tables, VarFacts, show_value};
