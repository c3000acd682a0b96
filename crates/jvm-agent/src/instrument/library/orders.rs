//! Latches, semaphores, barriers and futures: the thread that continues is ordered after the thread that released it.
//! Often no thread has to block for that, and no permit is given; so each call is an access of a variable of the
//! object. It is called `@state`, which no field can be.
//!
//! A release is recorded before the call, as an update of the variable; an acquisition is recorded after the call.
//! What a pool or a future does internally is recorded inside of the JDK, at the beginning of the method.

use untorn_bytecode::{Instr, Member, Snippet, Wrap, op};
use untorn_trace::event::Access;

use super::super::{MethodPass, RewriteError};
use crate::sites::{Reached, SiteKind};

const PROBES: &str = "java/lang/UntornOrders";

/// What is recorded after a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AfterCall {
    Nothing,
    /// It observed what others did.
    Observes,
    /// It took something away from others.
    Acquires,
    /// The same, if the result is true.
    AcquiresIf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OrderingCall {
    /// Other threads may continue because of it.
    releases: bool,
    after: AfterCall,
    /// Which operand is the object.
    operand: usize,
}

fn order(class: &str, name: &str) -> Option<OrderingCall> {
    let of = |releases, after| Some(OrderingCall { releases, after, operand: 0 });
    let (releases, observes) = (of(true, AfterCall::Nothing), of(false, AfterCall::Observes));
    match (class.strip_prefix("java/util/concurrent/")?, name) {
        ("CountDownLatch", "countDown") => releases,
        ("CountDownLatch", "await" | "getCount") => observes,
        ("Semaphore", "release") => releases,
        ("Semaphore", "acquire" | "acquireUninterruptibly" | "drainPermits") => {
            of(false, AfterCall::Acquires)
        }
        ("Semaphore", "tryAcquire") => of(false, AfterCall::AcquiresIf),
        ("Semaphore", "availablePermits") => observes,
        ("CyclicBarrier", "await") | ("Exchanger", "exchange") => of(true, AfterCall::Observes),
        ("Phaser", "arrive" | "arriveAndDeregister" | "register" | "bulkRegister") => releases,
        ("Phaser", "arriveAndAwaitAdvance") => of(true, AfterCall::Observes),
        ("Phaser", "awaitAdvance" | "awaitAdvanceInterruptibly" | "getPhase") => observes,
        (class, name) if is_future(class) && asks_future(name) => observes,
        // Relevant only inside of pools: elsewhere queues are collections, which are handled earlier.
        ("BlockingQueue", "offer" | "add") => releases,
        ("BlockingQueue", "take" | "poll") => observes,
        // Waits for the task that is its argument.
        ("ForkJoinPool", "invoke") => {
            Some(OrderingCall { releases: false, after: AfterCall::Observes, operand: 1 })
        }
        _ => None,
    }
}

/// Whether the method completes a future, or waits for its completion.
fn asks_future(name: &str) -> bool {
    matches!(
        name,
        "get"
            | "getNow"
            | "join"
            | "isDone"
            | "invoke"
            | "resultNow"
            | "exceptionNow"
            | "getRawResult"
            | "quietlyJoin"
            | "isCompletedNormally"
    )
}

fn is_future(class: &str) -> bool {
    matches!(
        class,
        "Future"
            | "FutureTask"
            | "RunnableFuture"
            | "ScheduledFuture"
            | "CompletableFuture"
            | "ForkJoinTask"
            | "RecursiveTask"
            | "RecursiveAction"
            | "CountedCompleter"
    )
}

/// What is recorded inside of the JDK, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InternalEffect {
    /// At the beginning of the method: other threads may continue because of it.
    Releases,
    /// At the beginning: it continues because of other threads.
    Observes,
    /// When it throws, which the probe after the call does not see.
    Throws,
}

/// Class and name, the local variable with the object, and what to record.
const INSIDE: &[(&str, &str, u16, InternalEffect)] = &[
    ("FutureTask", "set", 0, InternalEffect::Releases),
    ("FutureTask", "setException", 0, InternalEffect::Releases),
    ("FutureTask", "cancel", 0, InternalEffect::Releases),
    ("CompletableFuture", "internalComplete", 0, InternalEffect::Releases),
    ("CompletableFuture", "completeNull", 0, InternalEffect::Releases),
    ("CompletableFuture", "completeValue", 0, InternalEffect::Releases),
    ("CompletableFuture", "completeThrowable", 0, InternalEffect::Releases),
    ("CompletableFuture", "completeRelay", 0, InternalEffect::Releases),
    ("ForkJoinTask", "fork", 0, InternalEffect::Releases),
    ("ForkJoinTask", "doExec", 0, InternalEffect::Observes),
    ("ForkJoinTask", "setDone", 0, InternalEffect::Releases),
    ("ForkJoinTask", "trySetThrown", 0, InternalEffect::Releases),
    ("ForkJoinTask", "trySetException", 0, InternalEffect::Releases),
    ("ForkJoinTask", "trySetCancelled", 0, InternalEffect::Releases),
    ("CountedCompleter", "compareAndSetPendingCount", 0, InternalEffect::Releases),
    ("CountedCompleter", "weakCompareAndSetPendingCount", 0, InternalEffect::Releases),
    ("ForkJoinPool", "externalPush", 1, InternalEffect::Releases),
    ("ForkJoinPool", "externalSubmit", 1, InternalEffect::Releases),
    ("ForkJoinPool", "poolSubmit", 2, InternalEffect::Releases),
    ("FutureTask", "get", 0, InternalEffect::Throws),
    ("CompletableFuture", "get", 0, InternalEffect::Throws),
    ("CompletableFuture", "getNow", 0, InternalEffect::Throws),
    ("CompletableFuture", "join", 0, InternalEffect::Throws),
    ("ForkJoinTask", "get", 0, InternalEffect::Throws),
    ("ForkJoinTask", "join", 0, InternalEffect::Throws),
    ("ForkJoinTask", "invoke", 0, InternalEffect::Throws),
];

