//! The values that are recorded, access by access, against those that the program is known to compute.

use std::collections::BTreeSet;

use crate::support::access_text::{number, unnumbered};
use crate::support::java::{self, Recorded, compile_one, line_of, record, scratch};
use untorn_trace::{Access, Event, Op, Value, ValueKind, VarId};

/// One class with a `main` of its own for each test. No two lines that matter are the same.
const SOURCE: &str = r#"
class Types {
    boolean z; byte b; char c; short s; int i; long j; float f; double d; Object o; int[] a;

    public static void main(String[] args) {
        var t = new Types();
        t.z = true;
        t.b = -101;
        t.c = 'Z';
        t.s = -30001;
        t.i = -5;
        t.j = 0x8123456789ABCDEFL;
        t.f = -0.5f;
        t.d = -2.25e-300;
        t.o = t;
        boolean z = t.z;
        byte b = t.b;
        char c = t.c;
        short s = t.s;
        int i = t.i;
        long j = t.j;
        float f = t.f;
        double d = t.d;
        Object o = t.o;
        t.o = null;
        Object none = t.o;
        t.i += 7;
        t.j++;
    }
}

class Statics {
    static boolean z; static byte b; static char c; static short s; static int i; static long j;
    static float f; static double d; static Object o;

    public static void main(String[] args) {
        z = true;
        b = Byte.MIN_VALUE;
        c = '\uFFFF';
        s = Short.MIN_VALUE;
        i = Integer.MIN_VALUE;
        j = Long.MIN_VALUE;
        f = Float.NEGATIVE_INFINITY;
        d = -0.0;
        o = null;
        boolean rz = z;
        byte rb = b;
        char rc = c;
        short rs = s;
        int ri = i;
        long rj = j;
        float rf = f;
        double rd = d;
        Object ro = o;
    }
}

class Arrays {
    static long[] held;

    public static void main(String[] args) {
        var z = new boolean[2];
        var b = new byte[2];
        var c = new char[2];
        var s = new short[2];
        var i = new int[2];
        var j = new long[2];
        var f = new float[2];
        var d = new double[2];
        var o = new Object[2];
        var t = new Twins(5);
        z[1] = true;
        b[1] = -1;
        c[1] = 'q';
        s[1] = -2;
        i[1] = -7;
        j[1] = -1L << 40;
        f[1] = Float.MIN_VALUE;
        d[1] = Double.NaN;
        o[1] = t;
        boolean rz = z[1];
        byte rb = b[1];
        char rc = c[1];
        short rs = s[1];
        int ri = i[1];
        long rj = j[1];
        float rf = f[1];
        double rd = d[1];
        Object ro = o[1];
        Object none = o[0];
        int before = i[0];
        held = new long[3];
        held[2] = 9;
    }
}

class Twins {
    int x;

    Twins(int x) {
        this.x = x;
    }

    public static void main(String[] args) {
        var one = new Twins(1);
        var two = new Twins(2);
        one.x = 3;
        int first = one.x;
        int second = two.x;
    }
}

class Base {
    int hidden;
    int inherited;
}

class Leaf extends Base {
    int hidden;

    public static void main(String[] args) {
        var leaf = new Leaf();
        leaf.hidden = 1;
        ((Base) leaf).hidden = 2;
        leaf.inherited = 3;
        int seen = ((Base) leaf).inherited;
    }
}

class Volatiles {
    volatile long v;
    static volatile double w;
    long p;
    final int never = 5;

    public static void main(String[] args) {
        var o = new Volatiles();
        o.v = 1L << 33;
        w = 0.1;
        o.p = o.v;
        double got = w;
    }
}

class Starting {
    static int written = 7;
    static int unwritten;

    public static void main(String[] args) {
        int seen = written + unwritten;
    }
}
"#;

const FILE: &str = "Computed.java";

/// Records the `main` of a class. The trace is whole and well-formed.
fn recorded(main: &str) -> Recorded {
    let trace = scratch(&format!("record-values-{main}")).join("run.utr");
    let classes = compile_one(FILE, SOURCE);
    let run = record(&trace, &[], &java::java(&classes, main));
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (Some(0), "", ""), "{run}");
    Recorded::read(&trace)
}

