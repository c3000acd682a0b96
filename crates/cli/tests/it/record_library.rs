//! What the JDK does for the program, recorded at the call sites: atomic variables, handles, locks, reflection, copies.

use crate::support::access_text::{accesses, unnumbered};
use crate::support::java::{
    self, Example, Recorded, arg, compile_one, example, record, run, scratch,
};
use untorn_trace::event::{Access, Hold};
use untorn_trace::{Event, Op};

/// One class with a `main` of its own for each test.
const SOURCE: &str = include_str!("record_library/Library.java");

const FILE: &str = "Library.java";

fn recorded(main: &str) -> Recorded {
    let trace = scratch(&format!("record-library-{main}")).join("run.utr");
    let command = java::java(&compile_one(FILE, SOURCE), main);
    record(&trace, &["--policy", "run-to-block"], &command).with_code(0);
    Recorded::read(&trace)
}

/// Acquisitions and releases, blocks, and the writes in between.
fn sections(trace: &Recorded) -> Vec<String> {
    let tables = &trace.tables;
    let label = |label| tables.labels.get(label).expect("a name").to_owned();
    let side = |hold| if hold == Hold::Shared { " shared" } else { "" };
    let lock = |lock| unnumbered(&tables.lock_name(lock));
    let describe = |event: &Event| match event.op {
        Op::Acquire { lock: taken, hold } => Some(format!("acquire{} {}", side(hold), lock(taken))),
        Op::Release { lock: given, hold } => Some(format!("release{} {}", side(hold), lock(given))),
        Op::Begin { label: block, .. } => Some(format!("begin {}", label(block))),
        Op::End { label: block } => Some(format!("end {}", label(block))),
        Op::Write { value, .. } => Some(format!("write {}", value.0)),
        _ => None,
    };
    trace.in_file(FILE).filter_map(describe).filter(|words| !words.ends_with("<clinit>")).collect()
}

#[test]
fn atomic_variables_are_read_written_and_updated() {
    let expected = [
        "read AtomicInteger#.value = 5",
        "write AtomicInteger#.value = 7",
        "update read AtomicInteger#.value = 7",
        "update write AtomicInteger#.value = 8",
        "update read AtomicInteger#.value = 8",
        "update write AtomicInteger#.value = 18",
        "update read AtomicInteger#.value = 18",
        "update write AtomicInteger#.value = 20",
        "read AtomicInteger#.value = 20",
        "update read AtomicInteger#.value = 20",
        "update write AtomicInteger#.value = 22",
        "read AtomicInteger#.value = 22",
        "update read AtomicBoolean#.value = false",
        "update write AtomicBoolean#.value = true",
        "update read AtomicLongArray#[2] = 0",
        "update write AtomicLongArray#[2] = -4",
        "write AtomicLongArray#[1] = 1099511627776",
        "update read LongAdder#.sum = 0",
        "update write LongAdder#.sum = 3",
        "read LongAdder#.sum = 3",
    ];
    assert_eq!(accesses(&recorded("Scalars"), FILE), expected);
}

