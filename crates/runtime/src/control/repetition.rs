//! Threads that wait by asking again: they read the same until another thread changes it.
//!
//! **Paper:** none. Musuvathi and Qadeer (*Fair stateless model checking*, PLDI 2008) ask programs to yield in such
//! loops; programs that do not are the reason for this file.
//!
//! Every so many records of one turn, the last ones are compared with each other. If they are one short sequence over
//! and over, values included, then the thread has changed nothing that others see and has seen no change either: it
//! lets others run, as if it had yielded.
//!
//! A thread that comes back to the same sequence lets others run again soon. A loop that computes without shared data
//! looks the same; so the more often that happens, the longer the thread is left alone, and such a loop loses little.
//!
//! **Promise:** depends on the records of the thread alone, so the same seed gives the same schedule. A thread that
//! repeats a sequence of at most [`MAX_PERIOD`] records for ever lets others run for ever.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use crate::buffers::{Buffer, Record};

/// Records that must repeat a sequence before it counts as a repetition for the first time.
const FIRST: usize = 512;

/// Records of a sequence that is known, and how many there are at the most.
const AGAIN: usize = 64;
const LATEST: usize = 4096;

/// After so many times it takes as many records more.
const PATIENCE: usize = 256;

/// The longest sequence that counts as a repetition.
const MAX_PERIOD: usize = 64;

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Repetition {
    /// The sequence for which the thread let others run last, and its length; 0 for none.
    sequence: u64,
    period: usize,
    /// How often it let others run for that sequence.
    times: usize,
}

impl Repetition {
    /// So many records are compared.
    fn records(&self) -> usize {
        match self.times {
            0 => FIRST,
            times => (AGAIN * (1 + times / PATIENCE)).clamp(4 * self.period, LATEST),
        }
    }

    /// Where the thread must have come before it is worth looking again.
    pub(crate) fn next_look(&self, position: usize) -> usize {
        position + self.records() * Record::SIZE
    }

    /// Whether the records before `end` repeat one sequence. `end` is where [`Repetition::next_look`] said, or behind.
    pub(crate) fn is_repeating(&mut self, buffer: &Buffer, end: usize) -> bool {
        let end = (end - buffer.start()) / Record::SIZE;
        let Some(first) = end.checked_sub(self.records()) else { return false };
        let Some(period) = period(buffer, first, end) else {
            *self = Self::default();
            return false;
        };
        let sequence = hash_of((end - period..end).map(|index| buffer.record(index)));
        if self.times > 0 && sequence != self.sequence {
            *self = Self::default();
            return false;
        }
        *self = Self { sequence, period, times: self.times + 1 };
        true
    }
}

/// The length of the sequence that the records from `first` to `end` repeat.
fn period(buffer: &Buffer, first: usize, end: usize) -> Option<usize> {
    (1..=MAX_PERIOD).find(|period| {
        (first..end - period).rev().all(|at| buffer.record(at) == buffer.record(at + period))
    })
}

/// The same wherever in the sequence the thread is.
fn hash_of(records: impl Iterator<Item = Record>) -> u64 {
    records.fold(1, |sum: u64, record| {
        let mut hasher = FxHasher::default();
        for word in [record.site, record.object, record.index] {
            hasher.write_u32(word);
        }
        hasher.write_u64(record.value);
        sum.wrapping_add(hasher.finish())
    })
}
