//! From the name of a file to a reader, whatever the file is: mapped or piped, compressed or not,
//! in any of the formats.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::event::Event;
use crate::formats::{Format, json_lines, map, rapid, rapid_bin, utr};
use crate::source::{Notes, Source, Strictness, TraceError};
use crate::tables::Tables;

pub use super::create::{CreateOptions, Output, create};

/// Where a trace is read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    Path(PathBuf),
    Stdin,
}

impl Input {
    /// What a user wrote: `-` is the standard input.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if path.as_os_str() == "-" { Self::Stdin } else { Self::Path(path) }
    }

    /// What errors call it.
    fn name(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Stdin => Path::new("<stdin>"),
        }
    }
}

/// How a trace is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenOptions {
    /// The format; found out if not given.
    pub format: Option<Format>,
    pub strictness: Strictness,
}

/// Opens a trace. Errors, now and later, name the file.
///
/// The format is the one asked for, or else determined by the content (`.utr` has a magic number), by the
/// file's extension, or guessed from the content: JSON lines start with `{`, and what looks like
/// nothing else is RAPID's text. Content compressed with gzip or zstd is known by its magic number
/// and decompressed on the way.
///
/// A plain file is mapped into memory; see the hazard in the documentation of `memmap2`: a file
/// that someone cuts short while it is read kills the reader. Anything else is streamed.
pub fn open(input: &Input, options: &OpenOptions) -> Result<Box<dyn Source + Send>, TraceError> {
    open_known(input, options).map(|(_, source)| source)
}

/// As [`open`], and returns the format as well.
pub fn open_known(
    input: &Input,
    options: &OpenOptions,
) -> Result<(Format, Box<dyn Source + Send>), TraceError> {
    let opened = match input {
        Input::Path(path) => open_file(path).and_then(Content::of_file),
        Input::Stdin => Content::of_stream(Box::new(io::stdin())),
    };
    let content = opened
        .and_then(Content::decompressed)
        .map_err(|error| TraceError::Other(describe(&error)).in_file(input.name()))?;
    let format = options.format.unwrap_or_else(|| guess(content.head(), input.name()));
    let source = content.source(format, options.strictness);
    Ok((format, Box::new(Named { source, path: input.name().to_owned() })))
}

fn open_file(path: &Path) -> io::Result<File> {
    if std::fs::metadata(path)?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    File::open(path)
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory, not a trace".to_owned(),
        _ => error.to_string(),
    }
}

fn guess(head: &[u8], name: &Path) -> Format {
    if head.starts_with(&utr::MAGIC) {
        return Format::Utr;
    }
    let suggested = if head.starts_with(b"{") { Format::JsonLines } else { Format::Rapid };
    Format::from_path(name).unwrap_or(suggested)
}

/// The bytes of a trace, in memory or still to be read.
enum Content {
    Whole(memmap2::Mmap),
    /// `head` was read from the stream to see what it is.
    Stream {
        head: Vec<u8>,
        rest: Box<dyn Read + Send>,
    },
}

impl Content {
    /// More than the longest magic number.
    const HEAD: u64 = 8;

    fn of_file(file: File) -> io::Result<Self> {
        let facts = file.metadata()?;
        // An empty file cannot be mapped, and one in /proc only claims to be empty.
        if facts.is_file()
            && facts.len() > 0
            && let Ok(bytes) = map::map(&file)
        {
            return Ok(Self::Whole(bytes));
        }
        Self::of_stream(Box::new(file))
    }

    fn of_stream(mut stream: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut head = Vec::new();
        match stream.by_ref().take(Self::HEAD).read_to_end(&mut head) {
            // Compressed data cut within its first bytes: the reader will find that out again.
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
            _ => Ok(Self::Stream { head, rest: stream }),
        }
    }

    fn head(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Stream { head, .. } => head,
        }
    }

    fn into_stream(self) -> Box<dyn Read + Send> {
        match self {
            Self::Whole(bytes) => Box::new(Cursor::new(bytes)),
            Self::Stream { head, rest } => Box::new(Cursor::new(head).chain(rest)),
        }
    }

    fn decompressed(self) -> io::Result<Self> {
        const GZIP: [u8; 2] = [0x1f, 0x8b];
        const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
        if self.head().starts_with(&GZIP) {
            Self::of_stream(Box::new(MultiGzDecoder::new(self.into_stream())))
        } else if self.head().starts_with(&ZSTD) {
            Self::of_stream(Box::new(zstd::stream::read::Decoder::new(self.into_stream())?))
        } else {
            Ok(self)
        }
    }

    fn source(self, format: Format, strictness: Strictness) -> Box<dyn Source + Send> {
        match (self, format) {
            (Self::Whole(bytes), Format::Utr) => Box::new(utr::Reader::new(bytes, strictness)),
            (Self::Whole(bytes), Format::Rapid) => Box::new(rapid::Reader::new(bytes, strictness)),
            (Self::Whole(bytes), Format::RapidBin) => {
                Box::new(rapid_bin::Reader::new(bytes, strictness))
            }
            (Self::Whole(bytes), Format::JsonLines) => {
                Box::new(json_lines::Reader::new(bytes, strictness))
            }
            (stream, Format::Utr) => {
                Box::new(utr::Reader::stream(stream.into_stream(), strictness))
            }
            (stream, Format::Rapid) => {
                Box::new(rapid::Reader::stream(stream.into_stream(), strictness))
            }
            (stream, Format::RapidBin) => {
                Box::new(rapid_bin::Reader::stream(stream.into_stream(), strictness))
            }
            (stream, Format::JsonLines) => {
                Box::new(json_lines::Reader::stream(stream.into_stream(), strictness))
            }
        }
    }
}

/// A source whose errors name the file.
struct Named {
    source: Box<dyn Source + Send>,
    path: PathBuf,
}

impl Source for Named {
    fn read(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        self.source.read(batch).map_err(|error| error.in_file(&self.path))
    }

    fn tables(&self) -> &Tables {
        self.source.tables()
    }

    fn notes(&self) -> &Notes {
        self.source.notes()
    }

    fn is_well_formed(&self) -> bool {
        self.source.is_well_formed()
    }

    fn event_total(&self) -> Option<u64> {
        self.source.event_total()
    }
}