/// A function of the program runs between the read and the attempt to write, so the two are separate steps.
/// A collection of java.util.concurrent is a variable: what it holds, or what a map holds for a key. Values
/// are versions.
#[test]
fn collections_are_variables_with_versions() {
    let expected = [
        r#"read ConcurrentHashMap#.["a"] = 0"#,
        r#"update read ConcurrentHashMap#.["a"] = 0"#,
        r#"update write ConcurrentHashMap#.["a"] = 1"#,
        "update read ConcurrentHashMap#.contents = 0",
        "update write ConcurrentHashMap#.contents = 1",
        r#"read ConcurrentHashMap#.["a"] = 1"#,
        r#"update read ConcurrentHashMap#.["b\2e;c"] = 0"#,
        r#"update write ConcurrentHashMap#.["b\2e;c"] = 1"#,
        "update read ConcurrentHashMap#.contents = 1",
        "update write ConcurrentHashMap#.contents = 2",
        r#"read ConcurrentHashMap#.["b\2e;c"] = 1"#,
        r#"read ConcurrentHashMap#.["none"] = 0"#,
        // A key with an `equals` of its own: the map as a whole.
        "update read ConcurrentHashMap#.contents = 2",
        "update write ConcurrentHashMap#.contents = 3",
        "read ConcurrentHashMap#.contents = 3",
        "read ConcurrentLinkedQueue#.contents = 0",
        "update read ConcurrentLinkedQueue#.contents = 0",
        "update write ConcurrentLinkedQueue#.contents = 1",
        "update read ConcurrentLinkedQueue#.contents = 1",
        "update write ConcurrentLinkedQueue#.contents = 2",
        "read ConcurrentLinkedQueue#.contents = 2",
    ];
    let mut all = accesses(&recorded("Holdings"), FILE);
    // Other lists are recorded inside; and the enum makes an array of its constants.
    all.retain(|one| !one.contains("Object[]"));
    assert_eq!(all, expected);
}

#[test]
fn what_a_function_computes_is_read_first_and_then_swapped() {
    let expected = [
        "read AtomicInteger#.value = 5",
        "update read AtomicInteger#.value = 5",
        "update write AtomicInteger#.value = 10",
        "read AtomicInteger#.value = 10",
        "update read AtomicInteger#.value = 10",
        "update write AtomicInteger#.value = 7",
    ];
    assert_eq!(accesses(&recorded("Functions"), "AtomicInteger.java"), expected);
}

/// The same variables as those that plain instructions reach.
#[test]
fn handles_and_updaters_reach_fields_by_their_names() {
    let expected = [
        "plain write Handles.letter = 'a'",
        "update read Handles#.count = 0",
        "update write Handles#.count = 1",
        "read Handles#.count = 1",
        "write Handles#.count = 4",
        "plain write Handles#.part = 0.5",
        "read Handles#.part = 0.5",
        "update read Handles.letter = 'a'",
        "update write Handles.letter = 'b'",
        "plain write long[]#[0] = 1",
        "plain write long[]#[1] = 2",
        "update read long[]#[1] = 2",
        "update write long[]#[1] = 7",
    ];
    let trace = recorded("Handles");
    assert_eq!(accesses(&trace, FILE), expected);
    let counts = trace.tables.vars.iter().filter(|name| name.ends_with(".count")).count();
    assert_eq!(counts, 1, "one variable, however it is reached");
}

/// The JDK makes a class for each, which no agent is shown.
#[test]
fn method_references_are_calls_as_well() {
    let expected = [
        "update read AtomicInteger#.value = 5",
        "update write AtomicInteger#.value = 6",
        "read AtomicInteger#.value = 6",
    ];
    assert_eq!(accesses(&recorded("References"), FILE), expected);
}

/// The handle of a method has the shape of a getter, too, and is none.
#[test]
fn method_handles_lead_to_fields() {
    let trace = recorded("FieldHandles");
    let mut actual = accesses(&trace, FILE);
    // References are shown by their numbers.
    let names: Vec<String> =
        actual.iter().filter(|words| words.contains(".name")).cloned().collect();
    actual.retain(|words| !words.contains(".name"));
    let expected = [
        "plain write FieldHandles#.count = 7",
        "plain read FieldHandles#.count = 7",
        "write FieldHandles#.wide = 1099511627776",
        "plain read FieldHandles#.count = 7",
        "plain read FieldHandles#.part = 0",
    ];
    assert_eq!(actual, expected);
    let [initial, write, read] = &names[..] else { panic!("{names:?}") };
    assert!(initial.starts_with("plain write FieldHandles.name = "), "{names:?}");
    assert_ne!(initial, write, "another string");
    assert_eq!(write.replace("write", "read"), *read);
}

