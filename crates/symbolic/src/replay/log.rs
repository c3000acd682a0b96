//! The records of a path log, one after the other.

use untorn_jvm_protocol::path_log::{Cursor, PathLog, SWITCH};

/// A position in the records.
#[derive(Debug)]
pub(super) struct Log<'a> {
    cursor: Cursor<'a>,
    thread: u32,
    /// The site of the next record.
    next: Option<u32>,
}

impl<'a> Log<'a> {
    pub(super) fn new(log: &'a PathLog) -> Self {
        let mut own = Self { cursor: Cursor::new(&log.records), thread: 0, next: None };
        own.advance();
        own
    }

    /// The thread and the site of the next record.
    pub(super) const fn peek(&self) -> Option<(u32, u32)> {
        match self.next {
            Some(site) => Some((self.thread, site)),
            None => None,
        }
    }

    /// The content of the next record, which has to be read; then comes [`Log::advance`].
    pub(super) const fn content(&mut self) -> &mut Cursor<'a> {
        &mut self.cursor
    }

    /// Nothing more can be read.
    pub(super) const fn stop(&mut self) {
        self.next = None;
    }

    pub(super) fn advance(&mut self) {
        self.next = loop {
            let Some(number) = self.cursor.number().and_then(|number| u32::try_from(number).ok())
            else {
                break None;
            };
            if number != SWITCH {
                break Some(number);
            }
            match self.cursor.number() {
                Some(thread) => self.thread = thread as u32,
                None => break None,
            }
        };
    }
}
