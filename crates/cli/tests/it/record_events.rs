//! What is recorded beside values: monitors, threads, blocks, calls, branches.

use crate::support::access_text::{number, unnumbered};
use crate::support::java::{self, Recorded, compile_one, record, scratch};
use untorn_trace::{Event, LabelId, Op, ThreadId};

/// One class with a `main` of its own for each test.
const SOURCE: &str = r#"
class Nesting {
    final Object inner = new Object();

    synchronized void outer() {
        synchronized (inner) {
            again();
        }
    }

    synchronized void again() {
    }

    void thrower() {
        synchronized (inner) {
            throw new IllegalStateException();
        }
    }

    static synchronized int global() {
        return 1;
    }

    public static void main(String[] args) {
        var nesting = new Nesting();
        nesting.outer();
        try {
            nesting.thrower();
        } catch (IllegalStateException expected) {
            global();
        }
    }
}

class Family {
    static int sum;

    public static void main(String[] args) throws InterruptedException {
        sum = 1;
        var child = new Thread(() -> sum += 10, "child");
        child.start();
        child.join();
        int result = sum;
    }
}

class Waiting {
    static boolean told;
    static final Object monitor = new Object();

    public static void main(String[] args) throws InterruptedException {
        var teller = new Thread(Waiting::tell, "teller");
        synchronized (monitor) {
            synchronized (monitor) {
                teller.start();
                while (!told) {
                    monitor.wait();
                }
            }
        }
        teller.join();
    }

    static void tell() {
        synchronized (monitor) {
            told = true;
            monitor.notifyAll();
        }
    }
}

class Blocks {
    int x;

    synchronized void safe() {
        x = 1;
    }

    void plain() {
        x = 2;
    }

    void failing() {
        x = 3;
        throw new IllegalStateException();
    }

    public static void main(String[] args) {
        var blocks = new Blocks();
        blocks.safe();
        blocks.plain();
        try {
            blocks.failing();
        } catch (IllegalStateException expected) {
            blocks.x = 4;
        }
    }
}

class Calls {
    int x;

    int twice() {
        x++;
        return x;
    }

    int once() {
        return x;
    }

    static int both(Calls calls) {
        return calls.once() + calls.once();
    }

    public static void main(String[] args) {
        var calls = new Calls();
        calls.twice();
        calls.once();
        both(calls);
    }
}

class Branches {
    static int x;

    public static void main(String[] args) {
        x = args.length;
        int sum = 0;
        for (int k = 0; k < 10; k++) {
            sum += k;
        }
        x = sum;
        if (x > 3) {
            x = 4;
        }
        x = 5;
        x = 6;
    }
}

class Exit {
    public static void main(String[] args) throws InterruptedException {
        var sleeper = new Thread(Exit::sleep, "sleeper");
        sleeper.start();
        sleeper.join(10);
        System.out.println("exit");
        System.exit(7);
    }

