//! Decides which thread of a controlled program runs next: by a policy, by a recorded schedule, or
//! by a plan.
//!
//! Exactly one controlled thread runs at a time: the one that has the *token*. A front end counts its events and
//! keeps a [`Scheduler`] in a mutex. It asks the scheduler only when the thread's budget of events has run out, or
//! when the thread blocks, ends, or starts another thread. The front end knows what a lock is and which thread owns
//! it; the scheduler asks through [`Locks`].
//!
//! # Protocol
//!
//! 1. [`Scheduler::spawn`] for the first thread, then [`Scheduler::next`]: it returns a [`Turn`].
//! 2. The thread of the turn runs at most `budget` events. When the turn ends, for whatever reason, the front end
//!    reports how many events were executed ([`Scheduler::ran`], before anything else), then what happened
//!    ([`Scheduler::block`], [`Scheduler::end`], or nothing), then asks for the [`next`](Scheduler::next) turn.
//! 3. During the turn it reports what the thread does to others: `spawn`, `unpark`, `interrupt`, `notify`. These do
//!    not move the token.
//! 4. A thread *outside* (in I/O, at a foreign lock) runs without the token. Before its next event it calls
//!    [`Scheduler::returned`] and waits for its turn; if no thread has the token ([`Scheduler::current`]), it asks
//!    for the next turn.
//! 5. After [`Decision::Idle`] and [`Decision::Deadlock`] no thread has the token. `next` may be called again at any
//!    time.
//!
//! Every operation that changes what other threads can do (acquiring or releasing a lock, returning from a wait) is
//! an event by itself. A turn without events therefore has no effect, and a replay may skip it.
//!
//! ```
//! use untorn_schedule::{Blocker, Decision, LockKey, Mode, Options, PolicyKind, Reason, Scheduler};
//!
//! let mut scheduler = Scheduler::new(Mode::Policy(PolicyKind::RunToBlock), Options::default());
//! let (main, other) = (scheduler.spawn("main"), scheduler.spawn("other"));
//! let owner = |_: LockKey| Some(other);
//! let Decision::Run(turn) = scheduler.next(Reason::Budget, &owner) else { panic!("a thread can run") };
//! assert_eq!(turn.thread, main);
//! // It executes three events and comes to a lock that the other thread has.
//! scheduler.ran(main, 3);
//! scheduler.block(main, Blocker::Lock(LockKey(7)));
//! let Decision::Run(turn) = scheduler.next(Reason::Blocked, &owner) else { panic!("a thread can run") };
//! assert_eq!(turn.thread, other);
//! assert_eq!(scheduler.drain_turns()[0].to_string(), "#0 3 blocked");
//! ```
//!
//! # Determinism
//!
//! Every choice depends only on the seed and the calls. No clock, no address, no hash order is
//! used: the same calls give the same turns, on every machine.

mod blocker;
mod deadlock;
mod inputs;
mod marks;
mod outcome;
pub mod plan;
pub mod policy;
mod premature_timeouts;
mod replay;
mod rng;
mod run_spec;
mod schedule;
mod scheduler;
mod threads;
mod turn;

pub use blocker::{Blocker, LockKey, Locks, Nanos};
pub use deadlock::{BlockedThread, Deadlock};
pub use inputs::{Input, InputPlace, Inputs};
pub use marks::{ExpectedEvents, Marks, MarksError, Role};
pub use outcome::{AbandonedPlan, Divergence, Outcome, PlanFailure};
pub use plan::{
    AccessKind, CodePoint, GoOrHold, Plan, PlanError, PlanPoint, PlanStep, PlanThread, PointIndex,
};
pub use policy::{Access, AnnouncedEvents, Arrival, Choice, Policy, PolicyKind, UnknownPolicy};
pub use rng::Rng;
pub use run_spec::{DEFAULT_QUANTUM, RunSpec, Steering};
pub use schedule::{Schedule, ScheduleError, Step};
pub use scheduler::{Mode, Options, Scheduler};
pub use turn::{Decision, Reason, Turn, Wake};
pub use untorn_trace::ids::ThreadId;