/// Memory that belongs to no object is nobody's variable.
#[test]
fn offsets_lead_to_fields() {
    let expected = [
        "write Offsets#.count = 3",
        "update read Offsets#.count = 3",
        "update write Offsets#.count = 7",
        "read Offsets#.count = 7",
        "plain write Offsets.shared = 8",
    ];
    assert_eq!(accesses(&recorded("Offsets"), FILE), expected);
}

#[test]
fn the_section_of_a_lock_is_a_block() {
    let nested = ["begin Sections.twice (lock)", "acquire ReentrantLock#"];
    let left = ["release ReentrantLock#", "end Sections.twice (lock)"];
    let tried = [
        "begin Sections.tried (lock)",
        "acquire ReentrantLock#",
        "write 2",
        "release ReentrantLock#",
        "end Sections.tried (lock)",
    ];
    let thrown = [
        "begin Sections.thrown (lock)",
        "acquire ReentrantLock#",
        "release ReentrantLock#",
        "end Sections.thrown (lock)",
    ];
    // The other thread tries in vain.
    let last = [
        "begin Sections.main (lock)",
        "acquire ReentrantLock#",
        "release ReentrantLock#",
        "end Sections.main (lock)",
    ];
    let expected: Vec<&str> =
        [&nested[..], &nested, &["write 1"], &left, &left, &tried, &thrown, &last].concat();
    assert_eq!(sections(&recorded("Sections")), expected);
}

/// The inner block is cut where the outer one ends, because blocks nest.
#[test]
fn sections_that_cross_over_are_cut() {
    let block = "Crossed.main (lock)";
    let (begin, end) = (format!("begin {block}"), format!("end {block}"));
    let (acquire, release) = ("acquire ReentrantLock#", "release ReentrantLock#");
    let expected = [
        &begin, acquire, "write 1", &begin, acquire, "write 2", release, &end, &end, &begin,
        "write 3", release, &end,
    ];
    assert_eq!(sections(&recorded("Crossed")), expected);
}

#[test]
fn read_locks_are_shared_and_conversions_are_one_step() {
    let expected = [
        "acquire ReentrantReadWriteLock#",
        "acquire shared ReentrantReadWriteLock#",
        "release ReentrantReadWriteLock#",
        "release shared ReentrantReadWriteLock#",
        "acquire shared StampedLock#",
        "release shared StampedLock#",
        "acquire StampedLock#",
        "release StampedLock#",
        "acquire shared StampedLock#",
        "release shared StampedLock#",
    ];
    let mut actual = sections(&recorded("Shared"));
    actual.retain(|words| words.contains("Lock#"));
    assert_eq!(actual, expected);
}

#[test]
fn who_waits_for_a_condition_gives_the_lock_up_and_has_it_again() {
    let trace = recorded("Conditions");
    let describe = |event: &Event| {
        let kind = match event.op {
            Op::Acquire { .. } => "acquire",
            Op::Release { .. } => "release",
            Op::Begin { .. } => "begin",
            Op::End { .. } => "end",
            _ => return None,
        };
        Some((trace.tables.thread_name(event.thread), kind))
    };
    let all: Vec<_> = trace.in_file(FILE).filter_map(describe).collect();
    // Without those of the initialiser.
    let expected = [
        ("main", "begin"),
        ("main", "acquire"),
        ("main", "begin"),
        ("main", "acquire"),
        ("main", "release"),
        ("main", "release"),
        ("main", "end"),
        ("main", "end"),
        ("teller", "begin"),
        ("teller", "acquire"),
        ("teller", "release"),
        ("teller", "end"),
        ("main", "begin"),
        ("main", "begin"),
        ("main", "acquire"),
        ("main", "acquire"),
        ("main", "release"),
        ("main", "end"),
        ("main", "release"),
        ("main", "end"),
    ];
    assert_eq!(all[2..], expected.map(|(thread, kind)| (thread.to_owned(), kind)));
}

