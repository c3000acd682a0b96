//! The file formats. Each module holds the reader and the writer of one format side by side.

mod batch;
pub mod create;
pub mod json_lines;
mod map;
pub mod open;
pub mod rapid;
pub mod rapid_bin;
mod unique;
pub mod utr;
mod window;

use std::path::Path;

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

impl Format {
    pub const ALL: [Self; 4] = [Self::Utr, Self::Rapid, Self::RapidBin, Self::JsonLines];

    /// What the format is called, on a command line too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Utr => "utr",
            Self::Rapid => "std",
            Self::RapidBin => "rapidbin",
            Self::JsonLines => "jsonl",
        }
    }

    /// The format that is called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format by the extension of a file, without `.gz` and `.zst`.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
        let mut found = extension(path)?;
        if found == "gz" || found == "zst" {
            found = extension(Path::new(path.file_stem()?))?;
        }
        match found.as_str() {
            "utr" => Some(Self::Utr),
            "std" => Some(Self::Rapid),
            "data" | "rapidbin" | "bin" => Some(Self::RapidBin),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            _ => None,
        }
    }

    /// Whether there is a writer.
    pub const fn can_be_written(self) -> bool {
        !matches!(self, Self::RapidBin)
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
