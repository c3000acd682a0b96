//! `.utr`: what goes in comes out; a cut file reads to its last whole section; a flipped bit is
//! never another trace.

use crate::common::{self, anything};
use untorn_testkit::{Knobs, Rng, TraceGen, name_tables};
use untorn_trace::formats::utr::{Compression, Reader, Writer};
use untorn_trace::{
    CodePosition, Event, Notes, RunMeta, Site, SiteId, Source, Strictness, Tables, Trace,
    TraceError, Value, ValueKind, VarFacts, VarId,
};

/// A random trace with everything that tables can contain.
fn random_trace(knobs: Knobs, seed: u64) -> Trace {
    let mut rng = Rng::new(seed ^ 0x5eed);
    let mut events = TraceGen::new(knobs).generate(seed).to_vec();
    let mut tables = name_tables(&events);
    for (i, line) in [(0, 14), (1, 15), (2, 0)] {
        tables.sites.intern(&Site {
            file: "Account.java",
            line,
            method: "withdraw",
            class: "bank.Account",
            position: CodePosition::Bytecode { descriptor: "(I)V", offset: Some(line) },
            ..Site::default()
        });
        if let Some(event) = events.get_mut(i) {
            event.site = SiteId(rng.below(3));
        }
    }
    for var in 0..tables.vars.len() {
        let initial = (rng.below(2) == 0).then(|| Value(rng.bits()));
        let kind = if rng.below(2) == 0 { ValueKind::Double } else { ValueKind::Ref };
        tables.set_var_facts(VarId::from_index(var), VarFacts::new(kind, initial));
    }
    tables.meta = RunMeta {
        command: vec!["java".into(), "Bank".into()],
        seed: Some(seed),
        front_end: "generate".into(),
        ..RunMeta::default()
    };
    Trace { tables, events }
}

fn encode(trace: &Trace, compression: Compression) -> Vec<u8> {
    let mut bytes = Vec::new();
    trace.write(&mut Writer::new(&mut bytes, compression)).expect("memory takes it all");
    bytes
}

fn decode(bytes: &[u8], strictness: Strictness) -> (Result<Trace, TraceError>, Notes) {
    let mut reader = Reader::new(bytes.to_vec(), strictness);
    let trace = Trace::read(&mut reader);
    (trace, reader.notes().clone())
}

fn assert_same(found: &Trace, expected: &Trace) {
    assert_eq!(found.events, expected.events);
    assert_same_tables(&found.tables, &expected.tables);
}

fn assert_same_tables(found: &Tables, expected: &Tables) {
    let names = |tables: &Tables| -> Vec<String> {
        let threads = tables.threads.iter().chain(tables.vars.iter());
        threads.chain(tables.locks.iter()).chain(tables.labels.iter()).map(str::to_owned).collect()
    };
    assert_eq!(names(found), names(expected));
    assert_eq!(found.sites.len(), expected.sites.len());
    for i in 0..found.sites.len() {
        let id = SiteId::from_index(i);
        assert_eq!(found.sites.get(id), expected.sites.get(id));
    }
    assert_eq!(found.all_var_facts(), expected.all_var_facts());
    assert_eq!(found.meta, expected.meta);
}

#[test]
fn what_goes_in_comes_out() {
    for seed in 0..3000 {
        let trace = random_trace(Knobs::small(), seed);
        for compression in [Compression::None, Compression::Zstd] {
            let bytes = encode(&trace, compression);
            let (found, notes) = decode(&bytes, Strictness::Strict);
            assert_same(&found.expect("our own file"), &trace);
            assert!(notes.cut.is_none());
            let mut stream =
                Reader::stream(Box::new(std::io::Cursor::new(bytes)), Strictness::Strict);
            assert_same(&Trace::read(&mut stream).expect("the same from a stream"), &trace);
        }
    }
}

/// Whether the trace makes sense or not.
#[test]
fn everything_that_a_trace_can_say_comes_out() {
    let mut rng = Rng::new(7);
    for _ in 0..3000 {
        let trace = anything::random_trace(&mut rng);
        let (found, _) = decode(&encode(&trace, Compression::None), Strictness::Strict);
        common::assert_same(&found.expect("our own file"), &trace);
    }
}

