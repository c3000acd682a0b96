//! Orders that a program relies on without anybody having to wait: a latch that is open already, a future that is done, a
//! task that a pool has taken. They must be in the trace, or a prediction could turn them round.

use std::collections::HashMap;

use crate::support::access_text::unnumbered;
use crate::support::java::{self, Recorded, arg, compile_one, record, run, scratch};
use untorn_trace::Op;
use untorn_trace::event::Access;

/// Each class writes `x` in one thread and then uses it in another, which sleeps until the first one is through.
const SOURCE: &str = r#"
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.stream.*;

class Nothing {
    static int x;

    public static void main(String[] args) throws Exception {
        new Thread(() -> x = 1).start();
        Thread.sleep(100);
        System.out.println(x);
    }
}

class Latch {
    static int x;

    public static void main(String[] args) throws Exception {
        var latch = new CountDownLatch(1);
        new Thread(() -> { x = 1; latch.countDown(); }).start();
        Thread.sleep(100);
        latch.await();
        System.out.println(x);
    }
}

class Permits {
    static int x;

    public static void main(String[] args) throws Exception {
        var permits = new Semaphore(0);
        new Thread(() -> { x = 1; permits.release(); }).start();
        Thread.sleep(100);
        System.out.println(permits.tryAcquire() + " " + x + " " + permits.tryAcquire());
    }
}

class Barrier {
    static int x;

    public static void main(String[] args) throws Exception {
        var barrier = new CyclicBarrier(2);
        new Thread(() -> {
            try {
                x = 1;
                barrier.await();
                barrier.await();
                x = 2;
            } catch (Exception error) {
                System.out.println(error);
            }
        }).start();
        Thread.sleep(100);
        barrier.await();
        System.out.println(x);
        barrier.await();
    }
}

class Phases {
    static int x;

    public static void main(String[] args) throws Exception {
        var phaser = new Phaser(2);
        new Thread(() -> { x = 1; phaser.arrive(); }).start();
        Thread.sleep(100);
        phaser.arriveAndAwaitAdvance();
        System.out.println(x);
    }
}

class Swap {
    static int x;

    public static void main(String[] args) throws Exception {
        var exchanger = new Exchanger<String>();
        new Thread(() -> {
            try {
                x = 1;
                exchanger.exchange("a");
            } catch (InterruptedException error) {
                System.out.println(error);
            }
        }).start();
        Thread.sleep(100);
        System.out.println(exchanger.exchange("b") + x);
    }
}

class Task {
    static int x;

    public static void main(String[] args) throws Exception {
        var pool = Executors.newFixedThreadPool(1);
        pool.submit(() -> 0).get();
        x = 1;
        // The thread of the pool runs already, so nothing but its queue hands this over.
        Future<Integer> future = pool.submit(() -> x = 2);
        Thread.sleep(100);
        System.out.println(future.get() + x);
        x = 5;
        var timer = Executors.newScheduledThreadPool(1);
        timer.schedule(() -> { }, 1, TimeUnit.MILLISECONDS).get();
        x = 6;
        ScheduledFuture<?> later = timer.schedule(() -> { x++; }, 1, TimeUnit.MILLISECONDS);
        Thread.sleep(100);
        later.get();
        System.out.println(x);
        pool.shutdown();
        timer.shutdown();
    }
}

class Promise {
    static int x;

    public static void main(String[] args) throws Exception {
        var promise = new CompletableFuture<Integer>();
        new Thread(() -> { x = 1; promise.complete(3); }).start();
        Thread.sleep(100);
        System.out.println(promise.join() + x);
        x = 10;
        var supplied = CompletableFuture.supplyAsync(() -> x++);
        Thread.sleep(100);
        System.out.println(supplied.get() + x);
        var failed = CompletableFuture.runAsync(() -> { x = 20; throw new IllegalStateException(); });
        Thread.sleep(100);
        try {
            failed.join();
        } catch (CompletionException expected) {
            System.out.println(x);
        }
    }
}

class Forks {
    static int x;
    static int[] seen = new int[8];

    static class Part extends RecursiveTask<Integer> {
        final int from, to;
        Part(int from, int to) { this.from = from; this.to = to; }

        protected Integer compute() {
            if (to - from == 1) return seen[from] = x + from;
            Part left = new Part(from, (from + to) / 2);
            left.fork();
            int right = new Part((from + to) / 2, to).compute();
            return left.join() + right;
        }
    }

    public static void main(String[] args) throws Exception {
        var pool = new ForkJoinPool(2);
        pool.submit(() -> 0).get();
        x = 1;
        System.out.println(pool.invoke(new Part(0, 8)));
        System.out.println(Arrays.stream(seen).sum());
        x = 2;
        System.out.println(IntStream.range(0, 8).parallel().map(i -> seen[i] + x).sum());
        pool.shutdown();
    }
}

class Scheduled {
    static int x;

    public static void main(String[] args) throws Exception {
        var timer = new java.util.Timer(true);
        var done = new CountDownLatch(1);
        Thread.sleep(10);
        x = 1;
        timer.schedule(new TimerTask() {
            public void run() { x++; done.countDown(); }
        }, 5);
        Thread.sleep(100);
        done.await();
        System.out.println(x);
        timer.cancel();
    }
}

class Accumulators {
    public static void main(String[] args) {
        var most = new LongAccumulator(Math::max, 0);
        most.accumulate(3);
        most.accumulate(2);
        most.get();
        var least = new DoubleAccumulator(Math::min, 9);
        least.accumulate(0.5);
        least.getThenReset();
        least.reset();
    }
}
"#;

const FILE: &str = "Orders.java";

