//! From the name of a file to a writer. Nothing appears under that name before it is complete.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::write::GzEncoder;

use crate::event::Event;
use crate::formats::{Format, json_lines, rapid, utr};
use crate::source::{Lossy, Sink, TraceError};
use crate::tables::Tables;

/// Where a trace is written to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    Path(PathBuf),
    Stdout,
}

impl Output {
    /// What a user wrote: `-` is the standard output.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if path.as_os_str() == "-" { Self::Stdout } else { Self::Path(path) }
    }

    /// What errors call it.
    fn name(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Stdout => Path::new("<stdout>"),
        }
    }
}

/// How a trace is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CreateOptions {
    /// The format; by default that of the file's extension.
    pub format: Option<Format>,
    /// For `.utr` only.
    pub compression: utr::Compression,
}

/// Opens a trace for writing.
///
/// A name that ends in `.gz` or `.zst` is compressed. What is written goes to a file beside the one
/// asked for, which takes that name when the sink is finished; a sink that is dropped before leaves
/// nothing behind. Pipes and devices are written directly.
pub fn create(output: &Output, options: &CreateOptions) -> Result<Box<dyn Sink>, TraceError> {
    let name = output.name();
    let fault = |reason: String| TraceError::Other(reason).in_file(name);
    let Some(format) = options.format.or_else(|| Format::from_path(name)) else {
        return Err(fault("the name does not say which format to write".to_owned()));
    };
    if !format.can_be_written() {
        return Err(fault(format!("{format} can be read but not written")));
    }
    let cannot = |error: io::Error| fault(format!("cannot create it: {error}"));
    let target = Target::new(output).map_err(cannot)?;
    let stream = Stream::new(target, name).map_err(cannot)?;
    let stream = Rc::new(RefCell::new(Some(stream)));
    let shared = Shared(Rc::clone(&stream));
    let sink: Box<dyn Sink> = match format {
        Format::Utr => Box::new(utr::Writer::new(shared, options.compression)),
        Format::JsonLines => Box::new(json_lines::Writer::new(shared)),
        Format::Rapid | Format::RapidBin => Box::new(rapid::Writer::new(shared)),
    };
    Ok(Box::new(NamedSink { sink, stream, path: name.to_owned() }))
}

/// The file that becomes the trace.
enum Target {
    /// Written directly: a pipe, a device, the standard output.
    Direct(Box<dyn Write>),
    Renamed {
        file: File,
        temporary: Temporary,
        path: PathBuf,
    },
}

/// Removes a file unless it was renamed.
struct Temporary(Option<PathBuf>);

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // An error cannot be returned here; the name of the remaining file shows what it is.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Target {
    fn new(output: &Output) -> io::Result<Self> {
        let path = match output {
            Output::Stdout => return Ok(Self::Direct(Box::new(io::stdout()))),
            Output::Path(path) => path,
        };
        // A link stays a link: what it points to is replaced.
        let path = match std::fs::canonicalize(path) {
            Ok(real) if real.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(real) if !real.is_file() => {
                let file = File::options().write(true).open(real)?;
                return Ok(Self::Direct(Box::new(file)));
            }
            Ok(real) => real,
            Err(_) => path.clone(),
        };
        let mut name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
        name.push(format!(".{}.partial", std::process::id()));
        let beside = path.with_file_name(name);
        let file = File::create(&beside)?;
        Ok(Self::Renamed { file, temporary: Temporary(Some(beside)), path })
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Direct(mut stream) => stream.flush(),
            Self::Renamed { file, mut temporary, path } => {
                drop(file);
                if let Some(beside) = &temporary.0 {
                    std::fs::rename(beside, path)?;
                }
                temporary.0 = None;
                Ok(())
            }
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(stream) => stream.write(bytes),
            Self::Renamed { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(stream) => stream.flush(),
            Self::Renamed { file, .. } => file.flush(),
        }
    }
}

/// A target with its compression.
enum Stream {
    Plain(Target),
    Gzip(GzEncoder<Target>),
    Zstd(zstd::stream::write::Encoder<'static, Target>),
}

impl Stream {
    fn new(target: Target, name: &Path) -> io::Result<Self> {
        Ok(match name.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Self::Gzip(GzEncoder::new(target, flate2::Compression::default())),
            Some("zst") => {
                const DEFAULT_LEVEL: i32 = 0;
                Self::Zstd(zstd::stream::write::Encoder::new(target, DEFAULT_LEVEL)?)
            }
            _ => Self::Plain(target),
        })
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(target) => target,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        }
        .finish()
    }
}

/// A stream that the writer of a format writes to and [`NamedSink`] closes; none when closed.
struct Shared(Rc<RefCell<Option<Stream>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.borrow_mut().as_mut() {
            Some(Stream::Plain(target)) => target.write(bytes),
            Some(Stream::Gzip(encoder)) => encoder.write(bytes),
            Some(Stream::Zstd(encoder)) => encoder.write(bytes),
            None => Err(io::Error::other("written to after its end")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // Whatever is pending is flushed when the stream is closed; doing it earlier would only
        // make compression worse.
        Ok(())
    }
}

/// A sink whose errors name the file, and which closes that file.
struct NamedSink {
    sink: Box<dyn Sink>,
    stream: Rc<RefCell<Option<Stream>>>,
    path: PathBuf,
}

impl Sink for NamedSink {
    fn write(&mut self, tables: &Tables, events: &[Event]) -> Result<(), TraceError> {
        self.sink.write(tables, events).map_err(|error| error.in_file(&self.path))
    }

    fn finish(&mut self, tables: &Tables) -> Result<(), TraceError> {
        let finished = self.sink.finish(tables).and_then(|()| {
            let stream = self.stream.borrow_mut().take();
            Ok(stream.map_or(Ok(()), Stream::finish)?)
        });
        finished.map_err(|error| error.in_file(&self.path))
    }

    fn lossy(&self) -> Option<&Lossy> {
        self.sink.lossy()
    }
}
