//! A real JVM takes what we write: it verifies every class, and programs behave as before.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::common::instrument::{Filling, Variant};
use untorn_bytecode::{ClassFile, Tag, access, op};
use untorn_testkit::class_file::{Body, Maker};

const PLAIN: Variant = Variant {
    filling: Filling::Nothing,
    replace: false,
    wrap: false,
    monitors: false,
    probe: "Probe",
};

const VARIANTS: [Variant; 7] = [
    PLAIN,
    Variant { filling: Filling::Nops, ..PLAIN },
    Variant { filling: Filling::Constants, ..PLAIN },
    Variant { filling: Filling::Calls, ..PLAIN },
    Variant { replace: true, wrap: true, ..PLAIN },
    Variant { monitors: true, ..PLAIN },
    Variant { filling: Filling::Calls, replace: true, wrap: true, monitors: true, ..PLAIN },
];

fn java_sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/java")
}

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Runs a tool of the JDK; what it printed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
    out
}

fn tool(name: &str) -> Command {
    Command::new(untorn_testkit::java::home().join("bin").join(name))
}

fn class_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the compiler made a folder")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "class"))
        .collect();
    files.sort();
    files
}

/// The samples as the JDK's compiler makes them by default, and for Java 8.
static SAMPLES: LazyLock<PathBuf> = LazyLock::new(|| compile_samples("samples", &[]));
static SAMPLES_8: LazyLock<PathBuf> =
    LazyLock::new(|| compile_samples("samples-java8", &["--release", "8"]));

fn compile_samples(name: &str, flags: &[&str]) -> PathBuf {
    let to = folder(name);
    let mut javac = tool("javac");
    javac.args(["-g", "-nowarn", "-Xlint:-options", "-d"]).arg(&to).args(flags);
    for source in ["Samples", "Probe", "Main", "LoadAll"] {
        javac.arg(java_sources().join(source).with_extension("java"));
    }
    run(&mut javac);
    to
}

/// Whether a class has nothing that Java 5 did not know.
fn is_old_style(bytes: &[u8]) -> bool {
    let class = ClassFile::parse(bytes).expect("javac's classes are well-formed");
    let mut indices = 1..class.pool().count();
    class.access() & access::INTERFACE == 0
        && !indices.any(|index| class.pool().tag(index) == Some(Tag::InvokeDynamic))
}

/// Writes the classes of one folder to another, the samples' instrumented and, if they allow it,
/// of another version.
fn instrument_samples(from: &Path, to: &Path, variant: &Variant, major: Option<u8>) {
    for file in class_files(from) {
        let name = file.file_name().expect("a file");
        let mut bytes = fs::read(&file).expect("a class file");
        if name.to_string_lossy().starts_with("Samples") {
            if let Some(major) = major.filter(|_| is_old_style(&bytes)) {
                bytes[7] = major;
            }
            let class = ClassFile::parse(&bytes).expect("javac's classes are well-formed");
            let rewritten = variant.apply(&class);
            assert_eq!(rewritten.skipped, [], "{name:?} {variant:?}");
            bytes = rewritten.bytes;
        }
        fs::write(to.join(name), bytes).expect("a file for the test");
    }
}

fn run_samples(folder: &Path, flags: &[&str]) -> String {
    let mut java = tool("java");
    run(java.current_dir(folder).arg("-Xverify:all").args(flags).arg("-cp").arg(folder).arg("Main"))
}

#[test]
fn samples_verify_and_behave_as_before() {
    for plain in [&*SAMPLES, &*SAMPLES_8] {
        let expected = run_samples(plain, &[]);
        assert!(expected.ends_with("open wraps: 0\n"), "{expected}");
        for (nth, variant) in VARIANTS.iter().enumerate() {
            let edited = folder(&format!("{}-{nth}", plain.display()));
            instrument_samples(plain, &edited, variant, None);
            assert_eq!(run_samples(&edited, &[]), expected, "{variant:?}");
        }
    }
}

/// Classes of Java 5 have no stack maps that count; the JVM finds the types by itself.
#[test]
fn old_classes_verify_and_behave_as_before() {
    let expected = run_samples(&SAMPLES_8, &[]);
    for (nth, variant) in [VARIANTS[2], VARIANTS[6]].iter().enumerate() {
        let edited = folder(&format!("old-{nth}"));
        instrument_samples(&SAMPLES_8, &edited, variant, Some(49));
        assert_eq!(run_samples(&edited, &[]), expected, "{variant:?}");
    }
}

/// Prints 5, 6 and 7, each by a subroutine, as compilers of old did for `finally`.
fn class_with_subroutines() -> Vec<u8> {
    let mut maker = Maker::new(48);
    let out = maker.member(9, "java/lang/System", "out", "Ljava/io/PrintStream;") as u8;
    let print = maker.member(10, "java/io/PrintStream", "println", "(I)V") as u8;
    #[rustfmt::skip]
    let code = [
        op::ICONST_5, op::ISTORE_1, // 0
        op::JSR, 0, 14, // 2 → 16
        op::IINC, 1, 1, // 5
        op::ILOAD_1, // 8
        op::BIPUSH, 8, // 9
        op::IF_ICMPLT, 0xff, 0xf7, // 11 → 2
        op::RETURN, // 14
        op::NOP, // 15
        op::ASTORE_2, // 16
        op::GETSTATIC, 0, out, // 17
        op::ILOAD_1, // 20
        op::INVOKEVIRTUAL, 0, print, // 21
        op::RET, 2, // 24
    ];
    maker.method(&Body {
        name: "main",
        descriptor: "([Ljava/lang/String;)V",
        access: access::PUBLIC | access::STATIC,
        ..Body::new(code)
    });
    maker.finish()
}

