//! `.utr`, our own format: small, fast to read, safe to cut. Specified in `docs/format.md`.
//!
//! A file is a header and a sequence of *sections*, each with a checksum of its own. A section is
//! either whole or not there: a file cut anywhere reads up to its last whole section and reports the cut, and
//! a flipped bit is an error, never another trace.
//!
//! **Version rule.** A reader takes every file of its major version. What a later minor version adds
//! comes in sections of new kinds: a kind that starts with a lower-case letter may be skipped, one
//! that starts with an upper-case letter may not.

mod block;
mod builder;
mod bytes;
mod extra;
mod names;
mod reader;
mod section;
mod skim;
mod writer;

pub use builder::ShapeMemo;
pub use extra::{ExtraKind, extras};
pub use reader::Reader;
pub use section::{MAGIC, VERSION};
pub use skim::{Skim, skim};
pub use writer::{Compression, Writer};

/// A fault inside a section, before the reader adds the position of the section.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault(String);

impl Fault {
    fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}