/// A read or write, the variable, the exact bits, and the text of the line.
type ExpectedAccess = (char, &'static str, u64, &'static str);

/// The accesses that were recorded in the source, in order, in the form of what is expected.
fn accesses(trace: &Recorded) -> Vec<(char, String, u64, u32)> {
    let describe = |event: &Event| {
        let (kind, var) = match event.op {
            Op::Read { var, .. } => ('r', var),
            Op::Write { var, .. } => ('w', var),
            _ => return None,
        };
        let value = event.value().expect("every value is known").0;
        let line = trace.tables.sites.get(event.site).expect("a place").line;
        Some((kind, unnumbered(&trace.tables.var_name(var)), value, line))
    };
    trace.in_file(FILE).filter_map(describe).collect()
}

#[track_caller]
fn check(trace: &Recorded, expected: &[ExpectedAccess]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|&(kind, name, value, text)| (kind, name.to_owned(), value, line_of(SOURCE, text)))
        .collect();
    assert_eq!(accesses(trace), expected);
}

/// The variable of that name.
#[track_caller]
fn var(trace: &Recorded, name: &str) -> VarId {
    let all = trace.tables.vars.iter().zip(0..);
    let mut found = all.filter(|(var, _)| unnumbered(var) == name).map(|(_, id)| VarId(id));
    let first = found.next().unwrap_or_else(|| panic!("no variable {name}"));
    assert_eq!(found.next(), None, "several variables {name}");
    first
}

#[track_caller]
fn check_kinds(trace: &Recorded, kinds: &[(&str, ValueKind)]) {
    for &(name, kind) in kinds {
        let facts = trace.tables.var_facts(var(trace, name));
        assert_eq!((facts.values, facts.initial()), (kind, Some(Value(0))), "{name}");
    }
}

const fn int(value: i64) -> u64 {
    value.cast_unsigned()
}

fn float(value: f32) -> u64 {
    u64::from(value.to_bits())
}

const KINDS: [(&str, ValueKind); 9] = [
    ("z", ValueKind::Bool),
    ("b", ValueKind::Int),
    ("c", ValueKind::Char),
    ("s", ValueKind::Int),
    ("i", ValueKind::Int),
    ("j", ValueKind::Int),
    ("f", ValueKind::Float),
    ("d", ValueKind::Double),
    ("o", ValueKind::Ref),
];

#[test]
fn fields_of_every_type_have_their_exact_values_and_lines() {
    let trace = recorded("Types");
    let this = number(&trace.tables.var_name(var(&trace, "Types#.o")));
    let long = 0x8123_4567_89ab_cdef;
    check(
        &trace,
        &[
            ('w', "Types#.z", 1, "t.z = true;"),
            ('w', "Types#.b", int(-101), "t.b = -101;"),
            ('w', "Types#.c", u64::from('Z'), "t.c = 'Z';"),
            ('w', "Types#.s", int(-30001), "t.s = -30001;"),
            ('w', "Types#.i", int(-5), "t.i = -5;"),
            ('w', "Types#.j", long, "t.j = 0x8123456789ABCDEFL;"),
            ('w', "Types#.f", float(-0.5), "t.f = -0.5f;"),
            ('w', "Types#.d", (-2.25e-300_f64).to_bits(), "t.d = -2.25e-300;"),
            ('w', "Types#.o", this, "t.o = t;"),
            ('r', "Types#.z", 1, "boolean z = t.z;"),
            ('r', "Types#.b", int(-101), "byte b = t.b;"),
            ('r', "Types#.c", u64::from('Z'), "char c = t.c;"),
            ('r', "Types#.s", int(-30001), "short s = t.s;"),
            ('r', "Types#.i", int(-5), "int i = t.i;"),
            ('r', "Types#.j", long, "long j = t.j;"),
            ('r', "Types#.f", float(-0.5), "float f = t.f;"),
            ('r', "Types#.d", (-2.25e-300_f64).to_bits(), "double d = t.d;"),
            ('r', "Types#.o", this, "Object o = t.o;"),
            ('w', "Types#.o", 0, "t.o = null;"),
            ('r', "Types#.o", 0, "Object none = t.o;"),
            ('r', "Types#.i", int(-5), "t.i += 7;"),
            ('w', "Types#.i", 2, "t.i += 7;"),
            ('r', "Types#.j", long, "t.j++;"),
            ('w', "Types#.j", long + 1, "t.j++;"),
        ],
    );
    check_kinds(&trace, &KINDS.map(|(name, kind)| (format!("Types#.{name}").leak() as &str, kind)));
}

