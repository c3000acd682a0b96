//! Opening and creating: whatever a file is called, wherever it comes from, and what is said when
//! that does not work.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::assert_same;
use untorn_trace::formats::open::{
    CreateOptions, Input, OpenOptions, Output, create, open, open_known,
};
use untorn_trace::{Format, Strictness, Trace, TraceError};

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("untorn-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).expect("a temporary file");
        path
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the folder").map(|entry| entry.expect("entry"));
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const STD: &str = "T1|begin|1\nT1|r(x)|A.java:2\nT2|w(x)|3\nT1|end|4\n";

fn sample() -> Trace {
    Trace::read(&mut untorn_trace::formats::rapid::Reader::new(STD, Strictness::Strict))
        .expect("good")
}

fn read(path: &Path) -> Result<Trace, TraceError> {
    Trace::read(&mut *open(&Input::new(path), &OpenOptions::default())?)
}

fn message(result: Result<Trace, TraceError>, folder: &Folder) -> String {
    let text = result.expect_err("an error").to_string();
    text.replace(&format!("{}/", folder.0.display()), "")
}

#[test]
fn every_format_is_written_and_found_again() {
    let folder = Folder::new();
    let trace = sample();
    for name in ["a.std", "a.utr", "a.jsonl"] {
        for compression in ["", ".gz", ".zst"] {
            let path = folder.0.join(format!("{name}{compression}"));
            let mut sink = create(&Output::new(&path), &CreateOptions::default()).expect("created");
            trace.write(&mut *sink).expect("written");
            assert_same(&read(&path).expect("good"), &trace);
            // By content alone.
            let anonymous = folder.0.join("anonymous");
            fs::copy(&path, &anonymous).expect("copied");
            let (format, mut source) =
                open_known(&Input::new(&anonymous), &OpenOptions::default()).expect("opened");
            assert_eq!(Some(format), Format::from_path(&path));
            assert_same(&Trace::read(&mut *source).expect("good"), &trace);
        }
    }
    assert!(!folder.names().iter().any(|name| name.contains("partial")));
}

#[test]
fn compressed_files_are_compressed() {
    let folder = Folder::new();
    let trace = sample();
    for (name, magic) in [("a.std.gz", &[0x1f, 0x8b][..]), ("a.std.zst", &[0x28, 0xb5, 0x2f, 0xfd])]
    {
        let path = folder.0.join(name);
        let mut sink = create(&Output::new(&path), &CreateOptions::default()).expect("created");
        trace.write(&mut *sink).expect("written");
        assert!(fs::read(&path).expect("there").starts_with(magic));
    }
}

#[test]
fn a_compressed_file_that_is_cut_says_so() {
    let folder = Folder::new();
    let mut text = String::new();
    for i in 0..5000u32 {
        text += &format!("T1|w(V{})|{}\n", i.wrapping_mul(2_654_435_761) % 9973, i % 500);
    }
    let trace =
        Trace::read(&mut untorn_trace::formats::rapid::Reader::new(text, Strictness::Strict));
    let trace = trace.expect("good");
    for name in ["a.std.gz", "a.std.zst", "a.jsonl.gz"] {
        let path = folder.0.join(name);
        let mut sink = create(&Output::new(&path), &CreateOptions::default()).expect("created");
        trace.write(&mut *sink).expect("written");
        let bytes = fs::read(&path).expect("there");
        let path = folder.file(name, &bytes[..bytes.len() / 2]);
        let mut source = open(&Input::new(&path), &OpenOptions::default()).expect("opened");
        let read = Trace::read(&mut *source).expect("good so far");
        assert!(read.events.len() < 5000);
        assert_eq!(read.events, trace.events[..read.events.len()], "what is there is right");
        let cut = source.notes().cut.as_deref();
        assert_eq!(cut, Some("the compressed data ends before its end marker"), "{name}");
    }
}

#[test]
fn two_gzip_members_are_one_file() {
    let folder = Folder::new();
    let member = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    };
    let path = folder.file("a.gz", &[member(&STD[..24]), member(&STD[24..])].concat());
    assert_same(&read(&path).expect("good"), &sample());
}

