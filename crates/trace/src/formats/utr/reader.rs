//! Reads `.utr`: from a mapped file without copying, or from a stream section by section.

use std::fmt;
use std::io::Read;

use super::Fault;
use super::block::BlockReader;
use super::names::read_names;
use super::section::{
    DONE, Done, EVENTS, FILE_HEADER, META, NAMES, SECTION_HEADER, SectionHeader, check_file_header,
};
use crate::event::Event;
use crate::ids::SymbolId;
use crate::source::{BATCH, Notes, Source, Strictness, TraceError};
use crate::tables::{NameTable, Tables};

/// A `.utr` file being read.
pub struct Reader {
    input: Input,
    strictness: Strictness,
    tables: Tables,
    /// Texts of sites, by the file's own numbers.
    symbols: NameTable<SymbolId>,
    notes: Notes,
    /// The current block and where its payload is.
    block: BlockReader,
    payload: Payload,
    /// Events in blocks that have been opened.
    events: u64,
    /// The end marker, which is known in time only for a file that is in memory as a whole.
    done: Option<Done>,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// Before the file header.
    New,
    Reading,
    /// At the end marker, or where the file was cut.
    Ended,
    Failed(TraceError),
}

/// Where the plain payload of a section is.
enum Payload {
    /// In the whole input.
    Within(std::ops::Range<usize>),
    /// In a buffer: it came from a stream or was compressed.
    Own(Vec<u8>),
}

enum Input {
    Whole { bytes: Box<dyn AsRef<[u8]> + Send>, at: usize },
    Stream { from: Box<dyn Read + Send>, at: usize },
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("at", &self.input.at())
            .field("events", &self.events)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Input {
    fn at(&self) -> usize {
        match self {
            Self::Whole { at, .. } | Self::Stream { at, .. } => *at,
        }
    }

    /// The next `len` bytes; `None`, and how many there are, if the input ends before.
    fn take(&mut self, len: usize) -> Result<Result<Payload, usize>, TraceError> {
        match self {
            Self::Whole { bytes, at } => {
                let left = (**bytes).as_ref().len() - *at;
                if left < len {
                    return Ok(Err(left));
                }
                *at += len;
                Ok(Ok(Payload::Within(*at - len..*at)))
            }
            Self::Stream { from, at } => {
                // Grows with what really arrives, not with what a length field claims.
                let mut buffer = Vec::new();
                from.take(len as u64).read_to_end(&mut buffer)?;
                if buffer.len() < len {
                    return Ok(Err(buffer.len()));
                }
                *at += len;
                Ok(Ok(Payload::Own(buffer)))
            }
        }
    }

    fn bytes<'a>(&'a self, payload: &'a Payload) -> &'a [u8] {
        match (self, payload) {
            (Self::Whole { bytes, .. }, Payload::Within(range)) => {
                &(**bytes).as_ref()[range.clone()]
            }
            (_, Payload::Own(bytes)) => bytes,
            (Self::Stream { .. }, Payload::Within(_)) => unreachable!("streams hand out buffers"),
        }
    }
}

impl Reader {
    /// Reads a file that is in memory or mapped.
    pub fn new(bytes: impl AsRef<[u8]> + Send + 'static, strictness: Strictness) -> Self {
        let done = Done::of_file(bytes.as_ref());
        let input = Input::Whole { bytes: Box::new(bytes), at: 0 };
        Self { done, ..Self::with(input, strictness) }
    }

    /// Reads a stream.
    pub fn stream(from: Box<dyn Read + Send>, strictness: Strictness) -> Self {
        Self::with(Input::Stream { from, at: 0 }, strictness)
    }

    fn with(input: Input, strictness: Strictness) -> Self {
        Self {
            input,
            strictness,
            tables: Tables::default(),
            symbols: NameTable::default(),
            notes: Notes::default(),
            block: BlockReader::default(),
            payload: Payload::Own(Vec::new()),
            events: 0,
            done: None,
            state: State::New,
        }
    }

    /// Goes on to the next block of events, or to the end.
    fn advance(&mut self) -> Result<(), TraceError> {
        if let State::New = self.state {
            self.file_header()?;
        }
        while let State::Reading = self.state {
            let start = self.input.at();
            let Some((header, payload)) = self.section()? else { return Ok(()) };
            match self.enter(&header, payload) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(Fault(reason)) => {
                    let kind = header.kind_text();
                    self.fail(start, format!("in section {kind}: {reason}"))?;
                }
            }
        }
        Ok(())
    }

    /// A fault at byte `at`: an error, or for a lenient reader the end of the trace.
    fn fail(&mut self, at: usize, reason: String) -> Result<(), TraceError> {
        if self.strictness == Strictness::Strict {
            return Err(TraceError::Byte { offset: at as u64, reason });
        }
        self.cut(format!("damaged at byte {at}: {reason}"));
        Ok(())
    }

