//! JSON lines: all data of an event are preserved to the bit; everything else is refused in
//! words.

use crate::common::anything::random_trace;
use crate::common::{Outcome, Pieces, assert_same, drain, mutate};
use untorn_testkit::Rng;
use untorn_trace::formats::json_lines::{Reader, Writer};
use untorn_trace::{
    Event, Op, Sink, SiteId, Strictness, Tables, Trace, Value, ValueKind, VarFacts,
};

fn written(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    trace.write(&mut Writer::new(&mut bytes)).expect("memory takes it all");
    bytes
}

fn read(text: &[u8], strictness: Strictness) -> Outcome {
    drain(&mut Reader::new(text.to_vec(), strictness))
}

fn error(text: &str) -> String {
    read(text.as_bytes(), Strictness::Strict).error.expect("an error").to_string()
}

#[test]
fn everything_comes_back() {
    let mut rng = Rng::new(7);
    for _ in 0..3000 {
        let trace = random_trace(&mut rng);
        let text = written(&trace);
        let again = Trace::read(&mut Reader::new(text.clone(), Strictness::Strict));
        let again =
            again.unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&text)));
        assert_same(&again, &trace);
        assert_eq!(written(&again), text, "written again, it is the same text");
    }
}

#[test]
fn pieces_of_any_size_give_the_same() {
    let trace = random_trace(&mut Rng::new(8));
    let text = written(&trace);
    for size in 1..=40 {
        let mut reader = Reader::stream(Pieces::stream(&text, size), Strictness::Strict);
        assert_same(&Trace::read(&mut reader).expect("good"), &trace);
    }
}

#[test]
fn a_small_trace_is_small_to_write() {
    let mut tables = Tables::default();
    let alice = tables.threads.intern("Alice");
    let var = tables.vars.intern("balance");
    tables.set_var_facts(var, VarFacts::new(ValueKind::Int, Some(Value(10))));
    let label = tables.labels.intern("withdraw");
    let site = tables.sites.intern_loc("Account.java:14");
    let ops = [Op::begin(label), Op::read(var).with_value(Value(10)), Op::End { label }];
    let events = ops.map(|op| Event::new(alice, op, site)).to_vec();
    let expected = [
        r#"{"untorn":2}"#,
        r#"{"at":"Account.java:14","label":"withdraw","op":"begin","t":"Alice"}"#,
        r#"{"initial":10,"kind":"int","var":"balance"}"#,
        r#"{"at":"Account.java:14","op":"read","t":"Alice","value":10,"var":"balance"}"#,
        r#"{"at":"Account.java:14","label":"withdraw","op":"end","t":"Alice"}"#,
        "",
    ];
    assert_eq!(String::from_utf8_lossy(&written(&Trace { tables, events })), expected.join("\n"));
}

