//! STD text: the fast path accepts exactly the grammar, wherever the input is cut
//! into pieces; what is written is what was read.

use crate::common::{Outcome, Pieces, drain, mutate};
use untorn_testkit::Rng;
use untorn_trace::formats::rapid::{Line, LineOp, Reader, Writer};
use untorn_trace::{
    Access, Event, Hold, LabelId, LockId, Lossy, Op, Sink, SiteId, Source, Strictness, Tables,
    ThreadId, Trace, Value, VarId,
};

fn read(text: &[u8], strictness: Strictness) -> Outcome {
    drain(&mut Reader::new(text.to_vec(), strictness))
}

/// Events with their names, shown as the [`Line`]s that give them.
fn named(outcome: &Outcome) -> Vec<String> {
    let tables = &outcome.tables;
    let var = |id| tables.vars.get(id).expect("a variable");
    let lock = |id| tables.locks.get(id).expect("a lock");
    let thread = |id| tables.threads.get(id).expect("a thread");
    let label = |id| (id != LabelId::NONE).then(|| tables.labels.get(id).expect("a label"));
    let line = |event: &Event| {
        let op = match event.op {
            op if op == Op::read(target(&op)) => LineOp::Read(var(target(&op))),
            op if op == Op::write(target(&op)) => LineOp::Write(var(target(&op))),
            Op::Acquire { lock: id, hold: Hold::Exclusive } => LineOp::Acquire(lock(id)),
            Op::Release { lock: id, hold: Hold::Exclusive } => LineOp::Release(lock(id)),
            Op::Request { lock: id } => LineOp::Request(lock(id)),
            Op::Fork { child } => LineOp::Fork(thread(child)),
            Op::Join { child } => LineOp::Join(thread(child)),
            Op::Begin { label: id, .. } => LineOp::Begin(label(id)),
            Op::End { label: id } => LineOp::End(label(id)),
            op => panic!("{op:?} from STD"),
        };
        let loc = tables.site_text(event.site);
        format!("{:?}", Line { thread: thread(event.thread), op, loc: &loc })
    };
    outcome.events.iter().map(line).collect()
}

fn target(op: &Op) -> VarId {
    match op {
        Op::Read { var, .. } | Op::Write { var, .. } => *var,
        _ => VarId(u32::MAX),
    }
}

/// The result of the grammar for each line.
fn expected(text: &[u8]) -> Vec<Result<String, String>> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let lines = text.split(|&byte| byte == b'\n');
    let parse = |line: &[u8]| {
        let line = Line::parse(line.strip_suffix(b"\r").unwrap_or(line))?;
        Ok(format!("{line:?}"))
    };
    lines.map(parse).collect()
}

/// Lines of short and long names, of every operation, with some that are nearly right.
fn random_text(rng: &mut Rng, names: u32) -> Vec<u8> {
    let mut text = Vec::new();
    let end = ["\n", "\n", "\r\n"][rng.below(3) as usize];
    let prefix = ["", "long-", "much-longer-name-"][rng.below(3) as usize];
    for _ in 0..=rng.below(120) {
        let [t, v, loc] = [0; 3].map(|_| rng.below(names));
        let wide = if rng.below(8) == 0 { prefix } else { "" };
        let op = match rng.below(16) {
            0..4 => format!("r({wide}V{v})"),
            4..7 => format!("w({wide}V{v})"),
            7 => format!("acq({wide}L{v})"),
            8 => format!("rel(L{v})"),
            9 => format!("req(L{v})"),
            10 => format!("fork(T{v})"),
            11 => format!("join({wide}T{v})"),
            12 => ["begin", "end"][rng.below(2) as usize].to_owned(),
            13 => format!("begin({wide}m{v})"),
            14 => format!("end{wide}m{v}"),
            _ => ["end(m)", "begin_x(y)", "r(é)", "w(a(b)"][rng.below(4) as usize].to_owned(),
        };
        let loc = match rng.below(6) {
            0 => format!("{wide}A.java:{loc}"),
            1 => format!("{loc}\tx(y)"),
            _ => loc.to_string(),
        };
        let thread = if rng.below(12) == 0 { format!("{wide}thread {t}") } else { format!("T{t}") };
        let line = format!("{thread}|{op}|{loc}");
        if rng.below(40) == 0 {
            text.extend(mutate(line.as_bytes(), b"||()\n\r\0 rwe)", rng));
        } else {
            text.extend(line.bytes());
        }
        text.extend(end.bytes());
    }
    text
}