/// The sites, in the order that the probes expect.
fn site_kinds() -> Vec<SiteKind> {
    let site = |write, access| SiteKind::Reached { write, access, what: Reached::NamedField };
    vec![site(false, Access::Update), site(true, Access::Update), site(false, Access::Volatile)]
}

impl<'a> MethodPass<'_, '_, 'a> {
    /// Instruments a call that orders threads; false if it is none.
    pub(super) fn ordering(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
    ) -> Result<bool, RewriteError> {
        let by_object = matches!(instr.opcode, op::INVOKEVIRTUAL | op::INVOKEINTERFACE);
        let find = |class: &str| order(class, &called.name);
        let found = if by_object { self.known_class(&called.class, find) } else { None };
        let Some(OrderingCall { releases, after, operand }) = found else { return Ok(false) };
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(false) };
        let site = self.sites(instr.pc, site_kinds());
        self.planned(instr.pc, site)?;
        let target = |code: Snippet| operands.load(code, operand);
        let first = match releases {
            true => {
                let code = target(Snippet::new());
                self.call_probe_of(PROBES, code, site, "release", "(Ljava/lang/Object;I)V")?
            }
            false => Snippet::new(),
        };
        let (name, code, flag) = match after {
            AfterCall::Nothing => ("", Snippet::new(), ""),
            AfterCall::Observes => ("observe", Snippet::new(), ""),
            AfterCall::Acquires => ("acquire", Snippet::new(), ""),
            AfterCall::AcquiresIf => ("acquire", Snippet::new().op(op::DUP), "Z"),
        };
        let last = match after {
            AfterCall::Nothing => Snippet::new(),
            _ => {
                let descriptor = format!("({flag}Ljava/lang/Object;I)V");
                self.call_probe_of(PROBES, target(code), site, name, &descriptor)?
            }
        };
        self.around(instr.pc, &operands, &first, last);
        Ok(true)
    }

    /// Instruments the beginning of a method of the JDK that orders threads.
    pub(in super::super) fn orders_inside(&mut self) -> Result<(), RewriteError> {
        let class = self.class.class.name().strip_prefix("java/util/concurrent/");
        let Some(class) = class.filter(|_| !self.method.is_static()) else { return Ok(()) };
        let name = self.method.name();
        let found = INSIDE.iter().find(|row| row.0 == class && row.1 == name);
        let Some(&(_, _, local, inside)) = found else { return Ok(()) };
        if self.code.writes_local0(self.class.class.pool()) {
            return Ok(());
        }
        let site = self.sites(0, site_kinds());
        let target = Snippet::new().load(untorn_bytecode::Kind::Reference, local);
        let probe = if inside == InternalEffect::Releases { "release" } else { "observe" };
        let probed = self.call_probe_of(PROBES, target, site, probe, "(Ljava/lang/Object;I)V")?;
        let wrap = match inside {
            InternalEffect::Throws => Wrap { handler: probed, ..Wrap::default() },
            InternalEffect::Releases | InternalEffect::Observes => {
                Wrap { enter: probed, ..Wrap::default() }
            }
        };
        self.class.editor.method(self.index).wrap(wrap);
        self.edits += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_release_observe_or_acquire() {
        let of = |class: &str, name: &str| {
            order(&format!("java/util/concurrent/{class}"), name)
                .map(|order| (order.releases, order.after))
        };
        assert_eq!(of("CountDownLatch", "countDown"), Some((true, AfterCall::Nothing)));
        assert_eq!(of("CyclicBarrier", "await"), Some((true, AfterCall::Observes)));
        assert_eq!(of("Semaphore", "tryAcquire"), Some((false, AfterCall::AcquiresIf)));
        assert_eq!(of("Future", "get"), Some((false, AfterCall::Observes)));
        assert_eq!(of("Future", "cancel"), None, "recorded inside");
        assert_eq!(order("java/util/Map", "get"), None);
    }
}