/// Records a program that says this, repeats the run, and gives the trace.
fn recorded(main: &str, says: &str) -> Recorded {
    let classes = compile_one(FILE, SOURCE);
    let folder = scratch(&format!("orders-{main}"));
    for (name, options) in [
        ("random.utr", &["--policy", "random", "--seed", "1"][..]),
        ("run.utr", &["--policy", "run-to-block"]),
    ] {
        let trace = folder.join(name);
        let done = record(&trace, options, &java::java(&classes, main)).with_code(0);
        assert_eq!(done.stdout, says, "{done}");
        run(&["replay", arg(&trace)]).with_code(0).saying("events exactly");
    }
    Recorded::read(&folder.join("run.utr"))
}

/// By thread, how many of its steps are known.
type Clock = HashMap<u32, u64>;

fn join(into: &mut Clock, other: &Clock) {
    for (&thread, &steps) in other {
        let known = into.entry(thread).or_default();
        *known = (*known).max(steps);
    }
}

/// Accesses of a plain variable that no order stands between: happens-before by forks, joins, locks and volatile variables.
fn races(trace: &Recorded, named: &str) -> Vec<String> {
    let mut clocks: HashMap<u32, Clock> = HashMap::new();
    let mut locks: HashMap<u32, Clock> = HashMap::new();
    let mut volatiles: HashMap<u32, Clock> = HashMap::new();
    let mut last: Vec<(u32, u64, bool)> = Vec::new();
    let mut found = Vec::new();
    for event in &trace.events {
        let me = event.thread.0;
        let mut clock = clocks.remove(&me).unwrap_or_default();
        *clock.entry(me).or_default() += 1;
        match event.op {
            Op::Fork { child } => join(clocks.entry(child.0).or_default(), &clock),
            Op::Join { child } => join(&mut clock, clocks.entry(child.0).or_default()),
            Op::Acquire { lock, .. } | Op::Resume { lock } => {
                join(&mut clock, locks.entry(lock.0).or_default());
            }
            Op::Release { lock, .. } | Op::Wait { lock } => {
                join(locks.entry(lock.0).or_default(), &clock);
            }
            Op::Read { var, access, .. } if access != Access::Plain => {
                join(&mut clock, volatiles.entry(var.0).or_default());
            }
            Op::Write { var, access, .. } if access != Access::Plain => {
                join(volatiles.entry(var.0).or_default(), &clock);
            }
            Op::Read { var, .. } | Op::Write { var, .. }
                if trace.tables.var_name(var).ends_with(named) =>
            {
                let writes = matches!(event.op, Op::Write { .. });
                let open = last.iter().any(|&(thread, step, wrote)| {
                    thread != me
                        && (wrote || writes)
                        && clock.get(&thread).is_none_or(|&k| k < step)
                });
                if open {
                    found.push(trace.words(event));
                }
                last.push((me, clock[&me], writes));
            }
            _ => {}
        }
        clocks.insert(me, clock);
    }
    found
}

#[track_caller]
fn ordered(main: &str, says: &str, variable: &str) {
    let trace = recorded(main, says);
    let races = races(&trace, ".x");
    assert!(races.is_empty(), "{main}: no order before {races:#?}");
    let actual = trace.tables.vars.iter().any(|name| unnumbered(name).ends_with(variable));
    assert!(actual, "{main}: nothing of {variable}");
}

/// Otherwise nothing below would say much.
#[test]
fn sleeping_orders_nothing() {
    assert_eq!(races(&recorded("Nothing", "1\n"), ".x").len(), 1);
}

#[test]
fn an_open_latch_orders() {
    ordered("Latch", "1\n", "CountDownLatch#.@state");
}

#[test]
fn a_permit_that_is_there_orders() {
    ordered("Permits", "true 1 false\n", "Semaphore#.@state");
}

#[test]
fn barriers_phasers_and_exchangers_order() {
    ordered("Barrier", "1\n", "CyclicBarrier#.@state");
    ordered("Phases", "1\n", "Phaser#.@state");
    ordered("Swap", "a1\n", "Exchanger#.@state");
}

#[test]
fn a_task_comes_after_who_handed_it_in_and_before_who_asks_for_it() {
    ordered("Task", "4\n7\n", "FutureTask#.@state");
}

#[test]
fn completing_comes_before_what_depends_on_it() {
    ordered("Promise", "4\n21\n20\n", "CompletableFuture#.@state");
}

#[test]
fn forked_tasks_come_between_fork_and_join() {
    ordered("Forks", "36\n36\n52\n", "ForkJoinTask#.@state");
    let elements = races(&recorded("Forks", "36\n36\n52\n"), ".seen[3]");
    assert!(elements.is_empty(), "{elements:#?}");
}

#[test]
fn timers_order_by_their_monitors() {
    ordered("Scheduled", "2\n", "CountDownLatch#.@state");
}

#[test]
fn accumulators_are_updated_and_read() {
    let trace = recorded("Accumulators", "");
    let actual: Vec<String> = trace
        .in_file(FILE)
        .filter(|event| matches!(event.op, Op::Read { .. } | Op::Write { .. }))
        .map(|event| unnumbered(trace.words(event).split(" at ").next().unwrap_or_default()))
        .collect();
    let expected = [
        "main reads LongAccumulator#.value = 0",
        "main writes LongAccumulator#.value = 3",
        "main reads LongAccumulator#.value = 3",
        "main writes LongAccumulator#.value = 3",
        "main reads LongAccumulator#.value = 3",
        "main reads DoubleAccumulator#.value = 9",
        "main writes DoubleAccumulator#.value = 0.5",
        "main reads DoubleAccumulator#.value = 0.5",
        "main writes DoubleAccumulator#.value = 9",
        "main writes DoubleAccumulator#.value = 9",
    ];
    assert_eq!(actual, expected);
}
