//! RAPID's binary format: bit fields, bounds, cuts, and headers that lie.

use crate::common::{Outcome, Pieces, drain, mutate};
use untorn_testkit::Rng;
use untorn_trace::formats::rapid_bin::Reader;
use untorn_trace::{Event, LabelId, LockId, Op, Strictness, ThreadId, VarId};

struct Header {
    threads: i16,
    locks: i32,
    vars: i32,
    events: i64,
}

/// Thread, operation, target, location.
type Record = (u64, u64, u64, u64);

fn encode(header: &Header, records: &[Record]) -> Vec<u8> {
    let mut bytes = header.threads.to_be_bytes().to_vec();
    bytes.extend(header.locks.to_be_bytes());
    bytes.extend(header.vars.to_be_bytes());
    bytes.extend(header.events.to_be_bytes());
    for (thread, op, target, loc) in records {
        bytes.extend((loc << 48 | target << 14 | op << 10 | thread).to_be_bytes());
    }
    bytes
}

fn header(events: usize) -> Header {
    Header { threads: 1000, locks: 50, vars: i32::MAX, events: events as i64 }
}

fn read(bytes: &[u8], strictness: Strictness) -> Outcome {
    drain(&mut Reader::new(bytes.to_vec(), strictness))
}

const ALL: [Record; 10] = [
    (0, 6, 0, 1),
    (0, 8, 49, 2),
    (0, 0, 49, 3),
    (0, 2, 7, 4),
    (999, 3, 2_000_000_000, 32_767),
    (0, 1, 49, 5),
    (0, 4, 998, 6),
    (0, 5, 998, 0),
    (0, 7, 12_345, 1),
    (999, 2, 2_000_000_000, 4),
];

#[test]
fn every_operation_is_read() {
    let Outcome { events, tables, error, notes } =
        read(&encode(&header(10), &ALL), Strictness::Strict);
    assert!(error.is_none() && notes.cut.is_none());
    let lock = tables.locks.clone().find("L49").expect("named");
    let [seven, large] = ["V7", "V2000000000"].map(|v| tables.vars.clone().find(v).expect("named"));
    let child = tables.threads.clone().find("T998").expect("named");
    let [first, last] = ["T0", "T999"].map(|t| tables.threads.clone().find(t).expect("named"));
    let ops = [
        (first, Op::begin(LabelId::NONE), "1"),
        (first, Op::Request { lock }, "2"),
        (first, Op::acquire(lock), "3"),
        (first, Op::read(seven), "4"),
        (last, Op::write(large), "32767"),
        (first, Op::release(lock), "5"),
        (first, Op::Fork { child }, "6"),
        (first, Op::Join { child }, "0"),
        (first, Op::End { label: LabelId::NONE }, "1"),
        (last, Op::read(large), "4"),
    ];
    let found = events.iter().map(|event| (event.thread, event.op, tables.site_text(event.site)));
    let found = found.collect::<Vec<(ThreadId, Op, String)>>();
    assert_eq!(found, ops.map(|(thread, op, loc)| (thread, op, loc.to_owned())));
}

#[test]
fn many_events_come_in_order_in_pieces_of_any_size() {
    let records = (0..10_000u64).map(|i| (i % 7, 2 + i % 2, i * i % 5000, i % 400));
    let bytes = encode(&header(10_000), &records.clone().collect::<Vec<_>>());
    let check = |outcome: Outcome| {
        assert_eq!(outcome.events.len(), 10_000);
        for (event, (thread, op, var, loc)) in outcome.events.iter().zip(records.clone()) {
            let tables = &outcome.tables;
            let target = match event.op {
                Op::Read { var, .. } if op == 2 => var,
                Op::Write { var, .. } if op == 3 => var,
                op => panic!("{op:?}"),
            };
            assert_eq!(tables.vars.get(target), Some(format!("V{var}").as_str()));
            assert_eq!(tables.threads.get(event.thread), Some(format!("T{thread}").as_str()));
            assert_eq!(tables.site_text(event.site), loc.to_string());
        }
    };
    check(read(&bytes, Strictness::Strict));
    for size in [1, 7, 8, 19, 100_000] {
        check(drain(&mut Reader::stream(Pieces::stream(&bytes, size), Strictness::Strict)));
    }
}