#[test]
fn subroutines_verify_and_behave_as_before() {
    let bytes = class_with_subroutines();
    let class = ClassFile::parse(&bytes).expect("the class is well-formed");
    for (nth, variant) in VARIANTS.iter().enumerate() {
        let edited = folder(&format!("subroutines-{nth}"));
        let rewritten = variant.apply(&class);
        assert_eq!(rewritten.skipped, [], "{variant:?}");
        fs::write(edited.join("Made.class"), rewritten.bytes).expect("a file for the test");
        fs::copy(SAMPLES.join("Probe.class"), edited.join("Probe.class")).expect("a copy");
        let found = run(tool("java").args(["-Xverify:all", "-cp"]).arg(&edited).arg("Made"));
        assert_eq!(found, "5\n6\n7\n", "{variant:?}");
    }
}

/// HotSpot's compilers leave methods to the interpreter whose monitors they cannot match. A method
/// that they take as it is must be one that they take instrumented.
#[test]
fn compilers_take_the_samples() {
    for (nth, variant) in [VARIANTS[0], VARIANTS[5], VARIANTS[6]].iter().enumerate() {
        let edited = folder(&format!("compiled-{nth}"));
        instrument_samples(&SAMPLES, &edited, variant, None);
        for compiler in ["-XX:-TieredCompilation", "-XX:TieredStopAtLevel=1"] {
            let only = "-XX:CompileCommand=compileonly,Samples*::*";
            let flags = ["-Xcomp", "-XX:+PrintCompilation", "-XX:CompileCommand=quiet", only];
            let log = run_samples(&edited, &[&flags[..], &[compiler]].concat());
            assert!(log.contains("Samples::varied"), "nothing was compiled: {log}");
            let mut lines = log.lines();
            let skipped = lines.find(|line| line.contains("COMPILE SKIPPED"));
            assert_eq!(skipped, None, "{compiler} {variant:?}");
        }
    }
}

/// The modules whose classes are instrumented and loaded: java.base, or all in a soak.
fn is_tried(module: &str) -> bool {
    module == "java.base" || untorn_testkit::is_soak()
}

/// The JVM itself runs on instrumented classes here: every method of java.base is wrapped, every
/// synchronized one takes its monitor itself, and calls stand before and after every instruction.
#[test]
fn the_jdk_verifies_and_runs() {
    let patches = folder("jdk");
    let base = patches.join("java.base");
    fs::create_dir_all(&base).expect("a folder for the test");
    let probe = java_sources().join("patch");
    run(tool("javac")
        .arg("--patch-module")
        .arg(format!("java.base={}", probe.display()))
        .arg("-d")
        .arg(&base)
        .arg(probe.join("java/lang/UntornTestProbe.java")));
    let variant = Variant {
        filling: Filling::Calls,
        replace: true,
        wrap: true,
        monitors: true,
        probe: "java/lang/UntornTestProbe",
    };
    let (names, modules) = instrument_jdk(&patches, &variant);
    let list = patches.join("classes.txt");
    fs::write(&list, names.join("\n")).expect("a file for the test");

    let expected = run_samples(&SAMPLES, &[]);
    let mut patched: Vec<String> = modules
        .iter()
        .map(|module| format!("--patch-module={module}={}", patches.join(module).display()))
        .collect();
    if modules.len() > 1 {
        patched.push("--add-modules=ALL-SYSTEM".to_owned());
    }
    let flags: Vec<&str> = patched.iter().map(String::as_str).collect();
    assert_eq!(run_samples(&SAMPLES, &flags), expected, "the samples on an instrumented JDK");

    let mut java = tool("java");
    java.current_dir(&patches).arg("-Xverify:all").args(&flags);
    let loaded = run(java.arg("-cp").arg(&*SAMPLES).arg("LoadAll").arg(&list));
    let expected = format!("linked {} failed 0\n", names.len());
    assert!(loaded.ends_with(&expected), "{loaded}");
}

/// Instruments the JDK's classes, each module's to a folder of its own; the names of the classes
/// and of the modules.
fn instrument_jdk(to: &Path, variant: &Variant) -> (Vec<String>, Vec<String>) {
    let image = crate::common::jdk_image();
    let (mut names, mut modules) = (Vec::new(), Vec::new());
    let (mut methods, mut skipped) = (0, 0);
    for resource in image.classes() {
        let resource = resource.expect("the JDK's image is sound");
        if !is_tried(resource.module) || resource.base == "module-info" {
            continue;
        }
        let class = ClassFile::parse(resource.bytes).expect("the JDK's classes are well-formed");
        let rewritten = variant.apply(&class);
        methods += class.methods().len();
        skipped += rewritten.skipped.len();
        let path = to.join(resource.module).join(resource.path());
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder");
        fs::write(&path, rewritten.bytes).expect("a file for the test");
        names.push(class.name().replace('/', "."));
        if !modules.iter().any(|module| module == resource.module) {
            modules.push(resource.module.to_owned());
        }
    }
    assert!(skipped * 200 < methods, "{skipped} of {methods} methods could not be laid out");
    (names, modules)
}