#[test]
fn errors_name_the_file() {
    let folder = Folder::new();
    let path = folder.file("a.std", b"T1|r(x)|1\nT1|r(x\n");
    let expected = "a.std:2: expected '|' after the operation, found only \"r(x\"";
    assert_eq!(message(read(&path), &folder), expected);
    let path = folder.file("a.jsonl", b"{\"t\":1}\n");
    let expected = "a.jsonl:1: column 6: invalid type: integer `1`, expected a string";
    assert_eq!(message(read(&path), &folder), expected);
    let path = folder.file("a.data", b"\0\0\0");
    let expected = "a.data: byte 3: the file ends within its header of 18 bytes";
    assert_eq!(message(read(&path), &folder), expected);
    let path = folder.0.join("missing.std");
    assert_eq!(message(read(&path), &folder), "missing.std: no such file");
    fs::create_dir(folder.0.join("b.std")).expect("a folder");
    let path = folder.0.join("b.std");
    assert_eq!(message(read(&path), &folder), "b.std: is a directory, not a trace");
    let path = folder.file("a.std.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff]);
    assert_eq!(message(read(&path), &folder), "a.std.gz: corrupt deflate stream");
}

#[test]
fn creating_says_what_is_wrong() {
    let folder = Folder::new();
    let fail = |name: &str, format| {
        let output = Output::new(folder.0.join(name));
        let options = CreateOptions { format, ..CreateOptions::default() };
        let text = create(&output, &options).err().expect("an error").to_string();
        text.replace(&format!("{}/", folder.0.display()), "")
    };
    assert_eq!(fail("a.txt", None), "a.txt: the name does not say which format to write");
    assert_eq!(fail("a.data", None), "a.data: rapidbin can be read but not written");
    let text = fail("no/such/folder/a.std", None);
    assert!(text.starts_with("no/such/folder/a.std: cannot create it: "), "{text}");
    let text = fail(".", Some(Format::Rapid));
    assert!(text.contains("cannot create it: "), "{text}");
}

#[test]
fn an_unfinished_file_is_not_there() {
    let folder = Folder::new();
    let path = folder.file("a.std.gz", b"precious");
    let trace = sample();
    let mut sink = create(&Output::new(&path), &CreateOptions::default()).expect("created");
    sink.write(&trace.tables, &trace.events).expect("written");
    assert_eq!(fs::read(&path).expect("there"), b"precious");
    drop(sink);
    assert_eq!(fs::read(&path).expect("there"), b"precious");
    assert_eq!(folder.names(), ["a.std.gz"]);
}

#[test]
fn empty_files_are_empty_traces() {
    let folder = Folder::new();
    for name in ["a.std", "a.jsonl", "a"] {
        assert!(read(&folder.file(name, b"")).expect("good").events.is_empty());
    }
}

#[test]
fn the_asked_format_wins() {
    let folder = Folder::new();
    let path = folder.file("a.jsonl", STD.as_bytes());
    let options = OpenOptions { format: Some(Format::Rapid), ..OpenOptions::default() };
    let mut source = open(&Input::new(&path), &options).expect("opened");
    assert_same(&Trace::read(&mut *source).expect("good"), &sample());
}

#[cfg(unix)]
#[test]
fn pipes_and_links_work() {
    let folder = Folder::new();
    let pipe = folder.0.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let trace = sample();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read(&pipe));
        let options = CreateOptions { format: Some(Format::Rapid), ..CreateOptions::default() };
        let mut sink = create(&Output::new(&pipe), &options).expect("created");
        trace.write(&mut *sink).expect("written");
        drop(sink);
        assert_same(&reader.join().expect("no panic").expect("good"), &trace);
    });

    let real = folder.file("real.std", b"");
    let link = folder.0.join("link.std");
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    let mut sink = create(&Output::new(&link), &CreateOptions::default()).expect("created");
    trace.write(&mut *sink).expect("written");
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&real).expect("there"), STD);
}

#[test]
fn formats_have_names() {
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Some(format));
        assert_eq!(Format::from_path(Path::new(&format!("x.{format}.zst"))), Some(format));
    }
    assert_eq!(Format::from_path(Path::new("x.gz")), None);
    assert_eq!(Format::from_path(Path::new("TRACE.STD")), Some(Format::Rapid));
}