#[test]
fn static_fields_of_every_type_have_their_exact_values_and_lines() {
    let trace = recorded("Statics");
    let infinity = float(f32::NEG_INFINITY);
    check(
        &trace,
        &[
            ('w', "Statics.z", 1, "        z = true;"),
            ('w', "Statics.b", int(-128), "b = Byte.MIN_VALUE;"),
            ('w', "Statics.c", 0xffff, "c = '\\uFFFF';"),
            ('w', "Statics.s", int(-32768), "s = Short.MIN_VALUE;"),
            ('w', "Statics.i", int(i64::from(i32::MIN)), "i = Integer.MIN_VALUE;"),
            ('w', "Statics.j", int(i64::MIN), "j = Long.MIN_VALUE;"),
            ('w', "Statics.f", infinity, "f = Float.NEGATIVE_INFINITY;"),
            ('w', "Statics.d", (-0.0_f64).to_bits(), "d = -0.0;"),
            ('w', "Statics.o", 0, "        o = null;"),
            ('r', "Statics.z", 1, "rz = z;"),
            ('r', "Statics.b", int(-128), "rb = b;"),
            ('r', "Statics.c", 0xffff, "rc = c;"),
            ('r', "Statics.s", int(-32768), "rs = s;"),
            ('r', "Statics.i", int(i64::from(i32::MIN)), "ri = i;"),
            ('r', "Statics.j", int(i64::MIN), "rj = j;"),
            ('r', "Statics.f", infinity, "rf = f;"),
            ('r', "Statics.d", (-0.0_f64).to_bits(), "rd = d;"),
            ('r', "Statics.o", 0, "ro = o;"),
        ],
    );
    check_kinds(
        &trace,
        &KINDS.map(|(name, kind)| (format!("Statics.{name}").leak() as &str, kind)),
    );
}

#[test]
fn elements_of_arrays_of_every_type_have_their_exact_values_and_lines() {
    let trace = recorded("Arrays");
    let object = number(&trace.tables.var_name(var(&trace, "Twins#.x")));
    let held = trace.in_file(FILE).find_map(|event| match event.op {
        Op::Write { value, .. } if event.op.target() == var(&trace, "Arrays.held").0 => {
            Some(value.0)
        }
        _ => None,
    });
    let held = held.expect("the array is stored");
    assert!(held != 0 && held != object);
    // A JVM has one instruction for arrays of bytes and of booleans.
    check(
        &trace,
        &[
            ('w', "Twins#.x", 5, "this.x = x;"),
            ('w', "byte[]#[1]", 1, "z[1] = true;"),
            ('w', "byte[]#[1]", int(-1), "b[1] = -1;"),
            ('w', "char[]#[1]", u64::from('q'), "c[1] = 'q';"),
            ('w', "short[]#[1]", int(-2), "s[1] = -2;"),
            ('w', "int[]#[1]", int(-7), "i[1] = -7;"),
            ('w', "long[]#[1]", int(-1 << 40), "j[1] = -1L << 40;"),
            ('w', "float[]#[1]", 1, "f[1] = Float.MIN_VALUE;"),
            ('w', "double[]#[1]", 0x7ff8_0000_0000_0000, "d[1] = Double.NaN;"),
            ('w', "Object[]#[1]", object, "o[1] = t;"),
            ('r', "byte[]#[1]", 1, "rz = z[1];"),
            ('r', "byte[]#[1]", int(-1), "rb = b[1];"),
            ('r', "char[]#[1]", u64::from('q'), "rc = c[1];"),
            ('r', "short[]#[1]", int(-2), "rs = s[1];"),
            ('r', "int[]#[1]", int(-7), "ri = i[1];"),
            ('r', "long[]#[1]", int(-1 << 40), "rj = j[1];"),
            ('r', "float[]#[1]", 1, "rf = f[1];"),
            ('r', "double[]#[1]", 0x7ff8_0000_0000_0000, "rd = d[1];"),
            ('r', "Object[]#[1]", object, "ro = o[1];"),
            ('r', "Object[]#[0]", 0, "none = o[0];"),
            ('r', "int[]#[0]", 0, "before = i[0];"),
            ('w', "Arrays.held", held, "held = new long[3];"),
            ('r', "Arrays.held", held, "held[2] = 9;"),
            ('w', "Arrays.held[2]", 9, "held[2] = 9;"),
        ],
    );
    let unread = trace.tables.var_facts(var(&trace, "int[]#[0]"));
    assert_eq!(unread.initial(), Some(Value(0)), "what is read first was there before");
}

