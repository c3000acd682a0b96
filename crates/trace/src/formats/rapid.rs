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
//! line cannot be told from a whole one.
//!
//! Values are unknown, accesses plain and locks exclusive: STD says nothing else.

mod fast;
mod keys;
mod line;

use std::io::Read;

use crate::event::{Event, Op};
use crate::ids::{LabelId, LockId, SiteId, ThreadId, VarId};
use crate::source::{BATCH, Notes, Source, Strictness, TraceError};
use crate::tables::{NameTable, Tables};

use super::window::Window;
use fast::{BLOCK, Block, Marks};
use keys::{KeyTable, Kind};
pub use line::{Line, LineOp};

/// The longest line that is read.
pub const LONGEST_LINE: usize = 1 << 20;

/// Reads STD text.
#[derive(Debug)]
pub struct Reader {
    window: Window,
    /// Inside a line that is longer than allowed and is being passed over.
    in_long_line: bool,
    marks: Marks,
    lines: LineReader,
    failed: Option<TraceError>,
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
        let lines =
            LineReader { names: Names::new(), strictness, count: 0, notes: Notes::default() };
        Self { window, in_long_line: false, marks: Marks::new(), lines, failed: None }
    }

    /// Takes a step towards the end of the input; says `false` when it is there.
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
        let used = match bytes.first_chunk() {
            Some(block) => self.lines.read_block(block, &mut self.marks, batch)?,
            None => {
                let mut block = [0; size_of::<Block>()];
                block[..bytes.len()].copy_from_slice(bytes);
                self.lines.read_block(&block, &mut self.marks, batch)?
            }
        };
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
            self.lines.read_line(&bytes[..end], batch)?;
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
                self.lines.read_line(bytes, batch)?;
            }
            bytes.len()
        };
        self.window.consume(used);
        Ok(true)
    }
}

impl Source for Reader {
    fn read(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        let mut batch = Batch::over(batch);
        while self.failed.is_none() && !batch.is_full() {
            match self.advance(&mut batch) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => self.failed = Some(error),
            }
        }
        match &self.failed {
            Some(error) if batch.filled == 0 => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn tables(&self) -> &Tables {
        &self.lines.names.tables
    }

    fn notes(&self) -> &Notes {
        &self.lines.notes
    }
}

/// A batch being filled. Its vector is as long as a full batch until this is dropped, so that an
/// event is stored without asking whether there is room.
struct Batch<'a> {
    events: &'a mut Vec<Event>,
    filled: usize,
}

impl<'a> Batch<'a> {
    fn over(events: &'a mut Vec<Event>) -> Self {
        const BLANK: Event = Event::new(ThreadId(0), Op::read(VarId(0)), SiteId::NONE);
        // A caller that passes the same vector again finds it long enough nearly always.
        events.resize(BATCH, BLANK);
        Self { events, filled: 0 }
    }

    fn is_full(&self) -> bool {
        self.filled == self.events.len()
    }

    fn room(&mut self) -> &mut [Event] {
        &mut self.events[self.filled..]
    }

