//! Threads that wait for others without blocking: they read a variable, yield, or try a lock, in a loop.
//!
//! Others run first. If such a thread comes back to the same place again and again, it sleeps for longer and longer: it
//! may wait for one that sleeps itself, and virtual time passes only if somebody can wait for it.

use std::cell::Cell;

use untorn_schedule::{Blocker, Nanos, ThreadId};

use crate::run::Run;

/// So often a thread only lets others run first.
const YIELDS: u32 = 4;

/// The first sleep, in nanoseconds. Each is twice as long as the one before.
const FIRST: u64 = 1_000;

/// The longest is this many times as long: a tenth of a second.
const MOST: u32 = 17;

thread_local! {
    /// Where the current thread waited last, and how often in a row.
    static WAITED: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

/// The current thread, which has the token, waits for others at this place.
pub(crate) fn wait(run: &Run, me: ThreadId, place: usize) {
    let times = WAITED.try_with(|waited| {
        let (last, times) = waited.get();
        let times = if last == place { times.saturating_add(1) } else { 0 };
        waited.set((place, times));
        times
    });
    let times = times.unwrap_or(0);
    let mut holder = run.control.hold((), me);
    // If the run ends meanwhile, the thread simply asks again.
    let _ = match times.checked_sub(YIELDS) {
        None => holder.yield_turn(),
        Some(longer) => {
            let deadline = holder.now().after(Nanos(FIRST << longer.min(MOST)));
            holder.block(Blocker::Sleep { deadline })
        }
    };
}