fn check_against_grammar(text: &[u8], outcome: &Outcome, strictness: Strictness) {
    let expected = expected(text);
    let good = expected.iter().filter_map(|line| line.as_ref().ok().cloned());
    let bad = expected.iter().enumerate().filter_map(|(index, line)| {
        line.as_ref().err().map(|reason| format!("line {}: {reason}", index + 1))
    });
    if strictness == Strictness::Lenient {
        assert_lines(&named(outcome), &good.collect::<Vec<_>>());
        let bad = bad.collect::<Vec<_>>();
        assert_eq!(outcome.notes.skipped, bad.len() as u64);
        assert_eq!(outcome.notes.first_skipped, bad[..bad.len().min(5)]);
        assert!(outcome.error.is_none());
    } else {
        let before = expected.iter().map_while(|line| line.as_ref().ok().cloned());
        assert_lines(&named(outcome), &before.collect::<Vec<_>>());
        let error = outcome.error.as_ref().map(ToString::to_string);
        assert_eq!(error, bad.into_iter().next());
    }
}

fn assert_lines(found: &[String], expected: &[String]) {
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found, expected, "event {index}");
    }
    assert_eq!(found.len(), expected.len());
}

/// A mutated line can look as if it and its neighbours were one: once, the line after it was lost.
#[test]
fn a_line_that_seems_to_reach_into_the_next_loses_nothing() {
    for bad in ["T1", "T1|x", "T1|r(x", "", "|", "T1|begin", "T1|r(x)", "(", "T1()|"] {
        let text = format!("T1|r(x)|1\nT1|begin|2\n{bad}\nT1|r(x)|1\nT1|begin|2\nT1|r(x)|1\n");
        let outcome = read(text.as_bytes(), Strictness::Lenient);
        check_against_grammar(text.as_bytes(), &outcome, Strictness::Lenient);
    }
}

/// More than 200 000 lines.
#[test]
fn the_fast_path_reads_what_the_grammar_says() {
    let mut rng = Rng::new(1);
    for round in 0..4500 {
        let text = random_text(&mut rng, 4 + round % 60);
        if text.is_empty() {
            continue;
        }
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            check_against_grammar(&text, &read(&text, strictness), strictness);
        }
    }
}

#[test]
fn pieces_of_any_size_give_the_same() {
    let mut rng = Rng::new(2);
    for _ in 0..12 {
        let text = random_text(&mut rng, 30);
        for size in 1..=40 {
            let mut reader = Reader::stream(Pieces::stream(&text, size), Strictness::Lenient);
            check_against_grammar(&text, &drain(&mut reader), Strictness::Lenient);
        }
    }
}

#[test]
fn a_text_longer_than_any_buffer_is_read_in_pieces() {
    let line = "T1|r(V12)|345\nT2|begin|7\nT1|w(some-long-variable)|A.java:12\n";
    let text = line.repeat(20_000);
    let mut reader = Reader::stream(Pieces::stream(text.as_bytes(), 70_001), Strictness::Strict);
    check_against_grammar(text.as_bytes(), &drain(&mut reader), Strictness::Strict);
}

