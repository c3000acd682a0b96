//! RAPID's binary format, read only.
//!
//! All numbers are big-endian. The header is an `i16` number of threads, an `i32` of locks, an
//! `i32` of variables and an `i64` of events, 18 bytes together. Each event is one `i64`, from its
//! highest bit to its lowest:
//!
//! ```text
//! sign (0) : 1 | location : 15 | target : 34 | operation : 4 | thread : 10
//! ```
//!
//! Operations are, from 0: acquire, release, read, write, fork, join, begin, end, request. There are
//! no names, so threads become `T<i>`, variables `V<i>`, locks `L<i>` and locations their number.
//! The target of a begin or end means nothing.
//!
//! A file with fewer events than its header claims is cut, and valid up to there. The format has no version.

use std::io::Read;

use rustc_hash::FxHashMap;

use crate::event::{Event, Op};
use crate::ids::{LabelId, LockId, SiteId, ThreadId, VarId};
use crate::source::{Notes, Source, Strictness, TraceError};
use crate::tables::Tables;

use super::batch::{Batch, set_target};
use super::window::Window;

const HEADER: usize = 18;
const RECORD: usize = 8;

/// Reads RAPID's binary format.
#[derive(Debug)]
pub struct Reader {
    window: Window,
    strictness: Strictness,
    counts: Option<Counts>,
    /// Events read so far, good ones and others.
    read: u64,
    ids: Ids,
    notes: Notes,
    failed: Option<TraceError>,
}

/// The numbers in the header. Nothing is allocated because of them.
#[derive(Clone, Copy, Debug)]
struct Counts {
    threads: u64,
    locks: u64,
    vars: u64,
    events: u64,
}

impl Reader {
    /// Reads bytes that are in memory, or mapped there.
    pub fn new(bytes: impl AsRef<[u8]> + Send + 'static, strictness: Strictness) -> Self {
        Self::over(Window::whole(bytes), strictness)
    }

    /// Reads bytes piece by piece.
    pub fn stream(stream: Box<dyn Read + Send>, strictness: Strictness) -> Self {
        Self::over(Window::stream(stream), strictness)
    }

    fn over(window: Window, strictness: Strictness) -> Self {
        Self {
            window,
            strictness,
            counts: None,
            read: 0,
            ids: Ids::new(),
            notes: Notes::default(),
            failed: None,
        }
    }

    /// Takes a step towards the end of the input; returns `false` at the end.
    fn advance(&mut self, batch: &mut Batch<'_>) -> Result<bool, TraceError> {
        let (bytes, last) = self.window.rest();
        if bytes.len() < HEADER.max(RECORD) && !last {
            self.window.more()?;
            return Ok(true);
        }
        let Some(counts) = self.counts else {
            self.counts = Some(Counts::parse(bytes)?);
            self.window.consume(HEADER);
            return Ok(true);
        };
        if self.read == counts.events {
            return self.end();
        }
        let (records, _) = bytes.as_chunks::<RECORD>();
        if records.is_empty() {
            let (read, events) = (self.read, counts.events);
            self.notes.cut = Some(format!("the file ends after {read} of {events} events"));
            return Ok(false);
        }
        let left = usize::try_from(counts.events - self.read).unwrap_or(usize::MAX);
        let records = &records[..records.len().min(left)];
        let count = self.ids.resolve(records, batch.room());
        batch.filled(count);
        let unresolved = records.get(count).copied();
        self.window.consume(count * RECORD);
        self.read += count as u64;
        if let Some(record) = unresolved
            && !batch.is_full()
        {
            self.rare(u64::from_be_bytes(record), &counts, batch)?;
            self.window.consume(RECORD);
            self.read += 1;
        }
        Ok(true)
    }

    /// Reads an event with a number that was not met before, or a fault.
    fn rare(
        &mut self,
        record: u64,
        counts: &Counts,
        batch: &mut Batch<'_>,
    ) -> Result<(), TraceError> {
        match self.ids.define(record, counts) {
            Ok(event) => batch.push(event),
            Err(reason) => self.fault(reason)?,
        }
        Ok(())
    }

