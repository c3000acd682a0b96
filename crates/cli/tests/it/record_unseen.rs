//! Accesses without an instruction of their own: by offsets, and by copies. What cannot be told is counted.

use std::path::{Path, PathBuf};

use untorn_bytecode::{ClassEditor, ClassFile, Snippet, op};

use crate::support::access_text::accesses;
use crate::support::java::{self, Recorded, arg, compile_one, record, run, scratch};

const OFFSETS: &str = include_str!("record_unseen/Offsets.java");
const CLONES: &str = include_str!("record_unseen/Clones.java");
const WAYS: &str = include_str!("record_unseen/Ways.java");

fn recorded(name: &str, command: &[String]) -> Recorded {
    let trace = scratch(&format!("record-unseen-{name}")).join("run.utr");
    record(&trace, &["--policy", "run-to-block"], command).with_code(0);
    Recorded::read(&trace)
}

fn offsets(main: &str) -> Vec<String> {
    java::java(&compile_one("Offsets.java", OFFSETS), main)
}

#[test]
fn offsets_lead_to_elements_and_fields() {
    let expected = [
        "plain write int[]#[2] = 5",
        "read int[]#[2] = 5",
        "update read int[]#[2] = 5",
        "update write int[]#[2] = 6",
        "read int[]#[2] = 6",
        "update read int[]#[3] = 0",
        "update write int[]#[3] = 9",
        "write int[]#[0] = 1",
        "write byte[]#[1] = 1",
        "update read Each#.wide = 0",
        "update write Each#.wide = 3",
        "plain read Each#.wide = 3",
    ];
    let trace = recorded("each", &offsets("Each"));
    assert_eq!(accesses(&trace, "Offsets.java"), expected);
    assert_eq!(trace.summary().accesses_unresolved, 0);
}

#[test]
fn what_is_no_variable_is_counted_and_named() {
    let command = offsets("Unknown");
    let trace = recorded("unknown", &command);
    assert_eq!(accesses(&trace, "Offsets.java"), Vec::<String>::new());
    assert_eq!(trace.summary().accesses_unresolved, 3);
    let doctor = ["doctor", "--"].into_iter().chain(command.iter().map(String::as_str));
    let told = run(&doctor.collect::<Vec<_>>()).with_code(0);
    for words in [
        "used, but not seen: memory by its address (Unsafe)",
        "accesses by address, view or handle whose variable is not known: 3",
    ] {
        assert!(told.stdout.contains(words), "not a word of '{words}': {told}");
    }
}

fn check(main: &str) -> java::CommandResult {
    let (out, command) = (scratch(&format!("check-unseen-{main}")), offsets(main));
    let options = ["check", "--out", arg(&out), "--time", "40s", "--explore", "9", "--"];
    run(&options.into_iter().chain(command.iter().map(String::as_str)).collect::<Vec<_>>())
}

#[test]
fn a_table_reached_by_offsets_is_torn_and_its_twin_is_not() {
    let torn = check("TornTable").with_code(1);
    assert!(torn.stdout.contains("Table.claim is not atomic"), "{torn}");
    assert!(torn.stdout.contains("[3] ← "), "{torn}");
    assert!(torn.stdout.contains("printed \"both\""), "{torn}");
    check("WholeTable").with_code(0);
}

/// Names the class that declares `clone`, as compilers did before Java 5. The array is a field of its own type, so
/// nothing else changes.
fn with_old_clone(classes: &Path, to: &Path) -> PathBuf {
    let bytes = std::fs::read(classes.join("Clones.class")).expect("a class file");
    let class = ClassFile::parse(&bytes).expect("a class");
    let mut editor = ClassEditor::new(&class);
    let mut changed = 0;
    for (index, method) in class.methods().iter().enumerate() {
        let Some(code) = method.code() else { continue };
        for instr in code.instructions().map(|instr| instr.expect("an instruction")) {
            let called = instr.pool_index().and_then(|index| class.pool().member(index).ok());
            let Some(called) = called.filter(|_| instr.opcode == op::INVOKEVIRTUAL) else {
                continue;
            };
            if &*called.class == "[I" && &*called.name == "clone" {
                let old = editor.pool().methodref("java/lang/Object", "clone", &called.descriptor);
                let call = Snippet::new().op_u16(op::INVOKEVIRTUAL, old.expect("room"));
                editor.method(index).replace(instr.pc, call);
                changed += 1;
            }
        }
    }
    assert_eq!(changed, 1, "one call of a clone");
    let rewritten = editor.finish().expect("a class file");
    std::fs::write(to.join("Clones.class"), rewritten.bytes).expect("a class is written");
    to.to_owned()
}

#[test]
fn clones_read_what_they_copy_whatever_class_the_call_names() {
    let classes = compile_one("Clones.java", CLONES);
    let old = with_old_clone(&classes, &scratch("old-clones"));
    // The program itself reads an element and a field of the copies.
    let expected = ["[0] = 4", "[1] = 5", "[1] = 5", ".left = 1", ".right = 2", ".right = 2"];
    for (name, folder) in [("new", classes), ("old", old)] {
        let trace = recorded(&format!("clones-{name}"), &java::java(&folder, "Clones"));
        let all = accesses(&trace, "Clones.java");
        let reads = all.iter().filter(|words| words.starts_with("plain read "));
        let reads = reads.filter_map(|words| expected.iter().find(|end| words.ends_with(*end)));
        assert_eq!(reads.copied().collect::<Vec<_>>(), expected, "{name}");
        assert_eq!(trace.summary().accesses_unresolved, 0);
    }
}

#[test]
fn methods_of_the_jdk_that_touch_arrays_and_collections_are_recorded() {
    let command = java::java(&compile_one("Ways.java", WAYS), "Ways");
    let trace = recorded("ways", &command);
    let own = accesses(&trace, "Ways.java");
    // The sort reads and writes, the comparison reads both, the copies read a part.
    for sequence in [
        &["read int[]#[0] = 9", "read int[]#[1] = 8", "write int[]#[0] = 8", "write int[]#[1] = 9"],
        &["read int[]#[0] = 8", "read int[]#[1] = 9", "read int[]#[0] = 8", "read int[]#[1] = 9"],
    ] {
        let sequence = sequence.map(|words| format!("plain {words}"));
        assert!(own.windows(4).any(|part| part == sequence), "{sequence:?}: {own:#?}");
    }
    for element in ["plain read Object[]#[0] = ", "plain read Object[]#[1] = "] {
        assert!(own.iter().any(|access| access.starts_with(element)), "{element}: {own:#?}");
    }
    for (file, part) in [
        ("Spliterators.java", "int[]#[1] = 9"),
        ("EnumMap.java", "[1] = "),
        ("RegularEnumSet.java", ".elements = 2"),
        ("Date.java", ".fastTime = 7"),
    ] {
        let all = accesses(&trace, file);
        assert!(all.iter().any(|access| access.contains(part)), "{part}: {all:#?}");
    }
}

#[test]
fn what_leaves_no_event_is_named() {
    let command = java::java(&compile_one("Ways.java", WAYS), "Dark");
    let doctor = ["doctor", "--"].into_iter().chain(command.iter().map(String::as_str));
    let told = run(&doctor.collect::<Vec<_>>()).with_code(0);
    for words in [
        "contents of java.nio buffers",
        "contents of java.util.Properties",
        "changes through views of concurrent maps",
    ] {
        let words = format!("used, but not seen: {words}");
        assert!(told.stdout.contains(&words), "not a word of '{words}': {told}");
    }
}