/// Writes in pieces while the tables grow, as a recorder does.
#[test]
fn tables_may_grow_between_writes() {
    use untorn_trace::{Op, Sink, ThreadId};
    let mut tables = Tables::default();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Compression::None);
    let mut events = Vec::new();
    for i in 0..80_000_u32 {
        let var = tables.vars.push(&format!("v{i}"));
        if i < 100 {
            tables.threads.push("same name");
        }
        let event = Event::new(ThreadId(i % 100), Op::write(var), SiteId::NONE);
        events.push(event);
        writer.write(&tables, &[event]).expect("memory takes it");
    }
    writer.finish(&tables).expect("memory takes it");
    let (found, _) = decode(&bytes, Strictness::Strict);
    // Thread 99 is defined after its first use would be: the block is written when it is full.
    assert_same(&found.expect("our own file"), &Trace { tables, events });
}

#[test]
fn an_empty_trace_is_a_trace() {
    let (found, notes) = decode(&encode(&Trace::default(), Compression::None), Strictness::Strict);
    assert!(found.expect("our own file").events.is_empty());
    assert!(notes.cut.is_none());
}

#[test]
fn a_file_cut_at_any_byte_reads_to_its_last_whole_section() {
    let knobs = Knobs { events: 80_000..=80_000, ..Knobs::medium() };
    let trace = random_trace(knobs, 7);
    let bytes = encode(&trace, Compression::Zstd);
    let mut lengths = std::collections::BTreeSet::new();
    // Every byte near a border of sections, and every 97th in between.
    for len in
        (0..bytes.len()).filter(|len| *len < 200 || len % 97 == 0 || *len + 100 > bytes.len())
    {
        let (found, notes) = decode(&bytes[..len], Strictness::Strict);
        if len < 16 {
            assert!(found.is_err(), "a file without its header is no file");
            continue;
        }
        let found = found.expect("a cut file is readable");
        assert_eq!(found.events, trace.events[..found.events.len()], "cut at {len}");
        assert!(notes.cut.expect("a cut is said").contains("events before are good"));
        lengths.insert(found.events.len());
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [0, 32_768, 65_536, trace.events.len()]);
}

#[test]
fn a_small_file_cut_at_every_byte_says_so() {
    let trace = random_trace(Knobs::small(), 3);
    for compression in [Compression::None, Compression::Zstd] {
        let bytes = encode(&trace, compression);
        for len in 0..bytes.len() {
            let (found, notes) = decode(&bytes[..len], Strictness::Strict);
            assert!(found.is_err() || notes.cut.is_some(), "cut at {len} of {}", bytes.len());
        }
    }
}

#[test]
fn a_flipped_bit_is_an_error() {
    for (seed, compression) in
        [(1, Compression::None), (2, Compression::Zstd), (3, Compression::None)]
    {
        let bytes = encode(&random_trace(Knobs::small(), seed), compression);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let (found, _) = decode(&flipped, Strictness::Strict);
            assert!(found.is_err(), "bit {bit} of {}", bytes.len() * 8);
            let (lenient, notes) = decode(&flipped, Strictness::Lenient);
            assert!(lenient.is_err() || notes.cut.is_some(), "bit {bit}, lenient");
        }
    }
}

/// Mutates the payloads and repairs the checksums: whatever comes out, nothing panics, and no id
/// is handed out that the tables do not define.
#[test]
fn soak_a_malicious_file_does_no_harm() {
    let rounds = untorn_testkit::cases(200_000, 4_000_000);
    let bytes = encode(&random_trace(Knobs::small(), 11), Compression::None);
    let mut rng = Rng::new(1);
    for _ in 0..rounds {
        let mut bad = bytes.clone();
        for _ in 0..=rng.below(3) {
            let at = 16 + rng.below(bad.len() as u32 - 16) as usize;
            bad[at] =
                if rng.below(2) == 0 { rng.bits() as u8 } else { bad[at] ^ (1 << rng.below(8)) };
        }
        repair(&mut bad);
        let mut reader = Reader::new(bad, Strictness::Strict);
        if let Ok(trace) = Trace::read(&mut reader) {
            for event in &trace.events {
                check_ids(event, &trace.tables);
            }
        }
    }
}

fn check_ids(event: &Event, tables: &Tables) {
    use untorn_trace::Op;
    assert!(tables.threads.get(event.thread).is_some());
    match event.op {
        Op::Read { var, .. } | Op::Write { var, .. } => assert!(tables.vars.get(var).is_some()),
        Op::Acquire { lock, .. } | Op::Release { lock, .. } | Op::Wait { lock } => {
            assert!(tables.locks.get(lock).is_some());
        }
        Op::Fork { child } | Op::Join { child } => assert!(tables.threads.get(child).is_some()),
        _ => {}
    }
}