#[test]
fn reflection_reaches_the_same_variables() {
    let expected = [
        "plain write Reflected.global = 2",
        "plain write Reflected#.number = 1",
        "plain write Reflected#.number = 4",
        "plain read Reflected#.number = 4",
        "plain write Reflected.global = 8589934592",
        "plain write int[]#[1] = 6",
        "plain read int[]#[1] = 6",
    ];
    assert_eq!(accesses(&recorded("Reflected"), FILE), expected);
}

#[test]
fn copies_are_told_element_by_element_up_to_a_bound_and_the_rest_is_counted() {
    let trace = recorded("Copied");
    let all = accesses(&trace, FILE);
    let first = [
        "plain read Copied.from[0] = 1",
        "plain write Copied.to[5] = 1",
        "plain read Copied.from[1] = 2",
        "plain write Copied.to[6] = 2",
    ];
    let at = all.iter().position(|words| words == first[0]).expect("the first copy");
    assert_eq!(all[at..at + 4], first);
    // A clone reads 256 of 1000, a copy reads and writes as many.
    let reads = all.iter().filter(|words| words.starts_with("plain read Copied.from[")).count();
    let writes = all.iter().filter(|words| words.starts_with("plain write Copied.to[")).count();
    assert_eq!((reads, writes), (2 + 256 + 256, 2 + 256));
    assert_eq!(trace.summary().elements_left_out, 2 * 744);
}

/// Whether the two halves of every update stand side by side.
fn updates_are_whole(trace: &Recorded) -> Result<usize, String> {
    let mut updates = 0;
    for pair in trace.events.windows(2) {
        let Op::Read { access: Access::Update, var, .. } = pair[0].op else { continue };
        let whole = matches!(pair[1].op, Op::Write { access: Access::Update, var: same, .. } if same == var);
        if !whole || pair[0].thread != pair[1].thread {
            return Err(format!("{} and {}", trace.words(&pair[0]), trace.words(&pair[1])));
        }
        updates += 1;
    }
    Ok(updates)
}

/// The same seed gives the same bytes, and a replay the same events.
fn repeats(example: &Example, seed: u32) -> Recorded {
    let folder = scratch(&format!("record-library-{}-{seed}", example.name));
    let [first, second, again] = ["first.utr", "second.utr", "again.utr"].map(|n| folder.join(n));
    let options = ["--policy", "random", "--seed", &seed.to_string()];
    for trace in [&first, &second] {
        let run = record(trace, &options, &example.command()).with_code(0);
        assert_eq!(run.stdout, example.golden(), "{run}");
    }
    let bytes = |path: &std::path::Path| std::fs::read(path).expect("a trace");
    assert!(bytes(&first) == bytes(&second), "{}", java::difference(&first, &second));
    run(&["replay", "-q", "-o", arg(&again), arg(&first)]).with_code(0);
    let (old, new) = (Recorded::read(&first), Recorded::read(&again));
    assert!(old.events == new.events, "{}", java::difference(&first, &again));
    old
}

#[test]
fn atomic_variables_repeat_and_no_update_is_torn() {
    for seed in 1..4 {
        let trace = repeats(&example("constructs", "Atomics"), seed);
        let updates = updates_are_whole(&trace).unwrap_or_else(|torn| panic!("torn: {torn}"));
        assert!(updates > 1000, "{updates} updates");
    }
}

#[test]
fn sections_of_locks_repeat() {
    for seed in 1..4 {
        repeats(&example("constructs", "Sections"), seed);
    }
}

#[test]
fn reflection_and_copies_repeat() {
    repeats(&example("constructs", "Copies"), 1);
}

#[test]
fn queues_maps_timers_and_thread_locals_repeat() {
    for seed in 1..3 {
        repeats(&example("constructs", "Queues"), seed);
    }
}

/// Semaphores, latches, barriers, phasers, exchangers; pools, futures, fork and join, parallel streams.
#[test]
fn locks_and_executors_repeat() {
    repeats(&example("constructs", "Locks"), 1);
    repeats(&example("constructs", "Executors"), 1);
}
