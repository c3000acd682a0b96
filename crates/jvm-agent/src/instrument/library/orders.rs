//! Latches, semaphores, barriers and futures: who goes on behind them comes after who let it. Often nobody has to
//! wait for that, and no permit is given; so each call is an access of a variable of the object, called `@state` as
//! no field can be.
//!
//! A release is recorded before the call, as an update of a variable; an acquire is recorded after the call. What a
//! pool or a future does on its own is recorded inside of the JDK, where the method begins.

use untorn_bytecode::{Instr, Member, Snippet, Wrap, op};
use untorn_trace::event::Access;

use super::super::{MethodPass, RewriteError};
use crate::sites::{Reached, SiteKind};

const PROBES: &str = "java/lang/UntornOrders";

/// What is recorded after a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum After {
    Nothing,
    /// It saw what others did.
    Observes,
    /// It took something away from others.
    Acquires,
    /// The same, if it says so.
    AcquiresIf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Order {
    /// Others may go on because of it.
    releases: bool,
    after: After,
    /// Which operand is the object.
    operand: usize,
}

fn order(class: &str, name: &str) -> Option<Order> {
    let of = |releases, after| Some(Order { releases, after, operand: 0 });
    let (releases, observes) = (of(true, After::Nothing), of(false, After::Observes));
    match (class.strip_prefix("java/util/concurrent/")?, name) {
        ("CountDownLatch", "countDown") => releases,
        ("CountDownLatch", "await" | "getCount") => observes,
        ("Semaphore", "release") => releases,
        ("Semaphore", "acquire" | "acquireUninterruptibly" | "drainPermits") => {
            of(false, After::Acquires)
        }
        ("Semaphore", "tryAcquire") => of(false, After::AcquiresIf),
        ("Semaphore", "availablePermits") => observes,
        ("CyclicBarrier", "await") | ("Exchanger", "exchange") => of(true, After::Observes),
        ("Phaser", "arrive" | "arriveAndDeregister" | "register" | "bulkRegister") => releases,
        ("Phaser", "arriveAndAwaitAdvance") => of(true, After::Observes),
        ("Phaser", "awaitAdvance" | "awaitAdvanceInterruptibly" | "getPhase") => observes,
        (class, name) if is_future(class) && asks_future(name) => observes,
        // Asked only inside of pools: elsewhere queues are collections, which are recorded before this is asked.
        ("BlockingQueue", "offer" | "add") => releases,
        ("BlockingQueue", "take" | "poll") => observes,
        // Waits for the task that it is given.
        ("ForkJoinPool", "invoke") => {
            Some(Order { releases: false, after: After::Observes, operand: 1 })
        }
        _ => None,
    }
}

/// Whether the method says that a future is done, or waits until it is.
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

/// What is recorded inside of the JDK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Inside {
    /// When the method begins: others may go on because of it.
    Releases,
    /// When it begins: it goes on because of others.
    Observes,
    /// When it throws, which is not seen after the call.
    Throws,
}

/// Class and name, which local variable has the object, and what to record.
const INSIDE: &[(&str, &str, u16, Inside)] = &[
    ("FutureTask", "set", 0, Inside::Releases),
    ("FutureTask", "setException", 0, Inside::Releases),
    ("FutureTask", "cancel", 0, Inside::Releases),
    ("CompletableFuture", "internalComplete", 0, Inside::Releases),
    ("CompletableFuture", "completeNull", 0, Inside::Releases),
    ("CompletableFuture", "completeValue", 0, Inside::Releases),
    ("CompletableFuture", "completeThrowable", 0, Inside::Releases),
    ("CompletableFuture", "completeRelay", 0, Inside::Releases),
    ("ForkJoinTask", "fork", 0, Inside::Releases),
    ("ForkJoinTask", "doExec", 0, Inside::Observes),
    ("ForkJoinTask", "setDone", 0, Inside::Releases),
    ("ForkJoinTask", "trySetThrown", 0, Inside::Releases),
    ("ForkJoinTask", "trySetException", 0, Inside::Releases),
    ("ForkJoinTask", "trySetCancelled", 0, Inside::Releases),
    ("CountedCompleter", "compareAndSetPendingCount", 0, Inside::Releases),
    ("CountedCompleter", "weakCompareAndSetPendingCount", 0, Inside::Releases),
    ("ForkJoinPool", "externalPush", 1, Inside::Releases),
    ("ForkJoinPool", "externalSubmit", 1, Inside::Releases),
    ("ForkJoinPool", "poolSubmit", 2, Inside::Releases),
    ("FutureTask", "get", 0, Inside::Throws),
    ("CompletableFuture", "get", 0, Inside::Throws),
    ("CompletableFuture", "getNow", 0, Inside::Throws),
    ("CompletableFuture", "join", 0, Inside::Throws),
    ("ForkJoinTask", "get", 0, Inside::Throws),
    ("ForkJoinTask", "join", 0, Inside::Throws),
    ("ForkJoinTask", "invoke", 0, Inside::Throws),
];

/// The sites, as the probes count on them.
fn site_kinds() -> Vec<SiteKind> {
    let site = |write, access| SiteKind::Reached { write, access, what: Reached::NamedField };
    vec![site(false, Access::Update), site(true, Access::Update), site(false, Access::Volatile)]
}

impl<'a> MethodPass<'_, '_, 'a> {
    /// A call by which threads are ordered; false if it is none.
    pub(super) fn ordering(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
    ) -> Result<bool, RewriteError> {
        let by_object = matches!(instr.opcode, op::INVOKEVIRTUAL | op::INVOKEINTERFACE);
        let find = |class: &str| order(class, &called.name);
        let found = if by_object { self.known_class(&called.class, find) } else { None };
        let Some(Order { releases, after, operand }) = found else { return Ok(false) };
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
            After::Nothing => ("", Snippet::new(), ""),
            After::Observes => ("observe", Snippet::new(), ""),
            After::Acquires => ("acquire", Snippet::new(), ""),
            After::AcquiresIf => ("acquire", Snippet::new().op(op::DUP), "Z"),
        };
        let last = match after {
            After::Nothing => Snippet::new(),
            _ => {
                let descriptor = format!("({flag}Ljava/lang/Object;I)V");
                self.call_probe_of(PROBES, target(code), site, name, &descriptor)?
            }
        };
        self.around(instr.pc, &operands, &first, last);
        Ok(true)
    }

    /// A method of the JDK by which threads are ordered, when it begins.
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
        let probe = if inside == Inside::Releases { "release" } else { "observe" };
        let probed = self.call_probe_of(PROBES, target, site, probe, "(Ljava/lang/Object;I)V")?;
        let wrap = match inside {
            Inside::Throws => Wrap { handler: probed, ..Wrap::default() },
            Inside::Releases | Inside::Observes => Wrap { enter: probed, ..Wrap::default() },
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
    fn calls_give_look_or_take() {
        let of = |class: &str, name: &str| {
            order(&format!("java/util/concurrent/{class}"), name)
                .map(|order| (order.releases, order.after))
        };
        assert_eq!(of("CountDownLatch", "countDown"), Some((true, After::Nothing)));
        assert_eq!(of("CyclicBarrier", "await"), Some((true, After::Observes)));
        assert_eq!(of("Semaphore", "tryAcquire"), Some((false, After::AcquiresIf)));
        assert_eq!(of("Future", "get"), Some((false, After::Observes)));
        assert_eq!(of("Future", "cancel"), None, "recorded inside");
        assert_eq!(order("java/util/Map", "get"), None);
    }
}