    static void sleep() {
        try {
            Thread.sleep(1_000_000);
            System.out.println("after the exit");
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
"#;

const FILE: &str = "Happened.java";

/// Records the `main` of a class. The trace is whole and well-formed.
fn recorded_with(main: &str, options: &[&str]) -> Recorded {
    let trace = scratch(&format!("record-events-{main}-{}", options.len())).join("run.utr");
    let classes = compile_one(FILE, SOURCE);
    let run = record(&trace, options, &java::java(&classes, main));
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (Some(0), "", ""), "{run}");
    Recorded::read(&trace)
}

fn recorded(main: &str) -> Recorded {
    recorded_with(main, &[])
}

#[test]
fn monitors_nest_whichever_way_they_are_left() {
    let trace = recorded("Nesting");
    let describe = |event: &Event| {
        let (kind, lock) = match event.op {
            Op::Acquire { lock, .. } => ('+', lock),
            Op::Release { lock, .. } => ('-', lock),
            _ => return None,
        };
        let method = trace.tables.sites.get(event.site).expect("a place").method.to_owned();
        Some((kind, lock, method))
    };
    let all: Vec<_> = trace.in_file(FILE).filter_map(describe).collect();
    let (own, inner, class) = (all[0].1, all[1].1, all[8].1);
    assert!(own != inner && inner != class && own != class);
    let expected = [
        ('+', own, "outer"),
        ('+', inner, "outer"),
        ('+', own, "again"),
        ('-', own, "again"),
        ('-', inner, "outer"),
        ('-', own, "outer"),
        ('+', inner, "thrower"),
        ('-', inner, "thrower"),
        ('+', class, "global"),
        ('-', class, "global"),
    ];
    assert_eq!(all, expected.map(|(kind, lock, method)| (kind, lock, method.to_owned())));
    assert_eq!(unnumbered(&trace.tables.lock_name(own)), "Nesting#");
    assert_eq!(trace.tables.lock_name(class), "Nesting.class");
}

#[test]
fn a_thread_is_forked_before_its_first_event_and_joined_after_its_last() {
    let trace = recorded("Family");
    let sums = trace
        .in_file(FILE)
        .filter_map(|event| Some((trace.tables.thread_name(event.thread), event.value()?.0)));
    let expected = [("main", 1), ("child", 1), ("child", 11), ("main", 11)];
    assert!(sums.eq(expected.map(|(thread, sum)| (thread.to_owned(), sum))));
    let named = |name: &str| {
        let at = trace.tables.threads.iter().position(|thread| thread == name);
        ThreadId(at.unwrap_or_else(|| panic!("no thread {name}")) as u32)
    };
    let (main, child) = (named("main"), named("child"));
    let at = |op: Op| {
        let mut found = trace.events.iter().enumerate().filter(|(_, event)| event.op == op);
        let (at, event) = found.next().unwrap_or_else(|| panic!("no {op:?}"));
        assert_eq!((event.thread, found.next()), (main, None), "{op:?}");
        at
    };
    let (fork, join) = (at(Op::Fork { child }), at(Op::Join { child }));
    let own: Vec<usize> =
        (0..trace.events.len()).filter(|&at| trace.events[at].thread == child).collect();
    assert!(fork < own[0] && own[own.len() - 1] < join, "{fork} {own:?} {join}");
}

#[test]
fn a_wait_gives_the_monitor_up_and_has_it_again_at_its_former_depth() {
    let trace = recorded("Waiting");
    let describe = |event: &Event| {
        let (kind, lock) = match event.op {
            Op::Acquire { lock, .. } => ("acquire", lock),
            Op::Release { lock, .. } => ("release", lock),
            Op::Wait { lock } => ("wait", lock),
            Op::Resume { lock } => ("resume", lock),
            Op::Notify { lock, all: true } => ("notify all", lock),
            _ => return None,
        };
        Some((trace.tables.thread_name(event.thread), kind, lock))
    };
    let all: Vec<_> = trace.in_file(FILE).filter_map(describe).collect();
    let lock = all[0].2;
    let expected = [
        ("main", "acquire"),
        ("main", "acquire"),
        ("main", "wait"),
        ("teller", "acquire"),
        ("teller", "notify all"),
        ("teller", "release"),
        ("main", "resume"),
        ("main", "release"),
        ("main", "release"),
    ];
    assert_eq!(all, expected.map(|(thread, kind)| (thread.to_owned(), kind, lock)));
}

/// Beginnings and ends of blocks, and the writes in between.
fn blocks(trace: &Recorded) -> Vec<String> {
    let label = |label: LabelId| trace.tables.labels.get(label).expect("a name").to_owned();
    let describe = |event: &Event| match event.op {
        Op::Begin { label: block, .. } => Some(format!("begin {}", label(block))),
        Op::End { label: block } => Some(format!("end {}", label(block))),
        Op::Write { value, .. } => Some(format!("write {}", value.0)),
        _ => None,
    };
    trace.in_file(FILE).filter_map(describe).collect()
}

#[test]
fn a_synchronized_method_is_a_block() {
    let expected =
        ["begin Blocks.safe", "write 1", "end Blocks.safe", "write 2", "write 3", "write 4"];
    assert_eq!(blocks(&recorded("Blocks")), expected);
}

#[test]
fn methods_that_the_user_lists_are_blocks_also_when_they_throw() {
    let trace = recorded_with("Blocks", &["--atomic", "Blocks.plain", "--atomic", "*.fail*"]);
    let expected = [
        "begin Blocks.safe",
        "write 1",
        "end Blocks.safe",
        "begin Blocks.plain",
        "write 2",
        "end Blocks.plain",
        "begin Blocks.failing",
        "write 3",
        "end Blocks.failing",
        "write 4",
    ];
    assert_eq!(blocks(&trace), expected);
}

#[test]
fn calls_are_told_of_methods_that_touch_shared_state_twice() {
    let trace = recorded("Calls");
    let this = trace.tables.vars.iter().find(|name| unnumbered(name) == "Calls#.x").map(number);
    let describe = |event: &Event| {
        let (kind, method) = match event.op {
            Op::Call { method, .. } => ("call", method),
            Op::Return { method, .. } => ("return", method),
            _ => return None,
        };
        let name = trace.tables.labels.get(method).expect("a name").to_owned();
        // What is known of it: the receiver.
        let receiver = if kind == "call" { event.value().map(|value| value.0) } else { None };
        (name != "Calls.main").then_some((kind, name, receiver))
    };
    let all: Vec<_> = trace.in_file(FILE).filter_map(describe).collect();
    let expected = [
        ("call", "Calls.twice", this),
        ("return", "Calls.twice", None),
        ("call", "Calls.both", None),
        ("return", "Calls.both", None),
    ];
    assert_eq!(all, expected.map(|(kind, name, receiver)| (kind, name.to_owned(), receiver)));
}

#[test]
fn branches_are_counted_up_to_the_next_event() {
    let trace = recorded("Branches");
    let mut branches = 0;
    let mut writes = Vec::new();
    for event in &trace.events {
        match event.op {
            Op::Branch { count } => branches += count,
            Op::Write { var, value, .. } if trace.tables.var_name(var) == "Branches.x" => {
                writes.push((value.0, std::mem::take(&mut branches)));
            }
            _ => branches = 0,
        }
    }
    assert!((10..=12).contains(&writes[1].1), "a loop of ten: {writes:?}");
    assert_eq!(writes.iter().map(|write| write.0).collect::<Vec<_>>(), [0, 45, 4, 5, 6]);
    assert_eq!(writes[2].1, 1, "one comparison: {writes:?}");
    assert_eq!((writes[3].1, writes[4].1), (0, 0), "none: {writes:?}");
}

/// A thread that sleeps does not wake up because nobody else is left: the program has ended.
#[test]
fn nobody_gets_any_further_after_system_exit() {
    let trace = scratch("record-events-Exit").join("run.utr");
    let command = java::java(&compile_one(FILE, SOURCE), "Exit");
    let runs: Vec<_> = (0..5)
        .map(|_| {
            let run = record(&trace, &[], &command).with_code(7);
            (run.stdout, Recorded::read(&trace).events.len())
        })
        .collect();
    assert!(runs.iter().all(|(stdout, _)| stdout == "exit\n"), "{runs:?}");
    assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
}

const WAITER: &str = r#"
import java.lang.ref.ReferenceQueue;

public class Waiter {
    static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();

    public static void main(String[] args) throws InterruptedException {
        Thread waiter = new Thread(Waiter::await, "waiter");
        waiter.start();
        Thread.sleep(10);
        waiter.interrupt();
        waiter.join();
    }

    static void await() {
        try {
            QUEUE.remove();
        } catch (InterruptedException expected) {
            System.out.println("interrupted");
        }
    }
}
"#;

/// The JVM has `ReferenceQueue` before there is an agent: that its monitor is entered is not seen, that a thread waits on it
/// is. The trace told of a wait on a monitor that nobody held, and no analysis took it.
#[test]
fn a_wait_inside_of_code_that_is_not_rewritten_is_possible() {
    let trace = scratch("record-events-Waiter").join("run.utr");
    let command = java::java(&compile_one("Waiter.java", WAITER), "Waiter");
    assert_eq!(record(&trace, &[], &command).with_code(0).stdout, "interrupted\n");
    let recorded = Recorded::read(&trace);
    let of_waiter = recorded.events.iter().filter(|event| {
        recorded.tables.thread_name(event.thread) == "waiter"
            && matches!(
                event.op,
                Op::Acquire { .. } | Op::Wait { .. } | Op::Resume { .. } | Op::Release { .. }
            )
    });
    let first: Vec<_> = of_waiter.map(|event| event.op).take(4).collect();
    assert!(
        matches!(
            first[..],
            [Op::Acquire { .. }, Op::Wait { .. }, Op::Resume { .. }, Op::Release { .. }]
        ),
        "{first:?}"
    );
}
