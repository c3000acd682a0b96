//! Events of one run, the tables that name them, and the file formats that hold them.
//!
//! Every format ends at its reader: what leaves this crate is [`Event`]s with dense ids, and
//! [`Tables`] with the names of the ids.

pub mod event;
pub mod formats;
pub mod glob;
pub mod ids;
pub mod recording;
pub mod reordering;
pub mod secrets;
pub mod shapes;
pub mod source;
pub mod tables;
pub mod validate;

pub use event::{Access, BlockKind, CallOutcome, Event, Hold, Op, Value, ValueKind};
pub use formats::Format;
pub use ids::{EventIdx, LabelId, LockId, MemberId, ObjectId, SiteId, SymbolId, ThreadId, VarId};
pub use recording::{Coverage, Followed, PrematureTimeout, RecordingSummary, RunMeta, RunSetup};
pub use source::{BATCH, Lossy, Notes, Sink, Source, Strictness, Trace, TraceError};
pub use tables::convention::member as generic_name;
pub use tables::{
    AddressRange, CodePosition, LabelFacts, MemoryOrder, NameTable, Site, SiteFacts, SiteTable,
    Tables, VarFacts, VarRole, show_value,
};