    fn push(&mut self, event: Event) {
        self.events[self.filled] = event;
        self.filled += 1;
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.events.truncate(self.filled);
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
    fn read_block(
        &mut self,
        block: &Block,
        marks: &mut Marks,
        batch: &mut Batch<'_>,
    ) -> Result<usize, TraceError> {
        marks.find(block);
        let mut start = 0;
        loop {
            let count;
            (count, start) = fast::read_lines(block, marks, start, &self.names.keys, batch.room());
            batch.filled += count;
            self.count += count as u64;
            if batch.is_full() {
                break;
            }
            let rest = &block[start..BLOCK];
            let Some(length) = rest.iter().position(|&byte| byte == b'\n') else { break };
            self.read_line(&rest[..length], batch)?;
            start += length + 1;
        }
        Ok(start)
    }

    /// Reads one line of any kind, given without its newline.
    fn read_line(&mut self, line: &[u8], batch: &mut Batch<'_>) -> Result<(), TraceError> {
        self.count += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match Line::parse(line).and_then(|line| self.names.event(&line)) {
            Ok(event) => batch.push(event),
            Err(reason) => self.fault(reason)?,
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
#[derive(Debug)]
struct Names {
    tables: Tables,
    /// The ids of all names short enough to have a key.
    keys: KeyTable,
    /// Locations that are not; `long_sites[i]` is the site of location `i`. Interning a site takes
    /// several searches, this takes one.
    long_locs: NameTable<u32>,
    long_sites: Vec<SiteId>,
    /// An upper bound on the bytes of all names together.
    bytes: u64,
}

impl Names {
    /// More than this does not fit the tables.
    const MOST_BYTES: u64 = u32::MAX as u64;

    fn new() -> Self {
        let mut keys = KeyTable::new();
        keys.learn("", Kind::Nothing, LabelId::NONE.0);
        Self {
            tables: Tables::default(),
            keys,
            long_locs: NameTable::default(),
            long_sites: Vec::new(),
            bytes: 0,
        }
    }

    fn event(&mut self, line: &Line<'_>) -> Result<Event, String> {
        let known = self.entries();
        let length = line.text_length() as u64;
        if self.bytes + length > Self::MOST_BYTES {
            return Err("the names of this trace take more than 4 GiB".to_owned());
        }
        let thread = self.thread(line.thread);
        let op = match line.op {
            LineOp::Read(var) => Op::read(self.var(var)),
            LineOp::Write(var) => Op::write(self.var(var)),
            LineOp::Acquire(lock) => Op::acquire(self.lock(lock)),
            LineOp::Release(lock) => Op::release(self.lock(lock)),
            LineOp::Request(lock) => Op::Request { lock: self.lock(lock) },
            LineOp::Fork(child) => Op::Fork { child: self.thread(child) },
            LineOp::Join(child) => Op::Join { child: self.thread(child) },
            LineOp::Begin(label) => Op::Begin { label: self.label(label) },
            LineOp::End(label) => Op::End { label: self.label(label) },
        };
        let site = self.site(line.loc);
        if self.entries() > known {
            self.bytes += length;
        }
        Ok(Event::new(thread, op, site))
    }

    fn entries(&self) -> usize {
        let Tables { threads, vars, locks, labels, sites, .. } = &self.tables;
        threads.len() + vars.len() + locks.len() + labels.len() + sites.len()
    }

    fn thread(&mut self, name: &str) -> ThreadId {
        let id = self.tables.threads.intern(name);
        self.keys.learn(name, Kind::Thread, id.0);
        id
    }

    fn var(&mut self, name: &str) -> VarId {
        let id = self.tables.vars.intern(name);
        self.keys.learn(name, Kind::Var, id.0);
        id
    }

    fn lock(&mut self, name: &str) -> LockId {
        let id = self.tables.locks.intern(name);
        self.keys.learn(name, Kind::Lock, id.0);
        id
    }

    fn label(&mut self, name: Option<&str>) -> LabelId {
        let Some(name) = name else { return LabelId::NONE };
        let id = self.tables.labels.intern(name);
        // A label written without parentheses may contain one: the fast path must not know it,
        // for `begin(a)b)` is malformed.
        if !name.contains(')') {
            self.keys.learn(name, Kind::Label, id.0);
        }
        id
    }

    fn site(&mut self, loc: &str) -> SiteId {
        if loc.len() <= keys::LONGEST {
            let id = self.tables.sites.intern_loc(loc);
            self.keys.learn(loc, Kind::Site, id.0);
            return id;
        }
        let index = self.long_locs.intern(loc) as usize;
        if index == self.long_sites.len() {
            self.long_sites.push(self.tables.sites.intern_loc(loc));
        }
        self.long_sites[index]
    }
}