    /// All events were read: nothing may follow them.
    fn end(&mut self) -> Result<bool, TraceError> {
        let (bytes, _) = self.window.rest();
        if bytes.is_empty() {
            return Ok(false);
        }
        let count = bytes.len();
        self.fault("more bytes than the events that the header announces".to_owned())?;
        self.window.consume(count);
        self.drop_rest()?;
        Ok(false)
    }

    fn drop_rest(&mut self) -> Result<(), TraceError> {
        loop {
            self.window.more()?;
            let (bytes, last) = self.window.rest();
            let count = bytes.len();
            self.window.consume(count);
            if last {
                return Ok(());
            }
        }
    }

    /// Refuses or skips what follows the events read so far.
    fn fault(&mut self, reason: String) -> Result<(), TraceError> {
        let error = TraceError::Byte { offset: HEADER as u64 + RECORD as u64 * self.read, reason };
        if self.strictness == Strictness::Strict {
            return Err(error);
        }
        self.notes.skip(|| error.to_string());
        Ok(())
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
        &self.ids.tables
    }

    fn notes(&self) -> &Notes {
        &self.notes
    }
}

impl Counts {
    fn parse(bytes: &[u8]) -> Result<Self, TraceError> {
        let Some((threads, rest)) = bytes.split_first_chunk::<2>() else { return cut(bytes) };
        let Some((locks, rest)) = rest.split_first_chunk::<4>() else { return cut(bytes) };
        let Some((vars, rest)) = rest.split_first_chunk::<4>() else { return cut(bytes) };
        let Some(events) = rest.first_chunk::<8>() else { return cut(bytes) };
        let count = |number: i64, offset, what| {
            u64::try_from(number).map_err(|_| TraceError::Byte {
                offset,
                reason: format!("the header says that there are {number} {what}"),
            })
        };
        Ok(Self {
            threads: count(i16::from_be_bytes(*threads).into(), 0, "threads")?,
            locks: count(i32::from_be_bytes(*locks).into(), 2, "locks")?,
            vars: count(i32::from_be_bytes(*vars).into(), 6, "variables")?,
            events: count(i64::from_be_bytes(*events), 10, "events")?,
        })
    }
}

fn cut<T>(bytes: &[u8]) -> Result<T, TraceError> {
    let reason = format!("the file ends within its header of {HEADER} bytes");
    Err(TraceError::Byte { offset: bytes.len() as u64, reason })
}

/// The parts of a record.
#[derive(Clone, Copy)]
struct Record {
    thread: usize,
    op: usize,
    target: u64,
    /// The location, and above it the sign bit, which no good record has.
    loc: usize,
}

impl Record {
    #[inline(always)]
    fn new(word: u64) -> Self {
        Self {
            thread: (word & 0x3ff) as usize,
            op: (word >> 10 & 0xf) as usize,
            target: word >> 14 & ((1 << 34) - 1),
            loc: (word >> 48) as usize,
        }
    }
}

/// How the target of an operation is to be understood: the place of its numbers in [`Ids`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lock = 0,
    Var = 1,
    Thread = 2,
    /// No target: its number is taken as 0, and 0 is known.
    Nothing = 3,
    /// No operation: no number is known.
    Unknown = 4,
}

/// What an operation becomes, with some target.
static OPS: [(Kind, Op); 16] = {
    let mut ops = [(Kind::Unknown, Op::read(VarId(0))); 16];
    ops[0] = (Kind::Lock, Op::acquire(LockId(0)));
    ops[1] = (Kind::Lock, Op::release(LockId(0)));
    ops[2] = (Kind::Var, Op::read(VarId(0)));
    ops[3] = (Kind::Var, Op::write(VarId(0)));
    ops[4] = (Kind::Thread, Op::Fork { child: ThreadId(0) });
    ops[5] = (Kind::Thread, Op::Join { child: ThreadId(0) });
    ops[6] = (Kind::Nothing, Op::begin(LabelId::NONE));
    ops[7] = (Kind::Nothing, Op::End { label: LabelId::NONE });
    ops[8] = (Kind::Lock, Op::Request { lock: LockId(0) });
    ops
};

