//! `untorn verify` accepts the fix that `untorn explain` recommends, and nothing less: a program for each hint, with
//! its fix, and with a change that does not help.

use std::path::{Path, PathBuf};

use crate::check::check;
use crate::support::java::{self, CommandResult, arg, compile, run, scratch};

/// Two threads and what they share. `act` is the method that is torn.
#[derive(Clone, Copy)]
struct Program {
    fields: &'static str,
    act: &'static str,
    other: &'static str,
    /// Printed when both have ended.
    result: &'static str,
}

impl Program {
    fn source(&self) -> String {
        let Self { fields, act, other, result } = self;
        format!(
            "import java.util.*; import java.util.concurrent.*; import java.util.concurrent.atomic.*;
            public class Subject {{
                {fields}
                {act}
                {other}
                public static void main(String[] args) throws Exception {{
                    Thread a = new Thread(() -> act(1), \"Ann\"), b = new Thread(() -> other(2), \"Ben\");
                    a.start(); b.start(); a.join(); b.join();
                    System.out.println({result});
                }}
            }}"
        )
    }

    fn compile(&self, name: &str) -> PathBuf {
        compile(&format!("verify-{name}"), &[("Subject.java".to_owned(), self.source())])
    }
}

fn verify(report: &Path, name: &str, classes: &Path) -> CommandResult {
    let out = scratch(&format!("verify-{name}-again"));
    let command = java::java(classes, "Subject");
    let mut args = vec!["verify", arg(report), "1", "--explore", "4", "--out", arg(&out), "--"];
    args.extend(command.iter().map(String::as_str));
    run(&args)
}

/// The hint is given for the torn program, by whichever of its threads is torn; the fix is accepted, what does not help is not.
fn hint(name: &str, title: &str, torn: Program, fixed: Program, useless: Program) {
    let out = scratch(&format!("verify-{name}"));
    let command = java::java(&torn.compile(&format!("{name}-torn")), "Subject");
    check(&out, &["--minimise", "0"], &command).with_code(1);
    let report = out.join("report.json");
    let words = run(&["explain", arg(&report), "1"]).with_code(0);
    let text = words.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(title), "no hint {title:?}: {words}");
    let fixed = fixed.compile(&format!("{name}-fixed"));
    let done = verify(&report, &format!("{name}-fixed"), &fixed).with_code(0);
    assert!(done.stdout.contains("was not torn any more"), "{done}");
    let useless = useless.compile(&format!("{name}-useless"));
    let done = verify(&report, &format!("{name}-useless"), &useless).with_code(1);
    assert!(done.stdout.contains("can STILL be torn"), "{done}");
}

const OTHER_ACTS: &str = "static void other(int n) { act(n); }";

/// A counter that loses an increment.
const COUNTER: Program = Program {
    fields: "static int x;",
    act: "static void act(int n) { int seen = x; x = seen + n; }",
    other: OTHER_ACTS,
    result: "x",
};

#[test]
fn one_lock() {
    let fixed = Program {
        act: "static synchronized void act(int n) { int seen = x; x = seen + n; }",
        ..COUNTER
    };
    let useless = Program { fields: "static volatile int x;", ..COUNTER };
    hint("one-lock", "Put the read and the write under one lock", COUNTER, fixed, useless);
}

#[test]
fn one_atomic_update_of_a_number() {
    let fixed = Program {
        fields: "static final AtomicInteger x = new AtomicInteger();",
        act: "static void act(int n) { x.updateAndGet(old -> old + n); }",
        ..COUNTER
    };
    // Another variable than that of the finding, and torn as before.
    let useless =
        Program { act: "static void act(int n) { int seen = x.get(); x.set(seen + n); }", ..fixed };
    hint("one-update", "Or make it one atomic update", COUNTER, fixed, useless);
}

#[test]
fn one_atomic_update_of_a_reference() {
    let torn = Program {
        fields: "static List<Integer> x = List.of();",
        act: "static void act(int n) { List<Integer> seen = x; List<Integer> next = new ArrayList<>(seen); next.add(n); x = next; }",
        other: OTHER_ACTS,
        result: "x.size()",
    };
    let fixed = Program {
        fields: "static final AtomicReference<List<Integer>> x = new AtomicReference<>(List.of());",
        act: "static void act(int n) {
            while (true) {
                List<Integer> seen = x.get();
                List<Integer> next = new ArrayList<>(seen);
                next.add(n);
                if (x.compareAndSet(seen, next)) return;
            }
        }",
        result: "x.get().size()",
        ..torn
    };
    let useless = Program { fields: "static volatile List<Integer> x = List.of();", ..torn };
    hint("reference", "An AtomicReference with compareAndSet in a loop", torn, fixed, useless);
}

