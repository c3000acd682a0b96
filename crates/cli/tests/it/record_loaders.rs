//! Classes that do not come as usual: from several loaders, and changed by another agent beside ours.

use std::path::Path;
use std::process::Command;

use crate::support::java::{
    self, Recorded, Running, arg, compile, compile_one, recording, run, scratch, try_run,
};

const LOADERS: &str = r#"
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

public class Loaders {
    public static void main(String[] args) throws Exception {
        URL[] here = {Path.of(args[0]).toUri().toURL()};
        // Nobody above them knows the plugin, so each has its own, with its own fields.
        try (URLClassLoader first = new URLClassLoader(here); URLClassLoader second = new URLClassLoader(here)) {
            Class<?>[] twins = {first.loadClass("Plugin"), second.loadClass("Plugin")};
            System.out.println("the same class: " + (twins[0] == twins[1]));
            Thread[] threads = new Thread[4];
            for (int number = 0; number < 4; number++) {
                Method work = twins[number % 2].getMethod("work");
                threads[number] = new Thread(() -> call(work), "worker " + number);
                threads[number].start();
            }
            for (Thread thread : threads) thread.join();
            for (Class<?> twin : twins) System.out.println("total: " + twin.getMethod("total").invoke(null));
        }
    }

    static void call(Method method) {
        try {
            method.invoke(null);
        } catch (ReflectiveOperationException fault) {
            throw new IllegalStateException(fault);
        }
    }
}
"#;

const PLUGIN: &str = r#"
public class Plugin {
    private static int total;

    public static void work() {
        for (int turn = 0; turn < 5; turn++) add(1);
    }

    private static synchronized void add(int amount) { total += amount; }

    public static synchronized int total() { return total; }
}
"#;

/// Runs a program with and without the recorder: the same output, and runs that replay.
fn does_the_same(name: &str, command: &[String]) -> Recorded {
    let plain = try_run(command).expect("it ends").with_code(0);
    let trace = scratch(name).join("run.utr");
    for options in [&["--policy", "run-to-block"][..], &["--policy", "random", "--seed", "5"]] {
        let recorded = Running::start(&mut recording(&trace, options, command)).finish();
        assert_eq!(recorded.clone().with_code(0).stdout, plain.stdout, "{recorded}");
        let again = run(&["replay", arg(&trace)]).with_code(0).saying("events exactly");
        assert_eq!(again.stdout, plain.stdout);
    }
    Recorded::read(&trace)
}

#[test]
fn a_class_that_is_loaded_twice_is_two_classes() {
    let main = compile_one("Loaders.java", LOADERS);
    let plugin = compile_one("Plugin.java", PLUGIN);
    let mut command = java::java(&main, "Loaders");
    command.push(arg(&plugin).to_owned());
    let recorded = does_the_same("loaders", &command);
    let written =
        recorded.in_file("Plugin.java").filter(|event| recorded.words(event).contains(" writes "));
    assert_eq!(written.count(), 20, "each of four threads adds five times");
}

const MIXER: &str = r#"
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

public class Mixer {
    public static void premain(String options, Instrumentation instrumentation) {
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> known, ProtectionDomain domain, byte[] bytes) {
                if (!"Greeter".equals(name)) return null;
                System.out.println("mixing " + name);
                return replace(bytes, "plain", "mixed");
            }
        });
    }

    /** A text of the constant pool for another of the same length. */
    static byte[] replace(byte[] bytes, String from, String to) {
        String text = new String(bytes, java.nio.charset.StandardCharsets.ISO_8859_1);
        return text.replace(from, to).getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
    }
}
"#;

const GREETER: &str = r#"
public class Greeter {
    static int count;

    public static void main(String[] args) throws InterruptedException {
        Thread other = new Thread(Greeter::greet, "other");
        other.start();
        other.join();
        greet();
    }

    static synchronized void greet() {
        count++;
        System.out.println("plain " + count);
    }
}
"#;

/// The archive of an agent in Java.
fn agent_archive(classes: &Path) -> String {
    let folder = scratch("mixer");
    let (manifest, archive) = (folder.join("manifest"), folder.join("mixer.jar"));
    std::fs::write(&manifest, "Premain-Class: Mixer\n").expect("a manifest is written");
    let mut jar = Command::new("jar");
    jar.arg("cfm").arg(&archive).arg(&manifest).arg("-C").arg(classes).arg(".");
    assert!(jar.status().is_ok_and(|status| status.success()), "jar makes an archive");
    arg(&archive).to_owned()
}

#[test]
fn another_agent_works_beside_ours() {
    let archive = agent_archive(&compile_one("Mixer.java", MIXER));
    let classes = compile("Greeter", &[("Greeter.java".to_owned(), GREETER.to_owned())]);
    let mut command = java::java(&classes, "Greeter");
    command.insert(1, format!("-javaagent:{archive}"));
    let recorded = does_the_same("agents", &command);
    let written = recorded
        .in_file("Greeter.java")
        .filter(|event| recorded.words(event).contains("writes Greeter.count"));
    assert_eq!(written.count(), 2);
    let plain = try_run(&command).expect("it ends").with_code(0);
    assert_eq!(plain.stdout, "mixing Greeter\nmixed 1\nmixed 2\n");
}

const SLOW_LOADER: &str = r#"
import java.io.IOException;
import java.io.RandomAccessFile;

public class SlowLoader extends ClassLoader {
    static int written;
    private final RandomAccessFile pipe;

    SlowLoader(RandomAccessFile pipe) { this.pipe = pipe; }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        try {
            pipe.read();
        } catch (IOException fault) {
            throw new ClassNotFoundException(name, fault);
        }
        return SlowLoader.class;
    }

    public static void main(String[] args) throws Exception {
        RandomAccessFile pipe = new RandomAccessFile(args[0], "rw");
        new ProcessBuilder("sh", "-c", "sleep 2; echo > " + args[0]).start();
        Class<?> loaded = new SlowLoader(pipe).loadClass("Slow");
        for (int turn = 0; turn < 20; turn++) written++;
        System.out.println(written + " " + loaded);
    }
}
"#;

/// Loading a class is not recorded. A thread that lost the token meanwhile was not recorded ever after.
#[test]
fn a_thread_that_blocks_while_it_loads_a_class_is_recorded_afterwards() {
    let folder = scratch("slow-loader");
    let (trace, pipe) = (folder.join("run.utr"), folder.join("pipe"));
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo makes a pipe");
    let mut command = java::java(&compile_one("SlowLoader.java", SLOW_LOADER), "SlowLoader");
    command.push(arg(&pipe).to_owned());
    let done = Running::start(&mut recording(&trace, &[], &command)).finish().with_code(0);
    assert_eq!(done.stdout, "20 class SlowLoader\n", "{done}");
    let recorded = Recorded::read(&trace);
    assert!(recorded.summary().stolen > 0, "it did not lose the token");
    let written = recorded
        .in_file("SlowLoader.java")
        .filter(|event| recorded.words(event).contains(" writes SlowLoader.written "));
    assert_eq!(written.count(), 20);
}
