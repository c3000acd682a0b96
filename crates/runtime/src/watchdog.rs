//! Watches from outside whether the program makes progress.
//!
//! The token is taken from a thread that is blocked in the operating system where no probe can see it: reading from a
//! socket, waiting for a process. A thread that computes keeps the token, also when it has to wait for a processor.
//! So does one that waits inside of the language's own runtime, for example for a garbage collection. From here that
//! looks the same, except that it sleeps on a futex.

use std::time::{Duration, Instant};

use untorn_schedule::ThreadId;

use crate::control::{Control, Pulse};
use crate::host::Host;

/// How often the progress is reported to the command line.
const REPORT: Duration = Duration::from_millis(200);
/// A thread that sleeps on a futex for that many times the patience loses the token, too.
const LAST_RESORT: u32 = 5;

/// The front end has a thread that calls [`Watchdog::check`] every [`Watchdog::TICK`].
#[derive(Debug)]
pub struct Watchdog {
    patience: Duration,
    last: Option<Sighting>,
    reported: Instant,
}

impl Watchdog {
    /// How often to check.
    pub const TICK: Duration = Duration::from_millis(20);

    /// How long a thread may be blocked before the token is taken from it.
    pub fn new(patience: Duration) -> Self {
        Self { patience, last: None, reported: Instant::now() }
    }

    /// Reports the progress of the run to the command line, and returns the thread from which the token should be
    /// taken now ([`Control::steal`]). While the program `stands_still` as a whole, it returns none.
    pub fn check<H: Host>(&mut self, control: &Control<H>, stands_still: bool) -> Option<ThreadId> {
        if self.reported.elapsed() >= REPORT {
            control.report();
            self.reported = Instant::now();
        }
        let watched = control.is_on() && !stands_still;
        let Some(pulse) = watched.then(|| control.pulse()).flatten() else {
            self.last = None;
            return None;
        };
        match &self.last {
            Some(before) if before.pulse == pulse => {
                let slept = before.slept();
                let last_resort = slept >= self.patience * LAST_RESORT;
                if slept < self.patience || !is_blocked(pulse.tid, last_resort) {
                    return None;
                }
                self.last = None;
                Some(pulse.thread)
            }
            _ => {
                self.last = Some(Sighting::new(pulse));
                None
            }
        }
    }
}

/// When the thread with the token was first seen at a point from which it has not moved since.
#[derive(Debug)]
struct Sighting {
    pulse: Pulse,
    since: Instant,
    awake: Option<Duration>,
}

impl Sighting {
    fn new(pulse: Pulse) -> Self {
        Self { pulse, since: Instant::now(), awake: awake(pulse.tid) }
    }

    /// How long it has slept since. The time in which it ran, or would have run with a free processor, does not
    /// count: on a busy machine a thread that loads classes needs longer than the patience, and may be observed in
    /// the middle of reading a file.
    fn slept(&self) -> Duration {
        let awake = match (self.awake, awake(self.pulse.tid)) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            // A kernel without this information: all of it may have been sleep.
            _ => Duration::ZERO,
        };
        self.since.elapsed().saturating_sub(awake)
    }
}

/// How long a thread has run so far, and waited for a processor.
fn awake(tid: i32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    let mut nanos = text.split_whitespace().map(|word| word.parse().ok());
    let (ran, queued): (u64, u64) = (nanos.next()??, nanos.next()??);
    Some(Duration::from_nanos(ran.saturating_add(queued)))
}

/// Whether the thread sleeps in a system call. Threads inside of the language's own runtime also wait on a futex, so
/// that counts only as a last resort.
fn is_blocked(tid: i32, last_resort: bool) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")) else {
        return false;
    };
    // The name in parentheses may contain anything; the state follows the last one.
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    if !matches!(state, Some('S' | 'D')) {
        return false;
    }
    let call = std::fs::read_to_string(format!("/proc/self/task/{tid}/syscall"));
    let number = call.ok().and_then(|text| text.split(' ').next()?.parse::<i64>().ok());
    last_resort || number.is_some_and(|number| number != libc::SYS_futex)
}