#[test]
fn set_once() {
    let torn = Program {
        fields: "static Integer x;",
        act: "static void act(int n) { if (x == null) x = n; }",
        other: OTHER_ACTS,
        result: "x",
    };
    let fixed = Program {
        fields: "static final AtomicReference<Integer> x = new AtomicReference<>();",
        act: "static void act(int n) { x.compareAndSet(null, n); }",
        ..torn
    };
    let useless = Program { fields: "static volatile Integer x;", ..torn };
    hint("set-once", "Or set it once, in one step", torn, fixed, useless);
}

#[test]
fn one_lock_held_across_both() {
    let torn = Program {
        fields: "static int x; static final Object lock = new Object();",
        act: "static void act(int n) {
            int seen;
            synchronized (lock) { seen = x; }
            synchronized (lock) { x = seen + n; }
        }",
        other: OTHER_ACTS,
        result: "x",
    };
    let fixed = Program {
        act: "static void act(int n) { synchronized (lock) { int seen = x; x = seen + n; } }",
        ..torn
    };
    let useless = Program {
        fields: "static volatile int x; static final Object lock = new Object();",
        ..torn
    };
    hint("across", "across the read and the write", torn, fixed, useless);
}

#[test]
fn the_other_thread_takes_the_lock_too() {
    let torn = Program {
        fields: "static int x;",
        act: "static synchronized void act(int n) { int seen = x; x = seen + n; }",
        other: "static void other(int n) { x = 7; }",
        result: "x",
    };
    let fixed = Program { other: "static synchronized void other(int n) { x = 7; }", ..torn };
    let useless = Program { other: "static void other(int n) { x = 8; }", ..torn };
    hint("too", "Make Ben take", torn, fixed, useless);
}

/// The check saw 100; when it acted, it was 30.
#[test]
fn a_check_in_the_step_that_acts() {
    let torn = Program {
        fields: "static int x = 100;",
        act: "static synchronized int get() { return x; }
            static synchronized void set(int value) { x = value; }
            static void act(int n) { if (get() >= 80) set(get() - 80); }",
        other: "static void other(int n) { if (get() >= 70) set(get() - 70); }",
        result: "x",
    };
    let fixed = Program {
        fields: "static final AtomicInteger x = new AtomicInteger(100);",
        act: "static void act(int n) { x.updateAndGet(old -> old >= 80 ? old - 80 : old); }",
        other: "static void other(int n) { x.updateAndGet(old -> old >= 70 ? old - 70 : old); }",
        ..torn
    };
    let useless = Program { fields: "static volatile int x = 100;", ..torn };
    hint("stale", "Or check again in the step that acts", torn, fixed, useless);
}

#[test]
fn read_once() {
    let torn = Program {
        fields: "static Integer x = 5;",
        act: "static void act(int n) { if (x != null) System.out.println(x + n); }",
        other: "static void other(int n) { x = null; }",
        result: "\"end\"",
    };
    let fixed = Program {
        act: "static void act(int n) { Integer seen = x; if (seen != null) System.out.println(seen + n); }",
        ..torn
    };
    let useless = Program { fields: "static volatile Integer x = 5;", ..torn };
    hint("read-once", "Or read x once", torn, fixed, useless);
}

#[test]
fn keep_it_in_a_local_variable() {
    let torn = Program {
        fields: "static int x;",
        act: "static void act(int n) { x = n; if (x != n) System.out.println(\"not mine\"); }",
        other: "static void other(int n) { x = n; }",
        result: "\"end\"",
    };
    let fixed = Program {
        act: "static void act(int n) { x = n; int own = n; if (own != n) System.out.println(\"not mine\"); }",
        ..torn
    };
    let useless = Program { fields: "static volatile int x;", ..torn };
    hint("local", "Or keep the value in a local variable", torn, fixed, useless);
}

#[test]
fn write_once() {
    let torn = Program {
        fields: "static int x;",
        act: "static void act(int n) { x = -1; x = n; }",
        other: "static void other(int n) { int seen = x; if (seen < 0) System.out.println(\"half done\"); }",
        result: "\"end\"",
    };
    let fixed = Program { act: "static void act(int n) { x = n; }", ..torn };
    let useless = Program { fields: "static volatile int x;", ..torn };
    hint("write-once", "Or write x once, at the end", torn, fixed, useless);
}