#[test]
fn values_are_written_as_a_person_would() {
    let cases = [
        (ValueKind::Int, Value::int(-7), "-7"),
        (ValueKind::Int, Value(u64::MAX >> 1), "9223372036854775807"),
        (ValueKind::Bool, Value(1), "true"),
        (ValueKind::Bool, Value(2), r#""0x0000000000000002""#),
        (ValueKind::Char, Value(0x78), r#""x""#),
        (ValueKind::Char, Value(0xd800), r#""0x000000000000d800""#),
        (ValueKind::Float, Value(u64::from(0.1f32.to_bits())), "0.1"),
        (ValueKind::Float, Value(u64::from(f32::INFINITY.to_bits())), r#""Infinity""#),
        (ValueKind::Double, Value(2.5f64.to_bits()), "2.5"),
        (ValueKind::Double, Value(f64::NAN.to_bits()), r#""NaN""#),
        (ValueKind::Double, Value(f64::NAN.to_bits() + 1), r#""0x7ff8000000000001""#),
        (ValueKind::Ref, Value(0), "null"),
        (ValueKind::Ref, Value(12), r##""#12""##),
    ];
    for (kind, value, expected) in cases {
        let mut tables = Tables::default();
        let thread = tables.threads.intern("T");
        let var = tables.vars.intern("x");
        tables.set_var_facts(var, VarFacts::new(kind, None));
        let event = Event::new(thread, Op::write(var).with_value(value), SiteId::NONE);
        let text = written(&Trace { tables, events: vec![event] });
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains(&format!("\"value\":{expected},")), "{kind:?} {value:?}: {text}");
    }
}

#[test]
fn names_that_occur_twice_are_kept_apart() {
    let mut tables = Tables::default();
    let thread = tables.threads.intern("T");
    let vars = ["x", "x", "x~2"].map(|name| tables.vars.push(name));
    let events = vars.map(|var| Event::new(thread, Op::read(var), SiteId::NONE)).to_vec();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    let trace = Trace { tables, events };
    trace.write(&mut writer).expect("memory takes it all");
    assert_eq!(writer.lossy().map(|lossy| lossy.names), Some(2));
    drop(writer);
    let again = Trace::read(&mut Reader::new(bytes, Strictness::Strict)).expect("good");
    assert_eq!(again.events, trace.events);
    assert_eq!(again.tables.vars.iter().collect::<Vec<_>>(), ["x", "x~2", "x~2~2"]);
}

#[test]
fn errors_say_what_is_wrong() {
    let cases = [
        (
            r#"{"t":"T","op":"read","var":"x","colour":1}"#,
            "line 1: column 39: unknown field `colour`",
        ),
        (r#"{"t":"T","op":"raed","var":"x"}"#, r#"line 1: unknown op "raed""#),
        (r#"{"t":"T","op":"read"}"#, r#"line 1: field "var" is missing"#),
        (r#"{"op":"begin"}"#, r#"line 1: field "t" is missing"#),
        (
            r#"{"t":"T","op":"fork","child":"U","lock":"l"}"#,
            r#"line 1: field "lock" does not belong to op "fork""#,
        ),
        (r#"{"untorn":3}"#, "line 1: version 3, but only versions 1 to 2 are known"),
        (r#"{"var":"x","kind":"long"}"#, r#"line 1: unknown kind "long""#),
        (r#"{"t":"T"}"#, r#"line 1: neither a header nor a definition nor an event: no "op""#),
        (
            r#"{"t":"T","op":"read","var":"x","value":"7"}"#,
            r#"line 1: "7" is not a value of kind "int""#,
        ),
        (r#"{"t":"T","op":"read","var":"x","access":"slow"}"#, r#"line 1: unknown access "slow""#),
        (r#"{"t":"T","op":"acquire","lock":"x","hold":"half"}"#, r#"line 1: unknown hold "half""#),
        ("{\"untorn\":1}\n{\"t\":\"T\",", "line 2: column 9: EOF while parsing a value"),
        ("[1]", "line 1: expected an object, which starts with '{'"),
    ];
    for (text, message) in cases {
        assert_eq!(error(text), message);
    }
}

#[test]
fn lenient_reading_passes_over_faults_and_their_names() {
    let text = "{\"t\":\"T\",\"op\":\"begin\"}\r\n\n{\"t\":\"Ghost\",\"op\":\"x\"}\n{\"t\":\"T\",\"op\":\"end\"}";
    let outcome = read(text.as_bytes(), Strictness::Lenient);
    assert_eq!(outcome.events.len(), 2);
    assert_eq!(outcome.notes.first_skipped, ["line 3: unknown op \"x\""]);
    assert_eq!(outcome.tables.threads.iter().collect::<Vec<_>>(), ["T"]);
}

#[test]
fn cut_at_every_byte_it_reads_what_is_there() {
    let text = written(&random_trace(&mut Rng::new(9)));
    for end in 0..text.len() {
        let whole = text[..end].iter().filter(|&&byte| byte == b'\n').count();
        let outcome = read(&text[..end], Strictness::Lenient);
        assert!(outcome.error.is_none());
        assert!(outcome.events.len() <= whole + 1 && outcome.notes.skipped <= 1);
    }
}

/// 200 000 mutated files in each mode.
#[test]
fn mutated_files_do_no_harm() {
    let mut rng = Rng::new(10);
    let good = [
        r#"{"untorn":1,"meta":{"seed":3}}"#,
        r#"{"var":"x","kind":"double","initial":1.5}"#,
        r#"{"t":"T","op":"write","var":"x","value":2e9,"at":{"file":"A","line":3}}"#,
        r#"{"t":"T","op":"acquire","lock":"l","hold":"shared","at":"A:3"}"#,
    ]
    .join("\n");
    for _ in 0..200_000 {
        let text = mutate(good.as_bytes(), b"{}[]\",:\n0e-.", &mut rng);
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let outcome = read(&text, strictness);
            assert!(outcome.tables.threads.len() <= text.len());
        }
    }
}

/// The example of the page is the example that is tested.
#[test]
fn the_example_of_the_page_is_good() {
    let page = include_str!("../../../../docs/jsonl.md");
    let example = page.split("```jsonl\n").nth(1).expect("an example");
    let example = example.split("```").next().expect("its end");
    let outcome = read(example.as_bytes(), Strictness::Strict);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert!(outcome.events.len() > 10);
    let trace = Trace { tables: outcome.tables, events: outcome.events };
    let again = Trace::read(&mut Reader::new(written(&trace), Strictness::Strict)).expect("good");
    assert_same(&again, &trace);
}
