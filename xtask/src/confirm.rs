//! `bench confirm`: what each stage of value-level confirmation decides, and how long it takes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use untorn_confirm::{Method, Options, ValueVerdict, confirm};
use untorn_testkit::{Truth, ValuedKnobs, value_atomic, valued};

/// Traces of each kind that recall is measured on, at least.
const TRACES: u64 = 200_000;

pub fn print_all() -> Result<()> {
    print_recall()?;
    print_times()
}

/// The answers of one method for the traces of one kind.
#[derive(Clone, Copy, Default)]
struct Tally {
    decided: u64,
    wrong: u64,
}

const METHODS: [(&str, Method); 6] = [
    ("own-read", Method::OwnRead),
    ("own-read, saturation, probing", Method::Saturation),
    ("serialiser alone", Method::Serialiser),
    ("search alone", Method::Exact),
    ("all stages", Method::All),
    ("conditions as printed", Method::Printed),
];

fn print_recall() -> Result<()> {
    let knobs = ValuedKnobs { care: [0, 0, 0, 128], ..ValuedKnobs::known() };
    let mut tallies = [[Tally::default(); 2]; METHODS.len()];
    let mut counts = [0_u64; 2];
    let mut seed = 1 << 50;
    while counts[1] < TRACES {
        seed += 1;
        let (events, tables) = valued(&knobs, seed);
        let truth = value_atomic(&events, &tables);
        let kind = match truth {
            Truth::Atomic => 0,
            Truth::NotAtomic => 1,
            Truth::Open | Truth::TooLarge => continue,
        };
        if counts[kind] >= TRACES {
            continue;
        }
        counts[kind] += 1;
        for (tally, (_, method)) in tallies.iter_mut().zip(METHODS) {
            let options = Options { method, ..Options::default() };
            let own = &mut tally[kind];
            match (confirm(&events, &tables, &options).verdict, truth) {
                (ValueVerdict::Undecided(_), _) => {}
                (ValueVerdict::Atomic(_), Truth::Atomic) => own.decided += 1,
                (ValueVerdict::NotAtomic(_), Truth::NotAtomic) => own.decided += 1,
                _ => own.wrong += 1,
            }
        }
    }
    println!("{} atomic and {} not atomic random traces.\n", counts[0], counts[1]);
    println!("| method | of the not atomic | of the atomic | wrong |");
    println!("| --- | --- | --- | --- |");
    for ((name, _), tally) in METHODS.iter().zip(&tallies) {
        let share = |kind: usize| tally[kind].decided as f64 * 100.0 / counts[kind] as f64;
        let wrong = tally[0].wrong + tally[1].wrong;
        println!("| {name} | {:.4} % | {:.4} % | {wrong} |", share(1), share(0));
    }
    ensure!(tallies[..5].iter().flatten().all(|tally| tally.wrong == 0), "a wrong answer");
    println!();
    Ok(())
}

/// Times of confirming traces of one size.
struct Row {
    what: &'static str,
    knobs: ValuedKnobs,
    traces: u64,
}

fn print_times() -> Result<()> {
    let few = |knobs: ValuedKnobs, values: u32| ValuedKnobs { values, ..knobs };
    let row = |what, knobs, traces| Row { what, knobs, traces };
    let rows = [
        row("40 blocks", ValuedKnobs::large(6, 20, 40, 4, 200), 20_000),
        row("40 blocks, 4 values", few(ValuedKnobs::large(6, 20, 40, 4, 200), 4), 20_000),
        row("200 blocks", ValuedKnobs::large(8, 800, 200, 100, 255), 200),
        row("200 blocks, 3 values", few(ValuedKnobs::large(8, 3000, 200, 100, 254), 3), 200),
        row("200 short blocks, 3 values", few(ValuedKnobs::large(8, 100, 200, 4, 160), 3), 1_000),
    ];
    println!(
        "| size | events | relevant blocks | answer, stage | traces | mean | 99 % | longest |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for row in &rows {
        print_row(row);
    }
    Ok(())
}

fn print_row(row: &Row) {
    let (mut events_seen, mut relevant) = (0, 0);
    let mut times: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    for seed in 0..row.traces {
        let (events, tables) = valued(&row.knobs, seed);
        let start = Instant::now();
        let found = confirm(&events, &tables, &Options::default());
        let time = start.elapsed();
        events_seen += events.len() as u64;
        relevant += found.facts.relevant as u64;
        let answer = match found.verdict {
            ValueVerdict::Atomic(_) => "atomic",
            ValueVerdict::NotAtomic(_) => "not atomic",
            ValueVerdict::Undecided(_) => "undecided",
        };
        times.entry(format!("{answer}, {:?}", found.stage)).or_default().push(time);
    }
    for (answer, times) in &mut times {
        times.sort_unstable();
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let mean = times.iter().map(|&time| micros(time)).sum::<f64>() / times.len() as f64;
        println!(
            "| {} | {} | {} | {answer} | {} | {mean:.0} µs | {:.0} µs | {:.0} µs |",
            row.what,
            events_seen / row.traces,
            relevant / row.traces,
            times.len(),
            micros(times[times.len() * 99 / 100]),
            micros(times[times.len() - 1]),
        );
    }
}
