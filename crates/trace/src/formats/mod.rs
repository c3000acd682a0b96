//! The file formats. Each module holds the reader and the writer of one format side by side.

pub mod rapid;
pub mod utr;
mod window;

/// The formats Untorn knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// Our own binary format, `.utr`.
    Utr,
    /// RAPID's text format, `.std`.
    Rapid,
    /// RAPID's binary format, `.data` or `.rapidbin`; read only.
    RapidBin,
    /// One JSON object a line, `.jsonl`.
    JsonLines,
}
