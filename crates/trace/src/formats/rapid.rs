//! RAPID's text format, "STD": one event a line, `thread|operation|location`.
//!
//! ```text
//! line      = thread "|" operation "|" location
//! operation = "r(" var ")" | "w(" var ")" | "acq(" lock ")" | "rel(" lock ")" | "req(" lock ")"
//!           | "fork(" thread ")" | "join(" thread ")" | "begin" label | "end" label
//! label     = "" | "(" name ")" | any other text, which is the label as it stands
//! ```
//!
//! A name is any non-empty text without `|`, `)` and control characters, a location any non-empty
//! text without `|` and control characters other than the tab. Lines end with LF or CRLF, the last
//! one may go without. The format has no version and no end marker: a file cut at the end of a
//! line cannot be distinguished from a whole one.
//!
//! Values are unknown, accesses plain and locks exclusive: STD contains nothing else.

mod fast;
mod keys;
mod line;
mod write;

use std::io::Read;

use crate::event::{Event, Op};
use crate::ids::{LabelId, SiteId};
use crate::source::{Notes, Source, Strictness, TraceError};
use crate::tables::{NameTable, Tables};

use super::batch::Batch;
use super::window::{LONGEST_LINE, Window};
use fast::{BLOCK, Block, Known, Marks, Splits};
use keys::Key;
pub use line::{Line, LineOp};
pub use write::Writer;

/// After so many lines with texts for which wider keys are faster, those are used.
const MAX_MISSES: u32 = 100;

/// Reads STD text.
#[derive(Debug)]
pub struct Reader {
    window: Window,
    /// Inside a line that is longer than allowed and is being passed over.
    in_long_line: bool,
    marks: Marks,
    path: FastPath,
    lines: LineReader,
    failed: Option<TraceError>,
}

/// How long the names are that the fast path knows.
#[derive(Debug)]
enum FastPath {
    Narrow(Path<u64>),
    Wide(Path<u128>),
}

/// The fast path for names of one length.
#[derive(Debug)]
struct Path<K> {
    known: Known<K>,
    splits: Splits<K>,
}

impl<K: Key> Path<K> {
    fn new() -> Self {
        Self { known: Known::new(), splits: Splits::new() }
    }
}

impl Reader {
    /// Reads text that is in memory, or mapped there.
    pub fn new(bytes: impl AsRef<[u8]> + Send + 'static, strictness: Strictness) -> Self {
        Self::over(Window::whole(bytes), strictness)
    }

    /// Reads text piece by piece.
    pub fn stream(stream: Box<dyn Read + Send>, strictness: Strictness) -> Self {
        Self::over(Window::stream(stream), strictness)
    }

    fn over(window: Window, strictness: Strictness) -> Self {
        let names = Names::default();
        Self {
            window,
            in_long_line: false,
            marks: Marks::new(),
            path: FastPath::Narrow(Path::new()),
            lines: LineReader { names, strictness, count: 0, notes: Notes::default() },
            failed: None,
        }
    }

    /// Takes a step towards the end of the input; returns `false` at the end.
    fn advance(&mut self, batch: &mut Batch<'_>) -> Result<bool, TraceError> {
        let (bytes, last) = self.window.rest();
        if bytes.len() < size_of::<Block>() && !last {
            self.window.more()?;
            return Ok(true);
        }
        if bytes.is_empty() {
            self.lines.notes.cut = self.window.cut().map(str::to_owned);
            return Ok(false);
        }
        if self.in_long_line {
            let newline = bytes.iter().position(|&byte| byte == b'\n');
            let used = newline.map_or(bytes.len(), |at| at + 1);
            self.in_long_line = newline.is_none();
            self.window.consume(used);
            return Ok(true);
        }
        let mut padded;
        let block = match bytes.first_chunk() {
            Some(block) => block,
            None => {
                padded = [0; size_of::<Block>()];
                padded[..bytes.len()].copy_from_slice(bytes);
                &padded
            }
        };
        self.marks.find(block);
        let (lines, marks) = (&mut self.lines, &self.marks);
        let used = match &mut self.path {
            FastPath::Narrow(path) => lines.read_block(block, marks, path, batch)?,
            FastPath::Wide(path) => lines.read_block(block, marks, path, batch)?,
        };
        if matches!(&self.path, FastPath::Narrow(path) if path.splits.misses > MAX_MISSES) {
            self.path = FastPath::Wide(Path::new());
        }
        if used == 0 {
            return self.long_line(batch);
        }
        self.window.consume(used);
        Ok(true)
    }

