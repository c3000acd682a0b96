//! Waiting for files, pipes and sockets, which the program would otherwise do inside of the operating system.
//!
//! A thread whose descriptor is not ready gives up the token at once and waits here, outside. Before each decision
//! about the next turn the runtime checks which descriptors have become ready. Between threads of one program that
//! depends only on their actions, so the same seed gives the same run. When its turn comes, the thread finds the
//! descriptor ready and executes its operation with the token.
//!
//! Each check writes a record without an event. Through it the schedule contains where a thread left, and a replay
//! lets it leave there again, whether or not the descriptor is ready this time.
#![allow(unsafe_code)]

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use untorn_schedule::{Blocker, Nanos, ThreadId, Wake};

use super::{CHECK_INTERVAL, Control, Core, Resumption};
use crate::buffers::{Record, special};
use crate::host::{Host, Moment};

/// A descriptor that a thread waits for.
#[derive(Clone, Copy, Debug)]
pub struct AwaitedDescriptor {
    pub fd: i32,
    /// As `poll` takes them.
    pub events: i16,
    /// How long the program wants to wait.
    pub limit: Option<Duration>,
}

impl AwaitedDescriptor {
    /// In place of a descriptor: there is nothing to wait for.
    pub const NOTHING: i32 = -1;

    /// Whether the descriptor is ready within a time. Also true if `poll` fails: the thread was signalled because
    /// another one closes the descriptor.
    fn is_ready(&self, within: Duration) -> bool {
        if self.fd == Self::NOTHING {
            return true;
        }
        // SAFETY: the program uses this descriptor in the very call before which it waits here. If it is closed
        // meanwhile, `poll` returns an error.
        let fd = unsafe { BorrowedFd::borrow_raw(self.fd) };
        let events = PollFlags::from_bits_retain(self.events.cast_unsigned());
        let limit = Timespec::try_from(within).ok();
        poll(&mut [PollFd::from_borrowed_fd(fd, events)], limit.as_ref()) != Ok(0)
    }

    /// The rest of the limit, but short: the end of control must be noticed, too.
    fn slice(&self, begun: Instant) -> Duration {
        let left = self.limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        // Rounded up: `poll` counts milliseconds, and would return at once for what is left of the last one.
        left.map_or(CHECK_INTERVAL, |left| CHECK_INTERVAL.min(left + Duration::from_millis(1)))
    }

    fn is_over(&self, begun: Instant) -> bool {
        self.limit.is_some_and(|limit| begun.elapsed() >= limit)
    }
}

impl<H: Host> Control<H> {
    /// Waits until a descriptor is ready, the limit has passed, or the thread is interrupted. False if the thread is not
    /// controlled.
    pub fn await_ready(&self, env: H::Env, awaited: &AwaitedDescriptor) -> bool {
        let begun = Instant::now();
        let may_leave = |_: &ThreadId| self.host.may_stop(env, Moment::Leaving);
        let Some(me) = self.present(env).filter(may_leave) else { return false };
        let limit = awaited.limit.map_or(Nanos::MAX, |limit| Nanos(limit.as_nanos() as u64));
        let deadline = self.core().scheduler.now().after(limit);
        while self.leaves(env, me, awaited) {
            let resumed = match self.watch(me, awaited, begun) {
                true => self.come_back(env).then_some(Wake::Ready),
                false => self.sleep_on(env, me, deadline),
            };
            let is_interrupted = std::mem::take(&mut self.core().slots[me.index()].interrupted);
            match resumed {
                Some(Wake::Ready) if !is_interrupted => {}
                Some(_) => return true,
                None => return false,
            }
        }
        true
    }

    /// Gives up the token unless the descriptor is ready; in a replay, if it was given up here.
    fn leaves(&self, env: H::Env, me: ThreadId, awaited: &AwaitedDescriptor) -> bool {
        let mut core = self.core();
        let look = Record { site: special::LOOK, ..Record::default() };
        self.emit(env, &mut core, me, look);
        if self.settings.replaying {
            drop(core);
            self.end_if_due(env);
            core = self.core();
        } else if !awaited.is_ready(Duration::ZERO) {
            core.slots[me.index()].awaited = Some(*awaited);
            core.tally.awaited += 1;
            self.leave(env, &mut core, me);
        }
        let away = core.slots[me.index()].away;
        core.slots[me.index()].awaited = away.then_some(*awaited);
        away
    }

    /// Waits without the token. False if the limit has passed.
    fn watch(&self, me: ThreadId, awaited: &AwaitedDescriptor, begun: Instant) -> bool {
        loop {
            if awaited.is_ready(awaited.slice(begun)) {
                return true;
            }
            let core = self.core();
            // The runtime has found it ready meanwhile, although it may be no longer.
            if core.over
                || core.slots[me.index()].interrupted
                || core.scheduler.blocked_on(me) != Some(Blocker::Outside)
            {
                return true;
            }
            if awaited.is_over(begun) {
                return false;
            }
        }
    }

    /// The limit has passed in real time. For the program it passes in virtual time: sleeps until then.
    fn sleep_on(&self, env: H::Env, me: ThreadId, deadline: Nanos) -> Option<Wake> {
        let mut core = self.core();
        if core.over {
            return None;
        }
        if core.scheduler.blocked_on(me) != Some(Blocker::Outside) {
            drop(core);
            return self.come_back(env).then_some(Wake::Ready);
        }
        core.slots[me.index()].away = false;
        core.scheduler.block(me, Blocker::Sleep { deadline });
        self.kick(&mut core);
        drop(core);
        match self.wait_for_turn(env, me) {
            Resumption::Turn(wake) => Some(wake),
            Resumption::Free => None,
        }
    }

    /// Before a decision: threads whose descriptors have become ready take part in it.
    pub(super) fn wake_ready(core: &mut Core<H>) {
        let Core { slots, scheduler, .. } = core;
        let ready = |awaited: AwaitedDescriptor| awaited.is_ready(Duration::ZERO);
        for (index, slot) in slots.iter().enumerate() {
            if !slot.awaited.is_some_and(ready) {
                continue;
            }
            let thread = ThreadId(index as u32);
            match scheduler.blocked_on(thread) {
                Some(Blocker::Outside) => scheduler.returned(thread),
                Some(Blocker::Sleep { .. }) => scheduler.interrupt(thread),
                _ => {}
            }
        }
    }
}
