//! Programs find what they would find without the recorder: modifiers of methods, states of threads, and classes that
//! another agent redefines.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::java::{
    Recorded, Running, arg, compile_for, compile_one, java, java_of, recording, run, scratch,
    try_run,
};

/// Runs a program with and without the recorder, under several policies: the same output, and runs that replay. The
/// last trace.
fn does_the_same(name: &str, command: &[String]) -> Recorded {
    prints_the_same(name, command, |trace, output| {
        let again = run(&["replay", arg(trace)]).with_code(0).saying("events exactly");
        assert_eq!(again.stdout, output);
    })
}

/// The same, with something to be done with each trace.
fn prints_the_same(name: &str, command: &[String], then: impl Fn(&Path, &str)) -> Recorded {
    let plain = try_run(command).expect("it ends").with_code(0);
    let trace = scratch(name).join("run.utr");
    for options in [
        &["--policy", "run-to-block"][..],
        &["--policy", "random", "--seed", "5"],
        &["--policy", "pct", "--seed", "7"],
    ] {
        let recorded = Running::start(&mut recording(&trace, options, command)).finish();
        assert_eq!(recorded.clone().with_code(0).stdout, plain.stdout, "{recorded}");
        then(&trace, &plain.stdout);
    }
    Recorded::read(&trace)
}

const MODIFIERS: &str = r#"
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.lang.reflect.Method;
import java.util.Hashtable;
import java.util.TreeSet;
import java.util.Vector;

public class Modifiers implements Serializable {
    static int count;

    static synchronized void ofClass() { count++; }

    private synchronized int own(int more) { return count += more; }

    void plain() { synchronized (this) { count++; } }

    public static void main(String[] args) throws Exception {
        for (Class<?> type : new Class<?>[] {Modifiers.class, Vector.class, Hashtable.class, StringBuffer.class}) {
            TreeSet<String> lines = new TreeSet<>();
            for (Method method : type.getDeclaredMethods()) lines.add(method.toString());
            lines.forEach(System.out::println);
        }
        System.out.println(Vector.class.getMethod("size"));
        System.out.println(ObjectStreamClass.lookup(Modifiers.class).getSerialVersionUID());
    }
}
"#;

#[test]
fn methods_keep_their_modifiers_and_classes_their_serial_numbers() {
    let classes = compile_one("Modifiers.java", MODIFIERS);
    let command = java(&classes, "Modifiers");
    let plain = try_run(&command).expect("it ends").with_code(0);
    for line in ["static synchronized void Modifiers.ofClass()", "synchronized int Modifiers.own"] {
        assert!(plain.stdout.contains(line), "{plain}");
    }
    does_the_same("modifiers", &command);
}

const SESSION: &str = r#"
import java.io.*;

public class Session implements Serializable {
    int count = 1;

    public synchronized void increment() { count++; }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("save")) {
            try (ObjectOutputStream out = new ObjectOutputStream(new FileOutputStream(args[1]))) {
                out.writeObject(new Session());
            }
        } else {
            try (ObjectInputStream in = new ObjectInputStream(new FileInputStream(args[1]))) {
                Session session = (Session) in.readObject();
                session.increment();
                System.out.println("count " + session.count);
            }
        }
    }
}
"#;

#[test]
fn an_object_that_was_saved_without_the_recorder_is_read_with_it() {
    let file = scratch("session-file").join("session");
    let command = |what: &str| {
        let mut command = java(&compile_one("Session.java", SESSION), "Session");
        command.extend([what.to_owned(), arg(&file).to_owned()]);
        command
    };
    try_run(&command("save")).expect("it ends").with_code(0);
    does_the_same("session", &command("read"));
}

const STATES: &str = r#"
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

public class States {
    static final Object LOCK = new Object();

    interface Body { void run() throws InterruptedException; }

