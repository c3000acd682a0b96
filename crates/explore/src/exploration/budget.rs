//! How much time and how many runs are left.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use untorn_predict::Deadline;

/// The part of the time that stays for simpler schedules when there is something to simplify.
const RESERVE: f64 = 0.1;

/// The limits of an exploration. The clock starts when it is made.
#[derive(Debug)]
pub(super) struct Budget<'a> {
    begin: Instant,
    time: Duration,
    runs: u32,
    /// Set when the user wants it to end.
    stop: &'a AtomicBool,
}

impl<'a> Budget<'a> {
    pub(super) fn new(time: Duration, runs: u32, stop: &'a AtomicBool) -> Self {
        Self { begin: Instant::now(), time, runs, stop }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    pub(super) fn time(&self) -> Duration {
        self.time
    }

    pub(super) fn left(&self) -> Duration {
        self.time.saturating_sub(self.elapsed())
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether no further run may begin after `made` of them. One run is always made: without any there is nothing
    /// to report.
    pub(super) fn is_over(&self, made: u32, keeps_reserve: bool) -> bool {
        let time = if keeps_reserve { self.time.mul_f64(1.0 - RESERVE) } else { self.time };
        self.is_interrupted() || made >= self.runs || (made > 0 && self.elapsed() >= time)
    }

    /// Whether no time is left, not even the reserve.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_interrupted() || self.elapsed() >= self.time
    }

    /// When the last run has to have ended.
    pub(super) fn end(&self, keeps_reserve: bool) -> Option<Instant> {
        let time = if keeps_reserve { self.time.mul_f64(1.0 - RESERVE) } else { self.time };
        self.begin.checked_add(time)
    }

    /// When that part of the time that is left now is over.
    pub(super) fn share(&self, part: u32) -> Deadline {
        Instant::now().checked_add(self.left() / part).map_or(Deadline::NEVER, Deadline::at)
    }

    pub(super) fn deadline(&self) -> Deadline {
        self.begin.checked_add(self.time).map_or(Deadline::NEVER, Deadline::at)
    }
}
