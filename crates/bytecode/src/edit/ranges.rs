//! The exception table of a method laid out.
//!
//! Old entries keep their order. What a wrap runs before a return lies outside of all of them, as
//! it would in `try { body } finally { … }`: an entry that covers a return is split there. The
//! entries of the wraps come last, innermost first.

use super::layout::{Exit, Layout};
use super::method::{MethodEdit, Wrap};
use crate::{Code, Handler, SkipReason};

/// The new table, and for each old entry the index of its first part in it.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    pub entries: Vec<Handler>,
    pub moved: Vec<Option<u16>>,
}

impl Ranges {
    pub fn new(code: &Code<'_>, layout: &Layout, edit: &MethodEdit) -> Result<Self, SkipReason> {
        let mut ranges = Self::default();
        for old in code.handlers() {
            let start = layout.range_start(old.start, old.catch_type == 0);
            let found = (start, layout.range_end(old.end), layout.label(old.target));
            let entry = match found {
                (Some(start), Some(end), Some(target)) if old.start < old.end => {
                    Handler { start, end, target, catch_type: old.catch_type }
                }
                _ => return Err(SkipReason::Malformed(format!("its handler {old:?}"))),
            };
            let first = ranges.entries.len();
            ranges.put(entry, &layout.exits, |exit| exit)?;
            let kept = ranges.entries.len() > first;
            ranges.moved.push(if kept { u16::try_from(first).ok() } else { None });
        }
        for nth in (0..edit.wraps.len()).rev() {
            ranges.put_wrap(nth, layout, &edit.wraps)?;
        }
        Ok(ranges)
    }

    /// What handler `nth` covers: the body, the wraps within it, and the beginning of itself.
    fn put_wrap(&mut self, nth: usize, layout: &Layout, wraps: &[Wrap]) -> Result<(), SkipReason> {
        let (wrap, target) = (&wraps[nth], layout.handlers[nth]);
        let within: usize = wraps[nth + 1..].iter().map(|inner| inner.before_return.len()).sum();
        let covered = (within + wrap.before_return.protected()) as u32;
        let entry = Handler { start: layout.enter_ends[nth], end: target, target, catch_type: 0 };
        self.put(entry, &layout.exits, |exit| Exit { start: exit.start + covered, ..exit })?;
        let end = target + wrap.handler.protected() as u32;
        self.put(Handler { start: target, end, target, catch_type: 0 }, &[], |exit| exit)
    }

    /// Adds an entry without the exits, as cut to size by `cut`.
    fn put(
        &mut self,
        entry: Handler,
        exits: &[Exit],
        cut: impl Fn(Exit) -> Exit,
    ) -> Result<(), SkipReason> {
        let first = exits.partition_point(|exit| exit.end <= entry.start);
        let mut start = entry.start;
        for &exit in &exits[first..] {
            let gap = cut(exit);
            if gap.start >= entry.end {
                break;
            }
            self.put_piece(Handler { start, end: gap.start, ..entry })?;
            start = gap.end;
        }
        self.put_piece(Handler { start, ..entry })
    }

    fn put_piece(&mut self, piece: Handler) -> Result<(), SkipReason> {
        if piece.start < piece.end {
            self.entries.push(piece);
        }
        if self.entries.len() > usize::from(u16::MAX) { Err(SkipReason::TooLarge) } else { Ok(()) }
    }

    /// The table as it stands in a file, its length first.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend((self.entries.len() as u16).to_be_bytes());
        for entry in &self.entries {
            for pc in [entry.start, entry.end, entry.target] {
                out.extend((pc as u16).to_be_bytes());
            }
            out.extend(entry.catch_type.to_be_bytes());
        }
    }
}
