//! Long traces stream through: memory depends on what a trace is about, not on its length.

use untorn_serializability::fast::Fast;
use untorn_serializability::velodrome::Velodrome;
use untorn_serializability::{Checker, Verdict};
use untorn_testkit::shapes::{Shape, ShapeSource, ShapeSpec, Tear};
use untorn_trace::{EventIdx, Source};

/// Runs a checker over a generated trace; gives its verdict and the largest private memory seen in
/// the second half, beyond that of the first tenth.
fn run(mut checker: impl Checker, spec: ShapeSpec) -> (Verdict, i64) {
    let mut source = ShapeSource::new(spec).expect("a sound spec");
    let mut batch = Vec::new();
    let (mut at, mut early, mut late) = (0, 0, 0);
    loop {
        source.read(&mut batch).expect("generating does not fail");
        if batch.is_empty() || checker.events(EventIdx(at), &batch).is_break() {
            return (checker.finish().verdict, late - early);
        }
        at += batch.len() as u64;
        if at % (1 << 20) < batch.len() as u64 {
            if at <= spec.events / 10 {
                early = early.max(private_memory());
            } else if at >= spec.events / 2 {
                late = late.max(private_memory());
            }
        }
    }
}

/// Private memory of this process in bytes; 0 if the system does not provide it.
fn private_memory() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|kilobytes| kilobytes.parse::<i64>().ok()).unwrap_or(0) * 1024
}

/// One test in a separate program: tests of one program share its memory.
#[test]
fn soak_a_long_trace_takes_no_more_memory_than_a_short_one() {
    let long = if untorn_testkit::is_soak() { 1_000_000_000 } else { 20_000_000 };
    let megabyte = 1 << 20;
    for shape in [Shape::Mix, Shape::Hold] {
        let (verdict, growth) = run(Fast::new(), ShapeSpec::new(shape, long));
        assert_eq!(verdict, Verdict::Serializable, "{shape:?}");
        assert!(growth < megabyte, "fast grew by {growth} bytes on {shape:?}");
        let (verdict, growth) = run(Velodrome::new(), ShapeSpec::new(shape, long / 4));
        assert_eq!(verdict, Verdict::Serializable, "{shape:?}");
        assert!(growth < megabyte, "velodrome grew by {growth} bytes on {shape:?}");
    }
    let torn = ShapeSpec { tear: Tear::Late, ..ShapeSpec::new(Shape::Mix, long) };
    let (verdict, _) = run(Fast::new(), torn);
    let Verdict::NotSerializable { at, .. } = verdict else { panic!("{verdict:?}") };
    assert!(at.0 >= long / 100 * 95, "found at {at}");
}