#[test]
fn two_objects_of_a_class_have_different_variables() {
    let trace = recorded("Twins");
    check(
        &trace,
        &[
            ('w', "Twins#.x", 1, "this.x = x;"),
            ('w', "Twins#.x", 2, "this.x = x;"),
            ('w', "Twins#.x", 3, "one.x = 3;"),
            ('r', "Twins#.x", 3, "int first = one.x;"),
            ('r', "Twins#.x", 2, "int second = two.x;"),
        ],
    );
    let vars = targets(&trace, |op| matches!(op, Op::Read { .. } | Op::Write { .. }));
    assert_eq!(vars, [vars[0], vars[1], vars[0], vars[0], vars[1]]);
    assert_ne!(vars[0], vars[1]);
    assert_ne!(trace.tables.var_name(VarId(vars[0])), trace.tables.var_name(VarId(vars[1])));
}

/// What the events of some kind are about, in order.
fn targets(trace: &Recorded, wanted: impl Fn(Op) -> bool) -> Vec<u32> {
    let events = trace.in_file(FILE).filter(|event| wanted(event.op));
    events.map(|event| event.op.target()).collect()
}

#[test]
fn a_hidden_field_is_another_variable_and_an_inherited_one_is_the_same() {
    let trace = recorded("Leaf");
    check(
        &trace,
        &[
            ('w', "Leaf#.hidden", 1, "        leaf.hidden = 1;"),
            ('w', "Base#.hidden", 2, "((Base) leaf).hidden = 2;"),
            ('w', "Base#.inherited", 3, "leaf.inherited = 3;"),
            ('r', "Base#.inherited", 3, "((Base) leaf).inherited;"),
        ],
    );
    let vars = targets(&trace, |op| matches!(op, Op::Read { .. } | Op::Write { .. }));
    assert_eq!(vars[2], vars[3]);
    let numbers: BTreeSet<u64> =
        vars.iter().map(|&var| number(&trace.tables.var_name(VarId(var)))).collect();
    assert_eq!(numbers.len(), 1, "one object");
}

#[test]
fn volatile_fields_are_told_from_plain_ones_and_final_ones_are_left_out() {
    let trace = recorded("Volatiles");
    check(
        &trace,
        &[
            ('w', "Volatiles#.v", 1 << 33, "o.v = 1L << 33;"),
            ('w', "Volatiles.w", 0.1_f64.to_bits(), "w = 0.1;"),
            ('r', "Volatiles#.v", 1 << 33, "o.p = o.v;"),
            ('w', "Volatiles#.p", 1 << 33, "o.p = o.v;"),
            ('r', "Volatiles.w", 0.1_f64.to_bits(), "double got = w;"),
        ],
    );
    let access = |event: &Event| match event.op {
        Op::Read { access, .. } | Op::Write { access, .. } => Some(access),
        _ => None,
    };
    let (v, p) = (Access::Volatile, Access::Plain);
    assert_eq!(trace.in_file(FILE).filter_map(access).collect::<Vec<_>>(), [v, v, v, p, v]);
}

#[test]
fn initial_values_are_known_of_what_is_never_written_and_of_what_an_initialiser_writes() {
    let trace = recorded("Starting");
    check(
        &trace,
        &[
            ('w', "Starting.written", 7, "static int written = 7;"),
            ('r', "Starting.written", 7, "int seen = written + unwritten;"),
            ('r', "Starting.unwritten", 0, "int seen = written + unwritten;"),
        ],
    );
    let kinds = [("Starting.written", ValueKind::Int), ("Starting.unwritten", ValueKind::Int)];
    check_kinds(&trace, &kinds);
}
