//! The same program, policy and seed give the same trace, byte for byte, and the same output.

use std::path::Path;

use crate::support::java::{
    self, CommandResult, Example, Running, compile_one, difference, example, examples, record,
    recording, scratch, soak,
};

const POLICIES: [&str; 4] = ["run-to-block", "random", "pct", "pos"];
const RUNS: usize = 3;

/// Locks, monitors with waits, volatile fields, JDK collections, executors; one with an exit code of its own.
fn programs() -> Vec<Example> {
    let few = [
        ("fail", "ReadersWriters"),
        ("pass", "BoundedBuffer"),
        ("pass", "CounterCas"),
        ("constructs", "SystemExit"),
    ];
    let more = [
        ("pass", "Elevator"),
        ("pass", "ProducerConsumer"),
        ("pass", "VolatileHandOver"),
        ("constructs", "Locks"),
    ];
    let wanted = few.iter().chain(more.iter().filter(|_| soak()));
    wanted.map(|&(kind, name)| example(kind, name)).collect()
}

fn run(
    example: &Example,
    trace: &Path,
    policy: &str,
    seed: u32,
) -> Result<(CommandResult, Vec<u8>), String> {
    let options = ["--policy", policy, "--seed", &seed.to_string()];
    let run = Running::start(&mut recording(trace, &options, &example.command())).try_finish()?;
    let bytes = std::fs::read(trace).map_err(|error| format!("{error}: {run}"))?;
    Ok((run, bytes))
}

/// Records several times and compares everything.
fn check(example: &Example, folder: &Path, policy: &str, seed: u32) -> Result<(), String> {
    let [first, again] = ["first.utr", "again.utr"].map(|name| folder.join(name));
    let (one, bytes) = run(example, &first, policy, seed)?;
    for _ in 1..RUNS {
        let (other, other_bytes) = run(example, &again, policy, seed)?;
        if (one.code, &one.stdout, &one.stderr) != (other.code, &other.stdout, &other.stderr) {
            return Err(format!("first {one}\nthen {other}"));
        }
        if bytes != other_bytes {
            return Err(format!("another trace: {}", difference(&first, &again)));
        }
    }
    Ok(())
}

/// Every program with every seed; all that differ are named.
fn check_all(programs: &[Example], policy: &str, seeds: u32) {
    let folder = scratch(&format!("record-determinism-{policy}-{seeds}"));
    let mut faults = Vec::new();
    for example in programs {
        for seed in 0..seeds {
            if let Err(error) = check(example, &folder, policy, seed) {
                faults.push(format!("{} --policy {policy} --seed {seed}: {error}", example.name));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}

fn check_policy(policy: &str) {
    check_all(&programs(), policy, if soak() { 20 } else { 2 });
}

#[test]
fn run_to_block_is_repeatable_soak() {
    check_policy(POLICIES[0]);
}

#[test]
fn random_is_repeatable_soak() {
    check_policy(POLICIES[1]);
}

#[test]
fn pct_is_repeatable_soak() {
    check_policy(POLICIES[2]);
}

#[test]
fn pos_is_repeatable_soak() {
    check_policy(POLICIES[3]);
}

/// In the long tests, every example but one: how deep a stack can be depends on what the JVM has compiled by then.
#[test]
fn every_example_is_repeatable_soak() {
    if soak() {
        let mut programs: Vec<Example> =
            ["pass", "constructs", "fail"].into_iter().flat_map(examples).collect();
        programs.retain(|example| example.name != "DeepRecursion");
        check_all(&programs, "random", 3);
    }
}

/// Otherwise nothing above would say much.
#[test]
fn another_seed_gives_another_schedule() {
    let folder = scratch("record-determinism-seeds");
    let example = example("pass", "BoundedBuffer");
    let trace = folder.join("run.utr");
    for policy in &POLICIES[1..] {
        let runs = (0..4).map(|seed| run(&example, &trace, policy, seed).map(|(_, bytes)| bytes));
        let mut traces: Vec<Vec<u8>> =
            runs.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"));
        // The seed stands in the trace, too, but it is of the same length in all of them.
        traces.iter_mut().for_each(|bytes| {
            let text = b"\"seed\":";
            let at = bytes.windows(text.len()).position(|piece| piece == text).expect("the seed");
            bytes[at + text.len()] = b'x';
        });
        traces.sort();
        traces.dedup();
        assert!(traces.len() > 1, "--policy {policy} does not depend on its seed");
    }
}

/// Everything that the JDK makes of the clock, of addresses, or of the moment at which it was started.
const CHANCE: &str = r#"
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;

class Chance {
    public static void main(String[] args) {
        System.out.println("random " + new Random().nextInt());
        System.out.println("Math " + Math.random());
        System.out.println("local " + ThreadLocalRandom.current().nextInt());
        System.out.println("splittable " + new SplittableRandom().nextInt());
        System.out.println("identity " + new Object().hashCode() + " " + new Object());
        System.out.println("sets " + Set.of(1, 2, 3, 4, 5) + new HashSet<>(List.of("a", "b", "c")));
        System.out.println("map " + Map.of("a", 1, "b", 2, "c", 3));
        System.out.println("clock " + System.nanoTime() + " " + System.currentTimeMillis());
    }
}
"#;

#[test]
fn what_looks_like_chance_is_the_same_in_every_run() {
    let trace = scratch("record-determinism-chance").join("run.utr");
    let command = java::java(&compile_one("Chance.java", CHANCE), "Chance");
    let [one, other] = [(); 2].map(|()| record(&trace, &[], &command).with_code(0));
    let differ: Vec<_> =
        one.stdout.lines().zip(other.stdout.lines()).filter(|(one, other)| one != other).collect();
    assert!(differ.is_empty(), "{differ:?}");
}
