//! Looks from outside: is the program still moving?
//!
//! The token is to be taken from a thread that is blocked in the operating system where no probe can tell: reading
//! from a socket, waiting for a process. A thread that merely computes keeps the token, also when it has to wait
//! for a processor; so does one that waits inside of the language's own runtime, for a garbage collection, which
//! looks alike from here except that it sleeps on a futex.

use std::time::{Duration, Instant};

use untorn_schedule::ThreadId;

use crate::control::{Control, Pulse};
use crate::host::Host;

/// How often the command line hears of the run.
const REPORT: Duration = Duration::from_millis(200);
/// A thread that sleeps on a futex that many times longer than our patience is given up, too.
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

    /// A thread may be blocked for so long before the token is to be taken from it.
    pub fn new(patience: Duration) -> Self {
        Self { patience, last: None, reported: Instant::now() }
    }

    /// Tells the command line how far the run is, and gives the thread from which the token should be taken now
    /// ([`Control::steal`]). While the program `stands_still` as a whole, nobody is to blame.
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

    /// How long it has slept since. The time in which it ran, or would have if it had been given a processor, does
    /// not count: on a busy machine a thread that loads classes needs longer than our patience, and whoever looks
    /// may find it in the middle of reading a file.
    fn slept(&self) -> Duration {
        let awake = match (self.awake, awake(self.pulse.tid)) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            // A kernel that does not tell: all of it may have been sleep.
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

/// Whether the thread sleeps in a system call. Waiting on a futex is what threads inside of the language's own
/// runtime do, too, and counts only as a last resort.
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