    fn cut(&mut self, how: String) {
        self.notes.cut = Some(format!("{how}; the {} events before are good", self.events));
        self.state = State::Ended;
    }

    fn file_header(&mut self) -> Result<(), TraceError> {
        let byte = |reason| TraceError::Byte { offset: 0, reason };
        let Ok(payload) = self.input.take(FILE_HEADER)? else {
            return Err(byte("the file ends inside of its header".to_owned()));
        };
        let header = self.input.bytes(&payload).first_chunk().expect("as long as asked for");
        check_file_header(header).map_err(|Fault(reason)| byte(reason))?;
        self.state = State::Reading;
        Ok(())
    }

    /// The next section, checked and decompressed; `None` if the file ends before its end marker.
    fn section(&mut self) -> Result<Option<(SectionHeader, Payload)>, TraceError> {
        let start = self.input.at();
        let header = match self.input.take(SECTION_HEADER)? {
            Ok(header) => header,
            Err(0) => {
                self.cut(format!("the file ends at byte {start} without its end marker"));
                return Ok(None);
            }
            Err(_) => {
                self.cut(format!("the file is cut in the section at byte {start}"));
                return Ok(None);
            }
        };
        let bytes = self.input.bytes(&header).first_chunk().expect("as long as asked for");
        let header = match SectionHeader::parse(bytes) {
            Ok(header) => header,
            Err(Fault(reason)) => {
                self.fail(start, reason)?;
                return Ok(None);
            }
        };
        let Ok(stored) = self.input.take(header.stored_len)? else {
            self.cut(format!("the file is cut in the section at byte {start}"));
            return Ok(None);
        };
        match self.unpack(&header, stored) {
            Ok(payload) => Ok(Some((header, payload))),
            Err(Fault(reason)) => {
                self.fail(start, reason)?;
                Ok(None)
            }
        }
    }

    fn unpack(&self, header: &SectionHeader, stored: Payload) -> Result<Payload, Fault> {
        let bytes = self.input.bytes(&stored);
        header.check(bytes)?;
        if header.compressed {
            return header.decompress(bytes).map(Payload::Own);
        }
        Ok(stored)
    }

    /// Takes in a section; `true` if it has events to hand out.
    fn enter(&mut self, header: &SectionHeader, payload: Payload) -> Result<bool, Fault> {
        let bytes = self.input.bytes(&payload);
        match header.kind {
            EVENTS => {
                self.block = BlockReader::open(bytes, self.events, &self.tables)?;
                self.payload = payload;
                return Ok(true);
            }
            NAMES => read_names(bytes, &mut self.tables, &mut self.symbols)?,
            META => {
                self.tables.meta = serde_json::from_slice(bytes)
                    .map_err(|error| Fault::new(format!("the metadata is not ours: {error}")))?;
            }
            DONE => self.end(payload)?,
            _ if header.may_be_skipped() => {}
            _ => {
                return Err(Fault::new("a section of a kind that only a newer untorn understands"));
            }
        }
        Ok(false)
    }

    fn end(&mut self, payload: Payload) -> Result<(), Fault> {
        let claimed = Done::parse(self.input.bytes(&payload))?.events;
        if claimed != self.events {
            let found = self.events;
            return Err(Fault::new(format!("the file has {found} events and claims {claimed}")));
        }
        let trailing = self.input.take(1).map_err(|error| Fault::new(error.to_string()))?;
        if trailing.is_ok() {
            return Err(Fault::new("there are bytes behind the end marker"));
        }
        self.state = State::Ended;
        Ok(())
    }

    fn read_events(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        while batch.is_empty() {
            if self.block.is_done() {
                self.block = BlockReader::default();
                self.advance()?;
                if !matches!(self.state, State::Reading) {
                    return Ok(());
                }
            }
            let payload = self.input.bytes(&self.payload);
            if let Err(Fault(reason)) = self.block.read(payload, BATCH, batch) {
                let at = self.input.at();
                batch.clear();
                self.block = BlockReader::default();
                self.fail(at, format!("in the section that ends here: {reason}"))?;
                return Ok(());
            }
            self.events += batch.len() as u64;
        }
        Ok(())
    }
}

impl Source for Reader {
    fn read(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        batch.clear();
        match &self.state {
            State::Failed(error) => return Err(error.clone()),
            State::Ended => return Ok(()),
            State::New | State::Reading => {}
        }
        self.read_events(batch).inspect_err(|error| self.state = State::Failed(error.clone()))
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn is_well_formed(&self) -> bool {
        self.done.is_some_and(|done| done.defects == 0)
    }

    fn event_total(&self) -> Option<u64> {
        self.done.map(|done| done.events)
    }
}
