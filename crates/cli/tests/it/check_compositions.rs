//! `untorn check --compositions` on real programs: calls that look meant to be one step are found in the class files, torn in
//! a run, reported as calls, and replayed; what comes between two calls without harm is no finding.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::java::{
    CommandResult, arg, compile_one, example, java as command_of, run, scratch,
};
use serde_json::Value;

fn check(out: &Path, command: &[String]) -> CommandResult {
    let mut args = vec!["check", "--compositions", "--out", arg(out), "--time", "40s"];
    args.extend(["--explore", "3", "--"]);
    args.extend(command.iter().map(String::as_str));
    run(&args)
}

/// A program of `examples/java/compose`.
fn listing(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/java/compose");
    let source = std::fs::read_to_string(folder.join(format!("{name}.java"))).expect("a listing");
    compile_one(&format!("{name}.java"), &source)
}

/// The calls of the composed finding about `headline`, each with its answer: `Map.remove null`.
fn calls(out: &Path, headline: &str) -> Vec<String> {
    let text = std::fs::read(out.join("report.json")).expect("a report was written");
    let report: Value = serde_json::from_slice(&text).expect("the report is JSON");
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    let named = |finding: &&Value| finding["headline"].as_str() == Some(headline);
    let found = findings.iter().find(named);
    let evidence = &found.unwrap_or_else(|| panic!("no '{headline}' in {findings:#?}"))["evidence"];
    assert_eq!(evidence["origin"], "composed");
    let calls = evidence["composition"]["calls"].as_array().cloned().unwrap_or_default();
    let describe = |call: &Value| {
        let api = call["api"].as_str().unwrap_or_default();
        let short = api.rsplit('.').take(2).collect::<Vec<_>>();
        let name = short.into_iter().rev().collect::<Vec<_>>().join(".");
        match call["answer"].as_str() {
            Some(answer) => format!("{name} {answer}"),
            None => name,
        }
    };
    calls.iter().map(describe).collect()
}

/// Checks a listing, and repeats what was found. Gives the folder with the report.
fn torn(name: &str, headline: &str, expected: &[&str]) -> PathBuf {
    let out = scratch(&format!("compositions-{name}"));
    let done = check(&out, &command_of(&listing(name), name)).with_code(1);
    assert_eq!(calls(&out, headline), expected, "{done}");
    assert!(done.stdout.contains("calls "), "calls are shown in the terminal, too: {done}");
    let again = run(&["replay", arg(&out.join("report.json")), "1"]);
    assert!(again.stderr.contains("events exactly"), "the replay differs: {again}");
    out
}

/// The calls of `api` in the traces of a folder: what each was called on, and its first argument.
fn receivers_and_keys(out: &Path, api: &str) -> Vec<[Value; 2]> {
    let files = std::fs::read_dir(out).expect("a folder").flatten().map(|file| file.path());
    let traces = files.filter(|path| path.extension().is_some_and(|kind| kind == "utr"));
    let mut found = Vec::new();
    for trace in traces {
        let text =
            run(&["trace", "convert", arg(&trace), "-", "--to", "jsonl"]).with_code(0).stdout;
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        for pair in lines.windows(2) {
            if pair[0]["op"] == "call" && pair[0]["method"] == api {
                assert_eq!(pair[1]["op"], "argument", "{pair:#?}");
                assert_eq!((&pair[1]["method"], &pair[1]["number"]), (&api.into(), &1.into()));
                found.push([pair[0]["value"].clone(), pair[1]["value"].clone()]);
            }
        }
    }
    found
}

#[test]
fn an_attribute_is_removed_between_question_and_removal() {
    let out = torn(
        "Attributes",
        "Map.containsKey and Map.remove in Context.removeAttribute are not one step",
        &["Map.containsKey true", "Map.remove an object", "Map.remove null"],
    );
    // All ask for one key: in the map of the context, or in that of the guarded one.
    let asked = receivers_and_keys(&out, "java.util.Map.containsKey");
    let removed = receivers_and_keys(&out, "java.util.Map.remove");
    let calls: Vec<_> = asked.iter().chain(&removed).collect();
    assert!(calls.iter().all(|[map, key]| map.is_string() && *key == asked[0][1]), "{calls:?}");
    let maps: BTreeSet<_> = calls.iter().map(|[map, _]| map.as_str()).collect();
    assert_eq!(maps.len(), 2, "{calls:?}");
}

