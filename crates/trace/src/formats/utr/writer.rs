//! Writes `.utr`.

use std::io::Write;

use super::block::BLOCK;
use super::builder::{BlockBuilder, ShapeMemo};
use super::extra::ExtraKind;
use super::names::NamesWriter;
use super::section::{DONE, Done, EVENTS, MAX_SECTION, META, NAMES, SectionHeader, file_header};
use crate::event::Event;
use crate::ids::EventIdx;
use crate::recording::RunMeta;
use crate::source::{Sink, TraceError};
use crate::tables::Tables;
use crate::validate::Validator;

/// Whether blocks are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compression {
    /// Fastest to read.
    #[default]
    None,
    /// About half the size.
    Zstd,
}

/// A streaming writer: holds one block of events and nothing else.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    compression: Compression,
    names: NamesWriter,
    meta: Option<RunMeta>,
    block: BlockBuilder,
    /// The payload of the last block; kept for its memory.
    payload: Vec<u8>,
    /// Events in sections that have been written.
    written: u64,
    /// Looks at every event on its way, so that readers need not.
    validator: Validator,
    started: bool,
    /// Why [`Writer::push`] could not write a block: the next call that can fail returns it.
    failed: Option<TraceError>,
}

impl<W: Write> Writer<W> {
    pub fn new(out: W, compression: Compression) -> Self {
        Self {
            out,
            compression,
            names: NamesWriter::default(),
            meta: None,
            block: BlockBuilder::default(),
            payload: Vec::new(),
            written: 0,
            validator: Validator::new(),
            started: false,
            failed: None,
        }
    }

    /// Writes one event, for writers that make them one by one and know which have the same shape: a memo belongs to
    /// one
    /// shape, and starts as its default. `tables` must be complete for all events before this one.
    /// [`Writer::check`] returns whether it worked.
    #[inline(always)] // see BlockBuilder::push
    pub fn push(&mut self, tables: &Tables, event: &Event, memo: &mut ShapeMemo) {
        if self.block.is_full() {
            self.next_block(tables);
        }
        self.validator.event(EventIdx(self.events()), event);
        self.block.push(event, memo);
    }

    /// Whether every block so far could be written.
    pub fn check(&mut self) -> Result<(), TraceError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    #[cold]
    fn next_block(&mut self, tables: &Tables) {
        if let Err(error) = self.flush_block(tables) {
            self.failed.get_or_insert(error);
        }
    }

    /// Writes a section of the caller's own. Its kind starts with a lower-case letter: readers of traces
    /// pass over it; [`extras`](super::extras) finds it again.
    pub fn extra(&mut self, kind: ExtraKind, payload: &[u8]) -> Result<(), TraceError> {
        self.start()?;
        for piece in payload.chunks(MAX_SECTION) {
            put_section(&mut self.out, kind.0, piece, self.compression)?;
        }
        Ok(())
    }

    /// Writes what is pending, so that it survives the end of the process.
    pub fn flush(&mut self, tables: &Tables) -> Result<(), TraceError> {
        self.flush_block(tables)?;
        self.out.flush()?;
        Ok(())
    }

    /// Events handed to the writer so far.
    pub fn events(&self) -> u64 {
        self.written + self.block.len() as u64
    }

    fn start(&mut self) -> Result<(), TraceError> {
        if !self.started {
            self.out.write_all(&file_header())?;
            self.started = true;
        }
        Ok(())
    }

    /// Drops the names and facts of variables that are in the file. There may be millions of them, and who makes
    /// events needs their ids only.
    pub fn forget_written(&self, tables: &mut Tables) {
        self.names.forget_written(tables);
    }

    fn flush_block(&mut self, tables: &Tables) -> Result<(), TraceError> {
        self.start()?;
        if self.meta.as_ref() != Some(&tables.meta) {
            let json = serde_json::to_vec(&tables.meta);
            let json = json.map_err(|error| TraceError::Other(error.to_string()))?;
            put_section(&mut self.out, META, &json, self.compression)?;
            self.meta = Some(tables.meta.clone());
        }
        let Self { out, names, compression, .. } = self;
        names.news(tables, |payload| put_section(out, NAMES, payload, *compression))?;
        if self.block.len() > 0 {
            let (first, count) = (self.written, self.block.len());
            // First of all, so that a block that cannot be written does not come back.
            self.block.finish(first, &mut self.payload);
            self.written += count as u64;
            put_section(&mut self.out, EVENTS, &self.payload, self.compression)?;
        }
        self.check()
    }
}

impl<W: Write> Sink for Writer<W> {
    fn write(&mut self, tables: &Tables, mut events: &[Event]) -> Result<(), TraceError> {
        while !events.is_empty() {
            let room = BLOCK - self.block.len();
            let (now, later) = events.split_at(room.min(events.len()));
            self.validator.events(EventIdx(self.events()), now);
            for event in now {
                self.block.push_unknown(event);
            }
            events = later;
            if self.block.is_full() {
                self.flush_block(tables)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, tables: &Tables) -> Result<(), TraceError> {
        self.flush_block(tables)?;
        let done = Done { events: self.written, defects: self.validator.count() };
        put_section(&mut self.out, DONE, &done.to_bytes(), Compression::None)?;
        self.out.flush()?;
        Ok(())
    }
}

fn put_section(
    out: &mut impl Write,
    kind: [u8; 4],
    raw: &[u8],
    compression: Compression,
) -> Result<(), TraceError> {
    // The lowest level already finds the repetition there is; higher ones only take longer.
    let packed = match compression {
        Compression::Zstd => Some(zstd::bulk::compress(raw, 1)?),
        Compression::None => None,
    };
    let packed = packed.filter(|packed| packed.len() < raw.len());
    let payload = packed.as_deref().unwrap_or(raw);
    let header = SectionHeader::new(kind, payload, packed.is_some(), raw.len());
    out.write_all(&header.to_bytes())?;
    out.write_all(payload)?;
    Ok(())
}
