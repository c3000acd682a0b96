//! When the garbage collector runs does not show: weak references hold what they refer to until somebody needs the memory or
//! asks for a collection. And the operating system's random numbers are the same in every run, as is the number of identities
//! that objects got, whatever the JVM had to load.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::support::java::{arg, compile_one, java, record, run, scratch};

/// One class with a `main` of its own for each test.
const SOURCE: &str = r#"
import java.lang.ref.*;
import java.security.*;
import java.util.*;
import java.util.zip.*;

class Garbage {
    static Object last;

    /** Far more than there is room for, so that the collector runs again and again. */
    public static void main(String[] args) {
        var references = new ArrayList<WeakReference<Object>>();
        for (int number = 0; number < 1000; number++) references.add(new WeakReference<>(new Object()));
        for (int number = 0; number < 2000; number++) last = new byte[100_000];
        System.out.println(references.stream().filter(one -> one.get() != null).count());
    }
}

class Patience {
    static Object last;

    /** Never asks for a collection, and goes on when there was one. */
    public static void main(String[] args) {
        var reference = new WeakReference<>(new Object());
        while (reference.get() != null) last = new byte[1_000_000];
        System.out.println("cleared");
    }
}

class Cache {
    public static void main(String[] args) {
        var cache = new ArrayList<WeakReference<byte[]>>();
        for (int number = 0; number < 1000; number++) cache.add(new WeakReference<>(new byte[1_000_000]));
        System.out.println(cache.size());
    }
}

class Dead {
    /** References that nobody keeps do not keep anything, either: there is room for a few of these arrays only. */
    public static void main(String[] args) {
        var first = new SoftReference<>(new Object());
        for (int number = 0; number < 1000; number++) new WeakReference<>(new byte[1_000_000]);
        System.out.println(first.get() != null);
    }
}

class Streams {
    public static void main(String[] args) throws Exception {
        var file = java.io.File.createTempFile("streams", ".zip");
        try (var out = new ZipOutputStream(new java.io.FileOutputStream(file))) {
            var sum = new CRC32();
            sum.update(new byte[1000]);
            for (int method : new int[] {ZipEntry.STORED, ZipEntry.DEFLATED}) {
                var entry = new ZipEntry("method " + method);
                entry.setMethod(method);
                entry.setSize(1000);
                entry.setCrc(sum.getValue());
                out.putNextEntry(entry);
                out.write(new byte[1000]);
            }
        }
        try (var zip = new ZipFile(file)) {
            var codes = new TreeSet<Integer>();
            for (var entry : Collections.list(zip.entries())) {
                var stream = zip.getInputStream(entry);
                codes.add(stream.hashCode());
                System.out.println(stream.readAllBytes().length);
            }
            System.out.println(codes);
        }
        file.delete();
    }
}

class Numbers {
    public static void main(String[] args) throws Exception {
        System.out.println(UUID.randomUUID());
        System.out.println(new SecureRandom().nextLong());
        System.out.println(Arrays.toString(SecureRandom.getSeed(4)));
        for (String name : List.of("NativePRNG", "NativePRNGNonBlocking", "SHA1PRNG", "DRBG")) {
            System.out.println(name + " " + SecureRandom.getInstance(name).nextInt());
        }
    }
}
"#;

/// Records a class with little memory; gives the trace and what it printed.
fn recorded(main: &str) -> (PathBuf, String) {
    let trace = scratch(&format!("record-memory-{main}")).join("run.utr");
    let mut command = java(&compile_one("Memory.java", SOURCE), main);
    command.insert(1, "-Xmx64m".to_owned());
    let printed = record(&trace, &[], &command).with_code(0).stdout;
    (trace, printed)
}

/// The same, and it is the same again in a replay.
fn replayed(main: &str) -> String {
    let (trace, printed) = recorded(main);
    let again = run(&["replay", arg(&trace)]).with_code(0).saying("exactly");
    assert_eq!(again.stdout, printed);
    printed
}

#[test]
fn collections_clear_no_weak_references() {
    assert_eq!(replayed("Garbage"), "1000\n");
}

#[test]
fn a_program_that_waits_for_a_collection_goes_on() {
    assert_eq!(recorded("Patience").1, "cleared\n");
}

#[test]
fn what_only_weak_references_hold_gives_way_when_memory_is_needed() {
    assert_eq!(recorded("Cache").1, "1000\n");
}

#[test]
fn a_reference_that_is_gone_holds_nothing() {
    assert_eq!(replayed("Dead"), "true\n");
}

#[test]
fn random_numbers_are_the_same_in_every_run() {
    let first = replayed("Numbers");
    assert_eq!(recorded("Numbers").1, first);
    let different: BTreeSet<&str> = first.lines().collect();
    assert_eq!(different.len(), 7, "{first}");
}

/// They stand in hash sets. Class loaders use them, and when the JVM loads a class is up to its compiler.
#[test]
fn streams_out_of_archives_get_no_identity() {
    assert_eq!(replayed("Streams"), "1000\n1000\n[0]\n");
}
