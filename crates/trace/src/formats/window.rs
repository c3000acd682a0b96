//! The bytes a reader is looking at: a whole file in memory, or a moving part of a stream.
//!
//! Readers parse `&[u8]` and never know which it is.

use std::io::{self, Read};

/// The longest line of a text format that is read.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

/// What one read of a stream asks for: long enough to hide the call, short enough for the cache.
const FIRST_SIZE: usize = 256 * 1024;

pub(crate) struct Window {
    backing: Backing,
    /// Bytes of the backing that the reader is done with.
    start: usize,
    /// Set when a compressed stream stops before its end marker.
    cut: Option<String>,
}

enum Backing {
    Whole(Box<dyn AsRef<[u8]> + Send>),
    /// `buffer[..filled]` came from the stream; the rest is room.
    Stream {
        stream: Box<dyn Read + Send>,
        buffer: Vec<u8>,
        filled: usize,
        ended: bool,
    },
}

impl Window {
    pub(crate) fn whole(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        Self { backing: Backing::Whole(Box::new(bytes)), start: 0, cut: None }
    }

    pub(crate) fn stream(stream: Box<dyn Read + Send>) -> Self {
        let backing = Backing::Stream { stream, buffer: Vec::new(), filled: 0, ended: false };
        Self { backing, start: 0, cut: None }
    }

    /// The bytes not yet consumed that are in memory, and whether no others follow them.
    #[inline]
    pub(crate) fn rest(&self) -> (&[u8], bool) {
        match &self.backing {
            Backing::Whole(bytes) => {
                ((**bytes).as_ref().get(self.start..).unwrap_or_default(), true)
            }
            Backing::Stream { buffer, filled, ended, .. } => (&buffer[self.start..*filled], *ended),
        }
    }

    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(count == 0 || self.start <= self.at_hand());
    }

    fn at_hand(&self) -> usize {
        match &self.backing {
            Backing::Whole(bytes) => (**bytes).as_ref().len(),
            Backing::Stream { filled, .. } => *filled,
        }
    }

    /// Why the stream is known to be incomplete, once its end was reached.
    pub(crate) fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// Reads more of the stream after the unconsumed bytes; at the end changes nothing but
    /// what [`Window::rest`] returns.
    pub(crate) fn more(&mut self) -> io::Result<()> {
        let Backing::Stream { stream, buffer, filled, ended } = &mut self.backing else {
            return Ok(());
        };
        if *ended {
            return Ok(());
        }
        buffer.copy_within(self.start..*filled, 0);
        *filled -= self.start;
        self.start = 0;
        // Callers refuse what does not fit a bounded window, so this doubling is bounded as well.
        if *filled * 2 > buffer.len() || buffer.is_empty() {
            buffer.resize((buffer.len() * 2).max(FIRST_SIZE), 0);
        }
        loop {
            match stream.read(&mut buffer[*filled..]) {
                Ok(0) => *ended = true,
                Ok(count) => *filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Decompressors return this error when their input ends in the middle.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    *ended = true;
                    self.cut = Some("the compressed data ends before its end marker".to_owned());
                }
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window").field("start", &self.start).finish_non_exhaustive()
    }
}