#[test]
fn faults_are_located_and_can_be_passed_over() {
    let good = (0, 2, 7, 4);
    let cases: [(Record, &str); 5] = [
        ((1000, 2, 7, 4), "byte 26: thread 1000, but the header says that there are 1000"),
        ((0, 0, 50, 4), "byte 26: lock 50, but the header says that there are 50"),
        (
            (0, 2, 1 << 33, 4),
            "byte 26: variable 8589934592, but the header says that there are 2147483647",
        ),
        ((0, 9, 7, 4), "byte 26: unknown operation 9"),
        ((0, 2, 7, 1 << 15), "byte 26: the sign bit of an event is set"),
    ];
    for (record, message) in cases {
        let bytes = encode(&header(3), &[good, record, good]);
        let outcome = read(&bytes, Strictness::Strict);
        assert_eq!(outcome.error.expect("an error").to_string(), message);
        assert_eq!(outcome.events.len(), 1);
        let outcome = read(&bytes, Strictness::Lenient);
        assert_eq!((outcome.events.len(), outcome.notes.skipped), (2, 1));
        assert_eq!(outcome.notes.first_skipped, [message]);
    }
    let bytes = encode(&header(1), &[good, good]);
    let outcome = read(&bytes, Strictness::Strict);
    let message = "byte 26: more bytes than the events that the header announces";
    assert_eq!(outcome.error.expect("an error").to_string(), message);
    let outcome = read(&bytes, Strictness::Lenient);
    assert_eq!((outcome.events.len(), outcome.notes.skipped), (1, 1));
}

#[test]
fn cut_at_every_byte_it_reads_what_is_there() {
    let bytes = encode(&header(10), &ALL);
    for end in 0..bytes.len() {
        let outcome = read(&bytes[..end], Strictness::Strict);
        if end < 18 {
            let message = format!("byte {end}: the file ends within its header of 18 bytes");
            assert_eq!(outcome.error.expect("an error").to_string(), message);
        } else {
            let whole = (end - 18) / 8;
            assert!(outcome.error.is_none());
            assert_eq!(outcome.events.len(), whole);
            let cut = format!("the file ends after {whole} of 10 events");
            assert_eq!(outcome.notes.cut.as_deref(), Some(cut.as_str()));
        }
    }
}

/// What the header merely claims costs nothing, and neither does one large number.
#[test]
fn a_header_is_not_believed() {
    let header = Header { threads: i16::MAX, locks: i32::MAX, vars: i32::MAX, events: i64::MAX };
    let outcome = read(&encode(&header, &[(0, 2, (1 << 31) - 2, 4)]), Strictness::Strict);
    assert_eq!(outcome.events.len(), 1);
    assert_eq!(outcome.tables.vars.len(), 1);
    let header = Header { threads: -1, ..header };
    let error = read(&encode(&header, &[]), Strictness::Lenient).error.expect("an error");
    assert_eq!(error.to_string(), "byte 0: the header says that there are -1 threads");
}

/// 200 000 mutated files in each mode.
#[test]
fn mutated_files_do_no_harm() {
    let mut rng = Rng::new(6);
    let good = encode(&header(10), &ALL);
    for _ in 0..200_000 {
        let bytes = mutate(&good, &[0, 1, 0x7f, 0x80, 0xff], &mut rng);
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let outcome = read(&bytes, strictness);
            assert!(outcome.events.len() <= bytes.len() / 8);
            assert!(outcome.tables.vars.len() <= outcome.events.len());
            let known = |event: &Event| match event.op {
                Op::Read { var: VarId(id), .. } | Op::Write { var: VarId(id), .. } => {
                    (id as usize) < outcome.tables.vars.len()
                }
                Op::Acquire { lock: LockId(id), .. } => (id as usize) < outcome.tables.locks.len(),
                _ => true,
            };
            assert!(outcome.events.iter().all(known));
        }
    }
}