    static Thread start(Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (InterruptedException end) {
                System.out.println("interrupted " + Thread.currentThread().isInterrupted());
            }
        });
        System.out.println(thread.getState());
        thread.start();
        return thread;
    }

    /** As tests do that need another thread to have come that far. */
    static void await(Thread thread, Thread.State state) throws InterruptedException {
        while (thread.getState() != state) Thread.sleep(1);
        System.out.println(state + " " + thread.isAlive());
    }

    static void interrupt(Thread thread, Thread.State state) throws InterruptedException {
        await(thread, state);
        thread.interrupt();
        await(thread, Thread.State.TERMINATED);
    }

    static synchronized void enter() { }

    public static void main(String[] args) throws Exception {
        Thread blocked;
        synchronized (LOCK) {
            blocked = start(() -> { synchronized (LOCK) { System.out.println("entered"); } });
            await(blocked, Thread.State.BLOCKED);
        }
        blocked.join();
        synchronized (States.class) {
            blocked = start(States::enter);
            await(blocked, Thread.State.BLOCKED);
        }
        await(blocked, Thread.State.TERMINATED);
        interrupt(start(() -> { synchronized (LOCK) { LOCK.wait(); } }), Thread.State.WAITING);
        interrupt(start(() -> { synchronized (LOCK) { LOCK.wait(1000000); } }), Thread.State.TIMED_WAITING);
        interrupt(start(() -> Thread.sleep(1000000)), Thread.State.TIMED_WAITING);
        // A park may return without a reason.
        Body parked = () -> { while (!Thread.currentThread().isInterrupted()) LockSupport.park(); };
        interrupt(start(parked), Thread.State.WAITING);
        interrupt(start(() -> new CountDownLatch(1).await(1, TimeUnit.DAYS)), Thread.State.TIMED_WAITING);
        Thread main = Thread.currentThread();
        interrupt(start(main::join), Thread.State.WAITING);
        ReentrantLock lock = new ReentrantLock();
        lock.lock();
        Thread queued = start(lock::lock);
        await(queued, Thread.State.WAITING);
        lock.unlock();
        await(queued, Thread.State.TERMINATED);
        // Who was notified has to wait until the monitor is free.
        Thread notified = start(() -> { synchronized (LOCK) { LOCK.wait(); } });
        await(notified, Thread.State.WAITING);
        synchronized (LOCK) {
            LOCK.notify();
            System.out.println(notified.getState());
        }
        // A thread that waits by asking: it can go on.
        boolean[] done = {false};
        Thread busy = start(() -> { while (!isSet(done)) Thread.onSpinWait(); });
        await(busy, Thread.State.RUNNABLE);
        set(done);
        busy.join();
        System.out.println(main.getState());
    }

    static synchronized boolean isSet(boolean[] flag) { return flag[0]; }

    static synchronized void set(boolean[] flag) { flag[0] = true; }
}
"#;

#[test]
fn threads_are_in_the_states_that_java_gives_them() {
    let command = java(&compile_one("States.java", STATES), "States");
    does_the_same("states", &command);
}

/// What differs between releases: native methods of `Thread` and `Class`, and where the JVM keeps their state.
fn is_the_same_on(release: u32) {
    for (main, source) in [("Modifiers", MODIFIERS), ("States", STATES)] {
        let sources = [(format!("{main}.java"), source.to_owned())];
        let classes = compile_for(&["--release", "11"], &format!("{main}-for-all"), &sources, "");
        let command = [arg(&java_of(release)), "-cp", arg(&classes), main].map(str::to_owned);
        does_the_same(&format!("{main}-{release}"), &command);
    }
}

#[test]
fn nothing_else_is_seen_on_jdk_11() {
    is_the_same_on(11);
}

#[test]
fn nothing_else_is_seen_on_jdk_21() {
    is_the_same_on(21);
}

#[test]
fn nothing_else_is_seen_on_jdk_25() {
    is_the_same_on(25);
}

const REDEFINES: &str = r#"
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;
import java.util.Vector;
import jdk.internal.org.objectweb.asm.ClassReader;
import jdk.internal.org.objectweb.asm.ClassVisitor;
import jdk.internal.org.objectweb.asm.ClassWriter;
import jdk.internal.org.objectweb.asm.MethodVisitor;
import jdk.internal.org.objectweb.asm.Opcodes;

public class Redefines {
    static Instrumentation instrumentation;

    public static void premain(String options, Instrumentation given) { instrumentation = given; }

    static byte[] replace(byte[] bytes, String from, String to) {
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        return text.replace(from, to).getBytes(StandardCharsets.ISO_8859_1);
    }

    static void work() throws InterruptedException {
        Thread[] threads = new Thread[2];
        for (int number = 0; number < 2; number++) {
            threads[number] = new Thread(() -> { for (int turn = 0; turn < 5; turn++) Tally.add(); }, "T" + number);
            threads[number].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(Tally.words());
    }

    /** Retransforms a class. */
    static void transform(Class<?> type, String from, String to, boolean asReflected) throws Exception {
        ClassFileTransformer transformer = new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> known, ProtectionDomain domain, byte[] bytes) {
                if (known != type) return null;
                byte[] replaced = replace(bytes, from, to);
                return asReflected ? reflected(known, replaced) : replaced;
            }
        };
        instrumentation.addTransformer(transformer, true);
        instrumentation.retransformClasses(type);
        instrumentation.removeTransformer(transformer);
    }

    /** With the modifiers that reflection tells. */
    static byte[] reflected(Class<?> type, byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        ClassWriter writer = new ClassWriter(reader, 0);
        reader.accept(new ClassVisitor(Opcodes.ASM8, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] thrown) {
                int modifiers = access;
                for (Method method : type.getDeclaredMethods()) {
                    if (method.getName().equals(name)) modifiers = method.getModifiers();
                }
                return super.visitMethod(modifiers, name, descriptor, signature, thrown);
            }
        }, 0);
        return writer.toByteArray();
    }

    public static void main(String[] args) throws Exception {
        work();
        byte[] bytes = Tally.class.getResourceAsStream("Tally.class").readAllBytes();
        instrumentation.redefineClasses(new ClassDefinition(Tally.class, replace(bytes, "plain", "mixed")));
        work();
        transform(Tally.class, "mixed", "again", false);
        work();
        transform(Tally.class, "mixed", "found", true);
        work();
        instrumentation.retransformClasses(Tally.class);
        work();
        transform(Vector.class, "", "", false);
        Vector<String> vector = new Vector<>();
        vector.add("element");
        byte[] vectors = Vector.class.getResourceAsStream("Vector.class").readAllBytes();
        instrumentation.redefineClasses(new ClassDefinition(Vector.class, vectors));
        vector.add("another");
        System.out.println(vector);
        // What the JVM refuses it still refuses.
        try {
            byte[] other = replace(bytes, "words", "other");
            instrumentation.redefineClasses(new ClassDefinition(Tally.class, other));
        } catch (UnsupportedOperationException refused) {
            System.out.println("refused");
        }
        System.out.println(Tally.class.getDeclaredMethod("add"));
    }
}
"#;