#[test]
fn cut_at_every_byte_it_reads_what_is_there() {
    let mut rng = Rng::new(3);
    let text = random_text(&mut rng, 20);
    for end in 1..text.len() {
        check_against_grammar(
            &text[..end],
            &read(&text[..end], Strictness::Lenient),
            Strictness::Lenient,
        );
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let cases = [
        ("T1|r(x)|1\n\n", "line 2: empty line; expected thread|operation|location"),
        ("T1", "line 1: expected '|' after the thread name, found only \"T1\""),
        ("T1|r(x)", "line 1: expected '|' after the operation, found only \"r(x)\""),
        ("T1|r(x)|", "line 1: expected a location after the last '|'"),
        ("T1|r(x)|1|2", "line 1: '|' in the location \"1|2\""),
        ("|r(x)|1", "line 1: empty thread name"),
        ("T1|r()|1", "line 1: empty variable name"),
        ("T1|r(x))|1", "line 1: ')' in the variable name \"x)\""),
        ("T1|acq(x|1", "line 1: expected ')' at the end of the operation \"acq(x\""),
        ("T1|read(x)|1", "line 1: unknown operation \"read\""),
        ("T1|x|1", "line 1: unknown operation \"x\""),
        ("T1|begin(|1", "line 1: expected ')' at the end of the operation \"begin(\""),
        ("T1|begin()|1", "line 1: empty label"),
        ("T\u{1}|r(x)|1", "line 1: '\\u{1}' in the thread name \"T\\u{1}\""),
        (
            "this-is-a-thread-with-a-name-that-is-far-too-long-to-show",
            "line 1: expected '|' after the thread name, found only \
             \"this-is-a-thread-with-a-name-that-is-far\"…",
        ),
    ];
    for (text, message) in cases {
        let error = read(text.as_bytes(), Strictness::Strict).error.expect("an error");
        assert_eq!(error.to_string(), message);
    }
    let error = read(b"T1|r(x)|1\nT1|r(\xff)|1\n", Strictness::Strict).error.expect("an error");
    assert_eq!(error.to_string(), "line 2: invalid UTF-8 after \"T1|r(\"");
}

#[test]
fn a_line_beyond_reason_is_refused_and_can_be_passed_over() {
    let mut text = b"T1|r(x)|1\n".to_vec();
    text.extend(b"T1|r(".iter().chain(&vec![b'x'; 3 << 20]).chain(b")|1\nT2|w(x)|2\n"));
    for size in [usize::MAX, 100_000] {
        let open = |strictness| Reader::stream(Pieces::stream(&text, size), strictness);
        let outcome = drain(&mut open(Strictness::Strict));
        assert_eq!(outcome.events.len(), 1);
        let error = outcome.error.expect("an error").to_string();
        assert_eq!(error, "line 2: longer than 1048576 bytes");
        let outcome = drain(&mut open(Strictness::Lenient));
        assert_eq!((outcome.events.len(), outcome.notes.skipped), (2, 1));
    }
}

#[test]
fn long_lines_within_reason_are_read() {
    let name = "x".repeat(1 << 19);
    let text = format!("T1|r({name})|1\nT1|w({name})|2");
    check_against_grammar(
        text.as_bytes(),
        &read(text.as_bytes(), Strictness::Strict),
        Strictness::Strict,
    );
}

fn written(trace: &Trace) -> (String, Lossy) {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    trace.write(&mut writer).expect("memory takes it all");
    let lossy = *writer.lossy().expect("STD loses things");
    drop(writer);
    (String::from_utf8(bytes).expect("text"), lossy)
}

#[test]
fn a_canonical_file_comes_back_byte_for_byte() {
    let mut rng = Rng::new(4);
    let mut text = String::new();
    for _ in 0..5000 {
        let [t, v, loc] = [0; 3].map(|_| rng.below(200));
        let op = match rng.below(11) {
            0 => format!("r(V{v})"),
            1 => format!("w(some.long.Class.field@{v})"),
            2 => format!("acq(L{v})"),
            3 => format!("rel(L{v})"),
            4 => format!("req(L{v})"),
            5 => format!("fork(T{v})"),
            6 => format!("join(T{v})"),
            7 => "begin".to_owned(),
            8 => "end".to_owned(),
            9 => format!("begin(bank.Account.withdraw{v})"),
            _ => format!("endAccount.withdraw(int){v}"),
        };
        let loc = if v % 3 == 0 { format!("src/A.java:{}", loc + 1) } else { loc.to_string() };
        text += &format!("T{t}|{op}|{loc}\n");
    }
    let trace = Trace::read(&mut Reader::new(text.clone(), Strictness::Strict)).expect("good");
    let (again, lossy) = written(&trace);
    assert_eq!(again, text);
    assert!(lossy.is_empty());
}

#[test]
fn what_std_cannot_say_is_counted() {
    let mut tables = Tables::default();
    let thread: ThreadId = tables.threads.intern("main|1");
    let var = tables.vars.intern("x");
    let twin = tables.vars.push("x");
    let lock = tables.locks.intern("m()");
    let label = tables.labels.intern("A.run(int)");
    let site = tables.sites.intern_loc("A.java:3");
    let wait = [Op::acquire(lock), Op::acquire(lock), Op::Wait { lock }, Op::Resume { lock }];
    let ops = wait.into_iter().chain([
        Op::Read { var, access: Access::Volatile, known: true, value: Value(7) },
        Op::write(twin),
        Op::Acquire { lock, hold: Hold::Shared },
        Op::Notify { lock, all: true },
        Op::Branch { count: 3 },
        Op::Call { method: label, known: true, value: Value(1) },
        Op::Return {
            method: label,
            outcome: untorn_trace::CallOutcome::Returned,
            known: false,
            value: Value(0),
        },
        Op::Input { source: label, known: false, value: Value(0) },
        Op::begin(label),
        Op::End { label: LabelId::NONE },
    ]);
    let events = ops.map(|op| Event::new(thread, op, site)).collect();
    let mut trace = Trace { tables, events };
    trace.events[1].site = SiteId::NONE;
    let (text, lossy) = written(&trace);
    let lines = [
        "acq(m_28_29)|A.java:3",
        "acq(m_28_29)|0",
        "rel(m_28_29)|A.java:3",
        "rel(m_28_29)|A.java:3",
        "acq(m_28_29)|A.java:3",
        "acq(m_28_29)|A.java:3",
        "r(x)|A.java:3",
        "w(x~2)|A.java:3",
        "acq(m_28_29)|A.java:3",
        "beginA.run(int)|A.java:3",
        "end|A.java:3",
    ];
    assert_eq!(text, lines.map(|line| format!("main_7c1|{line}\n")).concat());
    let expected = Lossy {
        values: 2,
        accesses: 1,
        shared_holds: 1,
        waits: 2,
        notifications: 1,
        branches: 1,
        calls: 2,
        allocations: 0,
        inputs: 1,
        names: 3,
    };
    assert_eq!(lossy, expected);
    let read = Trace::read(&mut Reader::new(text, Strictness::Strict)).expect("it is legal");
    assert_eq!(read.tables.labels.get(LabelId(0)), Some("A.run(int)"));
}

#[test]
fn an_id_without_a_name_is_an_error() {
    let event = Event::new(ThreadId(0), Op::acquire(LockId(3)), SiteId::NONE);
    let mut tables = Tables::default();
    tables.threads.intern("T");
    let error = Writer::new(Vec::new()).write(&tables, &[event]).expect_err("no such lock");
    assert_eq!(error.to_string(), "no name for lock 3");
}

/// 200 000 mutated files in each mode: no panic, and no more names than there can be.
#[test]
fn mutated_files_do_no_harm() {
    let mut rng = Rng::new(5);
    let good = b"T1|fork(T2)|1\nT1|begin|2\nT1|acq(L)|3\nT2|r(x)|A.java:4\nT1|rel(L)|5\nT1|end|6\n";
    for _ in 0..200_000 {
        let text = mutate(good, b"|()\n\rT1rwbe", &mut rng);
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let mut reader = Reader::new(text.clone(), strictness);
            let mut batch = Vec::new();
            while reader.read(&mut batch).is_ok() && !batch.is_empty() {}
            assert!(reader.tables().threads.len() <= text.len());
        }
    }
}