#[test]
fn an_edge_is_added_twice() {
    torn(
        "Bayes",
        "Net.hasEdge and Net.applyOp in BayesLearner.learn are not one step",
        &["Net.hasEdge false", "Net.applyOp", "Net.applyOp"],
    );
}

#[test]
fn two_scales_do_not_belong_together() {
    torn(
        "Scales",
        "GraphImage.getXscale and GraphImage.getYscale in Painter.paint are not one step",
        &["GraphImage.getXscale", "GraphImage.setScale", "GraphImage.getYscale"],
    );
}

/// `getAndIncrement` by hand with compareAndSet is right; with set it is not.
#[test]
fn a_counter_is_set_to_what_it_was() {
    torn(
        "Counters",
        "AtomicInteger.get and AtomicInteger.set in HandMade.lossy are not one step",
        &["AtomicInteger.get 0", "AtomicInteger.set", "AtomicInteger.set"],
    );
}

/// The second call does not answer, it throws.
#[test]
fn a_queue_is_emptied_between_question_and_removal() {
    let out = scratch("compositions-QueueRemove");
    let done = check(&out, &example("fail", "QueueRemove").command()).with_code(1);
    let headline = done.stdout.lines().find(|line| line.starts_with("violation 1: "));
    let headline = headline.and_then(|line| line.split_once(": ")).expect("a violation").1;
    let calls = calls(&out, headline);
    assert!(calls[0].ends_with(".isEmpty false"), "{calls:?}");
    assert!(calls.last().is_some_and(|call| call.ends_with(".remove an exception")), "{calls:?}");
}

const HARMLESS: &str = r#"
import java.util.concurrent.ConcurrentLinkedQueue;

/** Another element that comes between question and answer does no harm; that one is gone is expected. */
public class Harmless {
    private final ConcurrentLinkedQueue<String> queue = new ConcurrentLinkedQueue<>();

    void take() {
        if (!queue.isEmpty()) {
            queue.poll();
        }
    }

    void put() {
        queue.offer("more");
    }

    public static void main(String[] args) throws InterruptedException {
        Harmless all = new Harmless();
        all.put();
        Thread other = new Thread(all::put);
        other.start();
        all.take();
        other.join();
        all.take();
    }
}
"#;

#[test]
fn what_changes_no_answer_is_no_finding() {
    let out = scratch("compositions-harmless");
    let command = command_of(&compile_one("Harmless.java", HARMLESS), "Harmless");
    let done = check(&out, &command).with_code(0);
    assert!(done.stdout.contains("1 made, 0 torn"), "the calls were made: {done}");
    assert!(done.stdout.contains("1 happened without harm"), "and torn without harm: {done}");
}

const QUIET: &str = r#"
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Nothing is to be seen of it, but what the calls say. */
public class Quiet {
    private final Map<String, Object> seats = new ConcurrentHashMap<>();
    private int taken;

    void take(String seat) {
        if (seats.containsKey(seat)) {
            seats.remove(seat);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Quiet hall = new Quiet();
        hall.seats.put("5", "free");
        Thread other = new Thread(() -> hall.take("5"));
        other.start();
        hall.take("5");
        other.join();
    }
}
"#;

/// Nothing is visible. What the second call said counts because it says something else when nobody comes between.
#[test]
fn calls_contradict_each_other() {
    let out = scratch("compositions-quiet");
    let command = command_of(&compile_one("Quiet.java", QUIET), "Quiet");
    let done = check(&out, &command).with_code(1);
    let headline = "Map.containsKey and Map.remove in Quiet.take are not one step";
    let expected = ["Map.containsKey true", "Map.remove an object", "Map.remove null"];
    assert_eq!(calls(&out, headline), expected, "{done}");
    assert!(done.stdout.contains("without the interruption it gives"), "{done}");
}

#[test]
fn programs_that_are_right_are_left_alone() {
    for name in ["Elevator", "BoundedBuffer", "CounterCas"] {
        let out = scratch(&format!("compositions-pass-{name}"));
        let done = check(&out, &example("pass", name).command());
        assert!(matches!(done.code, Some(0 | 4)), "{name}: a false alarm: {done}");
    }
}

#[test]
fn a_command_without_class_files_is_refused() {
    let out = scratch("compositions-nothing");
    let command = ["java", "-cp", "/nowhere", "Main"].map(str::to_owned);
    let done = check(&out, &command).with_code(2);
    assert!(done.stderr.contains("names no class files"), "{done}");
}