    /// Reads the next line, which does not end within a block.
    fn long_line(&mut self, batch: &mut Batch<'_>) -> Result<bool, TraceError> {
        let (bytes, last) = self.window.rest();
        let allowed = &bytes[..bytes.len().min(LONGEST_LINE + 1)];
        let used = if let Some(end) = allowed.iter().position(|&byte| byte == b'\n') {
            self.lines.read_into(&bytes[..end], batch)?;
            end + 1
        } else if bytes.len() > LONGEST_LINE {
            self.lines.count += 1;
            self.lines.fault(format!("longer than {LONGEST_LINE} bytes"))?;
            self.in_long_line = true;
            LONGEST_LINE
        } else if !last {
            self.window.more()?;
            0
        } else {
            // What is left of a line in a cut stream may look whole and mean something else.
            if self.window.cut().is_none() {
                self.lines.read_into(bytes, batch)?;
            }
            bytes.len()
        };
        self.window.consume(used);
        Ok(true)
    }
}

impl Source for Reader {
    fn read(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        let mut failed = self.failed.take();
        let result = Batch::fill(batch, &mut failed, |batch| self.advance(batch));
        self.failed = failed;
        result
    }

    fn tables(&self) -> &Tables {
        &self.lines.names.tables
    }

    fn notes(&self) -> &Notes {
        &self.lines.notes
    }
}

/// Turns lines into events, wherever the bytes come from.
#[derive(Debug)]
struct LineReader {
    names: Names,
    strictness: Strictness,
    /// Lines read so far, good ones and others.
    count: u64,
    notes: Notes,
}

impl LineReader {
    /// Reads the lines that end within `block` until the batch is full. Gives the bytes read.
    fn read_block<K: Key>(
        &mut self,
        block: &Block,
        marks: &Marks,
        path: &mut Path<K>,
        batch: &mut Batch<'_>,
    ) -> Result<usize, TraceError> {
        let Path { known, splits } = path;
        let mut start = 0;
        splits.find(block, marks, start, batch.room().len());
        loop {
            let (count, end) = splits.resolve(block, known, batch.room());
            start = end.map_or(start, |end| end + 1);
            batch.filled(count);
            self.count += count as u64;
            if batch.is_full() {
                break;
            }
            let rest = &block[start..BLOCK];
            let Some(length) = rest.iter().position(|&byte| byte == b'\n') else { break };
            if let Some((line, event)) = self.read_line(&rest[..length])? {
                batch.push(event);
                known.learn(&rest[..length], &line, &event);
            }
            let end = start + length;
            start = end + 1;
            if !splits.skip(end) {
                splits.find(block, marks, start, batch.room().len());
            }
        }
        Ok(start)
    }

    /// Reads one line of any kind, given without its newline; none if it was passed over.
    fn read_line<'a>(&mut self, line: &'a [u8]) -> Result<Option<(Line<'a>, Event)>, TraceError> {
        self.count += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match Line::parse(line) {
            Ok(line) => Ok(Some((line, self.names.event(&line)))),
            Err(reason) => self.fault(reason).map(|()| None),
        }
    }

    fn read_into(&mut self, line: &[u8], batch: &mut Batch<'_>) -> Result<(), TraceError> {
        if let Some((_, event)) = self.read_line(line)? {
            batch.push(event);
        }
        Ok(())
    }

    /// Refuses or passes over the line counted last.
    fn fault(&mut self, reason: String) -> Result<(), TraceError> {
        let error = TraceError::Line { line: self.count, reason };
        if self.strictness == Strictness::Strict {
            return Err(error);
        }
        self.notes.skip(|| error.to_string());
        Ok(())
    }
}

/// Gives names their ids.
#[derive(Debug, Default)]
struct Names {
    tables: Tables,
    /// Every location met here; `sites[i]` is the site of location `i`. To intern a site takes
    /// several searches, this takes one.
    locs: NameTable<u32>,
    sites: Vec<SiteId>,
}

impl Names {
    fn event(&mut self, line: &Line<'_>) -> Event {
        let tables = &mut self.tables;
        let thread = tables.threads.intern(line.thread);
        let mut label = |label: Option<&str>| match label {
            Some(label) => tables.labels.intern(label),
            None => LabelId::NONE,
        };
        let op = match line.op {
            LineOp::Read(var) => Op::read(tables.vars.intern(var)),
            LineOp::Write(var) => Op::write(tables.vars.intern(var)),
            LineOp::Acquire(lock) => Op::acquire(tables.locks.intern(lock)),
            LineOp::Release(lock) => Op::release(tables.locks.intern(lock)),
            LineOp::Request(lock) => Op::Request { lock: tables.locks.intern(lock) },
            LineOp::Fork(child) => Op::Fork { child: tables.threads.intern(child) },
            LineOp::Join(child) => Op::Join { child: tables.threads.intern(child) },
            LineOp::Begin(name) => Op::begin(label(name)),
            LineOp::End(name) => Op::End { label: label(name) },
        };
        Event::new(thread, op, self.site(line.loc))
    }

    fn site(&mut self, loc: &str) -> SiteId {
        let index = self.locs.intern(loc) as usize;
        if index == self.sites.len() {
            self.sites.push(self.tables.sites.intern_loc(loc));
        }
        self.sites[index]
    }
}