/// Sets the checksums of all sections that can be found to what they should be.
fn repair(bytes: &mut [u8]) {
    let mut at = 16;
    while at + 24 <= bytes.len() {
        let stored =
            u32::from_le_bytes(bytes[at + 8..at + 12].try_into().expect("4 bytes")) as usize;
        let end = (at + 24).saturating_add(stored).min(bytes.len());
        let sum = crc32c::crc32c(&bytes[at + 24..end]);
        bytes[at + 16..at + 20].copy_from_slice(&sum.to_le_bytes());
        let sum = crc32c::crc32c(&bytes[at..at + 20]);
        bytes[at + 20..at + 24].copy_from_slice(&sum.to_le_bytes());
        at = end;
    }
}

#[test]
fn a_whole_file_knows_whether_it_is_well_formed() {
    let mut trace = random_trace(Knobs::medium(), 1);
    let is_well_formed = |trace: &Trace, cut: usize| {
        let bytes = encode(trace, Compression::None);
        Reader::new(bytes[..bytes.len() - cut].to_vec(), Strictness::Strict).is_well_formed()
    };
    assert!(is_well_formed(&trace, 0));
    assert!(!is_well_formed(&trace, 1), "a cut file has lost its end marker");
    let thread = trace.events[0].thread;
    trace.events.push(Event::new(thread, untorn_trace::Op::Join { child: thread }, SiteId::NONE));
    assert!(!is_well_formed(&trace, 0), "a thread cannot join itself");
}

#[test]
fn a_whole_file_knows_how_many_events_it_has() {
    let trace = random_trace(Knobs::medium(), 1);
    let bytes = encode(&trace, Compression::None);
    let total = |bytes: &[u8]| Reader::new(bytes.to_vec(), Strictness::Strict).event_total();
    assert_eq!(total(&bytes), Some(trace.events.len() as u64));
    assert_eq!(total(&bytes[..bytes.len() - 1]), None, "a cut file has lost its end marker");
}

/// A section with the right checksums.
fn section(kind: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_vec();
    bytes.extend([0; 4]);
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(payload);
    let mut file = vec![0; 16];
    file.extend(&bytes);
    repair(&mut file);
    file.split_off(16)
}

#[test]
fn unknown_sections_are_skipped_or_refused_by_their_case() {
    let trace = random_trace(Knobs::small(), 5);
    let bytes = encode(&trace, Compression::None);
    let with = |kind| [&bytes[..16], &section(kind, b"from the future"), &bytes[16..]].concat();
    let (found, _) = decode(&with(b"futr"), Strictness::Strict);
    assert_same(&found.expect("a section that may be skipped"), &trace);
    let (found, _) = decode(&with(b"Futr"), Strictness::Strict);
    let error = found.expect_err("a section that may not be skipped").to_string();
    assert!(error.starts_with("byte 16: in section Futr:"), "{error}");
    assert!(error.contains("newer untorn"), "{error}");
}

#[test]
fn errors_say_what_and_where() {
    let bytes = encode(&random_trace(Knobs::small(), 5), Compression::None);
    let error = |bytes: &[u8]| decode(bytes, Strictness::Strict).0.expect_err("bad").to_string();
    assert_eq!(
        error(b"T0|begin|1\nT0|w(x)|2\n"),
        "byte 0: this is not a .utr file: it does not start with the .utr mark"
    );
    assert_eq!(error(b"\x89UTR"), "byte 0: the file ends inside of its header");
    let mut newer = bytes.clone();
    newer[8] = 9;
    let sum = crc32c::crc32c(&newer[..12]);
    newer[12..16].copy_from_slice(&sum.to_le_bytes());
    assert!(error(&newer).contains("format version 9, this program reads version 3"));
    let trailing = [&bytes[..], b"x"].concat();
    assert!(error(&trailing).contains("bytes behind the end marker"));
}

#[test]
fn an_error_is_repeated() {
    let mut bytes = encode(&random_trace(Knobs::small(), 5), Compression::None);
    let last = bytes.len() - 40;
    bytes[last] ^= 1;
    let mut reader = Reader::new(bytes, Strictness::Strict);
    let mut batch = Vec::new();
    let first = loop {
        if let Err(error) = reader.read(&mut batch) {
            break error.to_string();
        }
    };
    assert_eq!(reader.read(&mut batch).expect_err("still bad").to_string(), first);
}