const TALLY: &str = r#"
public class Tally {
    private static int count;

    static synchronized void add() {
        int before = count;
        count = before + 1;
    }

    static synchronized String words() { return "plain " + count; }
}
"#;

/// The archive of an agent in Java.
fn agent_archive(classes: &Path, main: &str) -> PathBuf {
    let folder = scratch(&format!("agent-{main}"));
    let (manifest, archive) = (folder.join("manifest"), folder.join("agent.jar"));
    let allowed = "Can-Redefine-Classes: true\nCan-Retransform-Classes: true\n";
    let text = format!("Premain-Class: {main}\n{allowed}");
    std::fs::write(&manifest, text).expect("a manifest is written");
    let mut jar = Command::new("jar");
    jar.arg("cfm").arg(&archive).arg(&manifest).arg("-C").arg(classes);
    jar.arg(format!("{main}.class"));
    assert!(jar.status().is_ok_and(|status| status.success()), "jar makes an archive");
    archive
}

#[test]
fn classes_that_another_agent_redefines_are_recorded_as_before() {
    let exports = "java.base/jdk.internal.org.objectweb.asm=ALL-UNNAMED";
    let sources = [("Redefines.java", REDEFINES), ("Tally.java", TALLY)];
    let sources = sources.map(|(file, source)| (file.to_owned(), source.to_owned()));
    let classes = compile_for(&["--add-exports", exports], "Redefines", &sources, "");
    let mut command = java(&classes, "Redefines");
    let agent = format!("-javaagent:{}", arg(&agent_archive(&classes, "Redefines")));
    command.splice(1..1, [agent, format!("--add-exports={exports}")]);
    let plain = try_run(&command).expect("it ends").with_code(0);
    let expected = "plain 10\nmixed 20\nagain 30\nfound 40\nmixed 50\n[element, another]\nrefused\n\
                    static synchronized void Tally.add()\n";
    assert_eq!(plain.stdout, expected, "{plain}");
    // It reads the bytes of loaded classes, with numbers that the JVM has put into them: another run may read others.
    let recorded = prints_the_same("redefines", &command, |_, _| {});
    let of_count = |verb: &str| {
        let what = format!(" {verb} Tally.count ");
        recorded.in_file("Tally.java").filter(|event| recorded.words(event).contains(&what)).count()
    };
    assert_eq!((of_count("writes"), of_count("reads")), (50, 55));
}

const LOADED: &str = r#"
import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

public class Loaded {
    static Instrumentation instrumentation;
    static final List<String> names = new ArrayList<>();

    public static void premain(String options, Instrumentation given) { instrumentation = given; }

    static class One {}
    static class Two {}
    static class Three {}
    static class Four {}
    static class Five {}

    public static void main(String[] args) {
        Object[] all = {new One(), new Two(), new Three(), new Four(), new Five()};
        for (Class<?> type : instrumentation.getInitiatedClasses(Loaded.class.getClassLoader())) {
            if (type.getName().startsWith("Loaded")) names.add(type.getName());
        }
        System.out.println(all.length + " " + names);
    }
}
"#;

/// The JVM gives them in the order of their addresses.
#[test]
fn loaded_classes_come_in_the_same_order_in_each_run() {
    let classes = compile_one("Loaded.java", LOADED);
    let mut command = java(&classes, "Loaded");
    command.insert(1, format!("-javaagent:{}", arg(&agent_archive(&classes, "Loaded"))));
    let folder = scratch("loaded");
    let traces = ["first.utr", "second.utr"].map(|name| folder.join(name));
    for trace in &traces {
        let done = Running::start(&mut recording(trace, &[], &command)).finish().with_code(0);
        let expected = "Loaded, Loaded$Five, Loaded$Four, Loaded$One, Loaded$Three, Loaded$Two";
        assert_eq!(done.stdout, format!("5 [{expected}]\n"), "{done}");
        run(&["replay", arg(trace)]).with_code(0).saying("events exactly");
    }
}