#[test]
fn both_in_one_write() {
    let torn = Program {
        fields: "static int x, y;",
        act: "static void act(int n) { x = n; y = n; }",
        other: "static void other(int n) { int a = x, b = y; if (a != b) System.out.println(\"torn\"); }",
        result: "\"end\"",
    };
    let fixed = Program {
        fields: "record State(int x, int y) {} static volatile State state = new State(0, 0);",
        act: "static void act(int n) { state = new State(n, n); }",
        other: "static void other(int n) { State s = state; if (s.x() != s.y()) System.out.println(\"torn\"); }",
        ..torn
    };
    let useless = Program { fields: "static volatile int x, y;", ..torn };
    hint("both", "Or change both in one write", torn, fixed, useless);
}

/// A cache, as in a review: each call is safe.
const CACHE: Program = Program {
    fields: "static final Map<String, Object> users = new ConcurrentHashMap<>();
        static Object made() { System.out.println(\"made\"); return new Object(); }",
    act: "static void act(int n) { if (!users.containsKey(\"ann\")) users.put(\"ann\", made()); }",
    other: OTHER_ACTS,
    result: "users.size()",
};

#[test]
fn one_call_of_a_map() {
    let fixed = Program {
        act: "static void act(int n) { users.computeIfAbsent(\"ann\", key -> made()); }",
        ..CACHE
    };
    let useless = Program {
        act: "static void act(int n) { if (users.get(\"ann\") == null) users.put(\"ann\", made()); }",
        ..CACHE
    };
    hint("map", "computeIfAbsent", CACHE, fixed, useless);
}

#[test]
fn one_call_of_a_list() {
    let torn = Program {
        fields: "static final CopyOnWriteArrayList<String> all = new CopyOnWriteArrayList<>();",
        act: "static void act(int n) { if (!all.contains(\"ann\")) all.add(\"ann\"); }",
        other: OTHER_ACTS,
        result: "all.size()",
    };
    let fixed = Program { act: "static void act(int n) { all.addIfAbsent(\"ann\"); }", ..torn };
    let useless = Program {
        act: "static void act(int n) { if (all.indexOf(\"ann\") < 0) all.add(\"ann\"); }",
        ..torn
    };
    hint("list", "under one lock", torn, fixed, useless);
}

/// A vector locks each call, and the caller has to lock both.
#[test]
fn the_monitor_of_the_collection() {
    let torn = Program {
        fields: "static final Vector<String> all = new Vector<>();",
        act: "static void act(int n) { if (!all.contains(\"ann\")) all.add(\"ann\"); }",
        other: OTHER_ACTS,
        result: "all.size()",
    };
    let fixed = Program {
        act: "static void act(int n) { synchronized (all) { if (!all.contains(\"ann\")) all.add(\"ann\"); } }",
        ..torn
    };
    let useless = Program {
        act: "static void act(int n) { if (all.indexOf(\"ann\") < 0) all.add(\"ann\"); }",
        ..torn
    };
    hint("vector", "Lock the Vector itself around both calls", torn, fixed, useless);
}

/// The method has another name: the variable leads to it. One that is gone is not verified.
#[test]
fn renamed_code_is_followed() {
    let out = scratch("verify-renamed");
    let command = java::java(&COUNTER.compile("renamed-torn"), "Subject");
    check(&out, &["--minimise", "0"], &command).with_code(1);
    let report = out.join("report.json");
    let renamed = |program: Program, name: &str| {
        let source = program.source().replace("act(", "add(");
        let classes = compile(&format!("verify-{name}"), &[("Subject.java".to_owned(), source)]);
        verify(&report, name, &classes)
    };
    let torn = renamed(COUNTER, "renamed-still").with_code(1);
    assert!(torn.stdout.contains("Subject.act can STILL be torn as Subject.add"), "{torn}");
    let act = "static synchronized void act(int n) { int seen = x; x = seen + n; }";
    let fixed = renamed(Program { act, ..COUNTER }, "renamed-fixed").with_code(0);
    assert!(fixed.stdout.contains("Subject.x is accessed by Subject.add now"), "{fixed}");
    let act = "static void act(int n) { }";
    let gone = renamed(Program { act, ..COUNTER }, "renamed-gone").with_code(3);
    assert!(gone.stderr.contains("did not occur"), "{gone}");
}