/// Stands for "not met yet". No table can have so many entries, and it is not [`LabelId::NONE`].
const NEW: u32 = u32::MAX - 1;

/// The ids of numbers met so far. A number is here only after it was found to be in its bounds.
#[derive(Debug)]
struct Ids {
    tables: Tables,
    /// By location, with the sign bit as the highest.
    sites: Box<[u32; 1 << 16]>,
    /// By [`Kind`] and number, as far as the numbers are small. As long as its largest number.
    small: [Vec<u32>; 5],
    /// By kind and number, for the others: one of them must not allocate a long list.
    large: FxHashMap<(u8, u64), u32>,
}

impl Ids {
    /// Numbers from here on are large.
    const SMALL: u64 = 1 << 20;

    fn new() -> Self {
        let mut small: [Vec<u32>; 5] = Default::default();
        small[Kind::Nothing as usize].push(LabelId::NONE.0);
        let sites = vec![NEW; 1 << 16].into_boxed_slice().try_into().expect("as long as it is");
        Self { tables: Tables::default(), sites, small, large: FxHashMap::default() }
    }

    /// Makes events of records whose numbers are all known; stops at the first other one.
    #[inline(never)]
    fn resolve(&self, records: &[[u8; RECORD]], events: &mut [Event]) -> usize {
        let mut count = 0;
        let threads = &self.small[Kind::Thread as usize];
        for (record, event) in records.iter().zip(events) {
            let record = Record::new(u64::from_be_bytes(*record));
            let (kind, op) = &OPS[record.op];
            let target = if *kind == Kind::Nothing { 0 } else { record.target as usize };
            let thread = threads.get(record.thread).copied().unwrap_or(NEW);
            let target = self.small[*kind as usize].get(target).copied().unwrap_or(NEW);
            let site = self.sites[record.loc];
            if (thread == NEW) | (target == NEW) | (site == NEW) {
                break;
            }
            *event = Event::new(ThreadId(thread), *op, SiteId(site));
            set_target(&mut event.op, target);
            count += 1;
        }
        count
    }

    /// The event of a record with numbers that may be new, large or wrong.
    fn define(&mut self, word: u64, counts: &Counts) -> Result<Event, String> {
        let Record { thread, op, target, loc } = Record::new(word);
        if word >> 63 != 0 {
            return Err("the sign bit of an event is set".to_owned());
        }
        let (kind, mut shape) = OPS[op];
        let (what, bound) = match kind {
            Kind::Lock => ("lock", counts.locks),
            Kind::Var => ("variable", counts.vars),
            Kind::Thread => ("thread", counts.threads),
            Kind::Nothing => ("", u64::MAX),
            Kind::Unknown => return Err(format!("unknown operation {op}")),
        };
        let outside = |what, number: u64, bound: u64| {
            format!("{what} {number}, but the header says that there are {bound}")
        };
        if thread as u64 >= counts.threads {
            return Err(outside("thread", thread as u64, counts.threads));
        }
        if target >= bound {
            return Err(outside(what, target, bound));
        }
        let thread = self.id(Kind::Thread, thread as u64);
        if kind != Kind::Nothing {
            let id = self.id(kind, target);
            set_target(&mut shape, id);
        }
        if self.sites[loc] == NEW {
            self.sites[loc] = self.tables.sites.intern_loc(&loc.to_string()).0;
        }
        Ok(Event::new(ThreadId(thread), shape, SiteId(self.sites[loc])))
    }

    /// The id of a number within its bounds.
    fn id(&mut self, kind: Kind, number: u64) -> u32 {
        let tables = &mut self.tables;
        let mut name = || match kind {
            Kind::Lock => tables.locks.intern(&format!("L{number}")).0,
            Kind::Var => tables.vars.intern(&format!("V{number}")).0,
            _ => tables.threads.intern(&format!("T{number}")).0,
        };
        if number >= Self::SMALL {
            return *self.large.entry((kind as u8, number)).or_insert_with(name);
        }
        let small = &mut self.small[kind as usize];
        if small.len() <= number as usize {
            small.resize(number as usize + 1, NEW);
        }
        let id = &mut small[number as usize];
        if *id == NEW {
            *id = name();
        }
        *id
    }
}
