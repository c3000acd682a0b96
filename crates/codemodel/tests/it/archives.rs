//! Classes in folders, jars, and jars within jars; and what is none of these.

use std::io::Write;
use std::path::{Path, PathBuf};

use untorn_codemodel::{Archives, LoadError, Origin};
use untorn_testkit::java;
use untorn_testkit::rng::Rng;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

fn jar(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer.start_file(*name, SimpleFileOptions::default()).expect("a file begins");
        writer.write_all(bytes).expect("in memory");
    }
    writer.finish().expect("in memory").into_inner()
}

/// The classes of the listings of `compositions`, in a folder of this name.
fn compiled(name: &str) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    java::compile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/java/compose"), &out);
    out
}

fn class(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(format!("{name}.class"))).expect("compiled")
}

#[test]
fn jars_within_jars_are_libraries() {
    let classes = compiled("archives");
    let folder = scratch("nested");
    let (context, net) = (class(&classes, "Context"), class(&classes, "Net"));
    let inner = jar(&[("Net.class", &net)]);
    let outer = jar(&[
        ("BOOT-INF/classes/Context.class", &context),
        ("BOOT-INF/lib/inner.jar", &inner),
        ("META-INF/versions/21/Context.class", &net),
        ("module-info.class", &net),
        ("readme.txt", b"nothing"),
    ]);
    let path = folder.join("app.jar");
    std::fs::write(&path, outer).expect("written");
    let mut archives = Archives::default();
    archives.add(&path, Origin::Application).expect("a jar");
    let found: Vec<(Origin, usize)> =
        archives.classes.iter().map(|class| (class.origin, class.bytes.len())).collect();
    let expected = [(Origin::Application, context.len()), (Origin::Library, net.len())];
    assert_eq!(found, expected);
    assert_eq!(archives.unreadable, 0);
}

#[test]
fn what_is_no_archive_is_an_error_that_names_it() {
    let folder = scratch("no-archives");
    let error = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).expect("written");
        let error = Archives::default().add(&path, Origin::Application).expect_err("no classes");
        assert!(error.to_string().contains(name), "{error}");
        error
    };
    assert!(matches!(error("text", b"hello"), LoadError::Kind { .. }));
    assert!(matches!(error("empty", b""), LoadError::Kind { .. }));
    assert!(matches!(error("cut.jar", b"PK\x03\x04"), LoadError::Read { .. }));
    assert!(matches!(error("empty.jar", &jar(&[])), LoadError::Empty { .. }));
    let missing = Archives::default().add(&folder.join("missing"), Origin::Library);
    assert!(matches!(missing, Err(LoadError::Read { .. })));
}

/// Broken jars are errors, or are read as far as they go.
#[test]
fn broken_jars_do_no_harm() {
    let classes = compiled("archives-broken");
    let inner = jar(&[("Net.class", &class(&classes, "Net"))]);
    let whole = jar(&[("Context.class", &class(&classes, "Context")), ("lib/inner.jar", &inner)]);
    let path = scratch("broken-jars").join("broken.jar");
    let mut rng = Rng::new(7);
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(bytes.len() as u32) as usize;
            bytes[at] = rng.bits() as u8;
        }
        if rng.chance(32) {
            bytes.truncate(rng.below(bytes.len() as u32) as usize);
        }
        std::fs::write(&path, bytes).expect("written");
        let _ = Archives::default().add(&path, Origin::Application);
    }
}
