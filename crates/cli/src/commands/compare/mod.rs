//! `untorn compare`: every method on one program, with the same time, and who found what.

pub mod args;
pub mod config;
pub mod methods;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use untorn_explore::{Exploration, Key, Outcome, Progress};
use untorn_frontend::termination;
use untorn_predict::Origin;
use untorn_report::phrasing::number;

use crate::commands::check::{could_not_run, forget};
use crate::console::{Console, StatusLine, Volume};
use crate::exit::{CliError, Exit, Result};
use crate::files::is_dash;
use args::StrategyName;
use config::Compare;

/// What makes two findings of two methods the same.
type FindingKey = (bool, String, String);

fn finding_key(key: &Key) -> FindingKey {
    let (origin, block, field) = key.block_and_variable();
    (origin == Origin::Declared, block.to_owned(), field.to_owned())
}

/// The result of one method.
struct Row {
    name: StrategyName,
    found: BTreeSet<FindingKey>,
    /// How many of them no method above found.
    new: usize,
    outcome: Outcome,
    /// When each was first seen.
    first: Option<Duration>,
}

pub fn run(compare: &Compare) -> Result<Exit> {
    let mut console = Console::new(compare.color, compare.volume);
    // Without it Ctrl-C ends everything at once, and the methods that are done have run for nothing.
    termination::note_signals();
    let stop = termination::stop_flag();
    let mut rows: Vec<Row> = Vec::new();
    for &name in &compare.methods {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let (outcome, first) = one(compare, name, stop)?;
        let found: BTreeSet<FindingKey> =
            outcome.violations.iter().map(|violation| finding_key(&violation.key)).collect();
        let known: BTreeSet<&FindingKey> = rows.iter().flat_map(|row| &row.found).collect();
        let new = found.iter().filter(|one| !known.contains(one)).count();
        rows.push(Row { name, found, new, outcome, first });
    }
    if let Some(path) = &compare.json {
        write_json(path, compare, &rows, &mut console)?;
    }
    if !compare.json.as_deref().is_some_and(is_dash) {
        console.put(&table(&rows))?;
    }
    if stop.load(Ordering::Relaxed) {
        console.warn("interrupted: the last method had less time, and others may be missing");
    }
    let any = rows.iter().any(|row| !row.found.is_empty());
    Ok(if any { Exit::Findings } else { Exit::Clean })
}

/// Runs one method. Gives what it found, and when it first found something.
fn one(
    compare: &Compare,
    name: StrategyName,
    stop: &AtomicBool,
) -> Result<(Outcome, Option<Duration>)> {
    let folder = compare.out.join(name.id());
    let cannot = |error: std::io::Error| {
        CliError::run(format!("cannot write {}: {error}", folder.display()))
            .way_out("choose another folder with --out")
    };
    std::fs::create_dir_all(&folder).map_err(cannot)?;
    forget(&folder);
    let check = compare.check(name, &folder);
    let mut runner = check.prepare(&folder, None)?;
    let mut line = StatusLine::new(compare.volume == Volume::Quiet);
    let mut found = 0;
    let mut first = None;
    let begin = std::time::Instant::now();
    let mut watch = |news: Progress<'_>| match news {
        Progress::Running { number, .. } => {
            if line.is_due() {
                line.show(&format!("{}: run {number}, {found} found", methods::word(name)));
            }
        }
        Progress::Violation(violation) => {
            first.get_or_insert_with(|| begin.elapsed());
            found = found.max(violation.number);
        }
        Progress::RunEnded { .. }
        | Progress::Simplifying { .. }
        | Progress::SimplifyingFailure { .. }
        | Progress::Failure(_)
        | Progress::Better(_)
        | Progress::Deadlock(_) => {}
    };
    let exploration =
        Exploration::new(runner.as_mut(), check.options.clone(), &folder, stop, &mut watch);
    let outcome = exploration.run().map_err(could_not_run)?;
    line.clear();
    Ok((outcome, first))
}

fn ours(rows: &[Row]) -> Option<&Row> {
    rows.iter().find(|row| row.name == StrategyName::Atomchase)
}

fn table(rows: &[Row]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<15} {:>6} {:>6} {:>7} {:>6} {:>9} {:>8} {:>8}",
        "method", "found", "new", "shared", "runs", "directed", "first", "time"
    );
    for row in rows {
        let _ = writeln!(
            out,
            "{:<15} {:>6} {:>6} {:>7} {:>6} {:>9} {:>8} {:>8}",
            methods::word(row.name),
            row.found.len(),
            row.new,
            shared(row, rows).map_or_else(|| "-".to_owned(), |shared| shared.to_string()),
            number(row.outcome.runs.into()),
            number(row.outcome.directed.into()),
            row.first.map_or_else(|| "-".to_owned(), seconds),
            seconds(row.outcome.time),
        );
    }
    out.push_str(&verdict(rows));
    out
}

/// How many of a method's violations the loop has, too.
fn shared(row: &Row, rows: &[Row]) -> Option<usize> {
    let ours = ours(rows)?;
    Some(row.found.iter().filter(|one| ours.found.contains(*one)).count())
}

/// Found by others than the loop, and how many of these it has.
fn others(rows: &[Row]) -> (usize, usize) {
    let others: BTreeSet<&FindingKey> = rows
        .iter()
        .filter(|row| row.name != StrategyName::Atomchase)
        .flat_map(|row| &row.found)
        .collect();
    let has = |one: &&&FindingKey| ours(rows).is_some_and(|ours| ours.found.contains(**one));
    (others.len(), others.iter().filter(has).count())
}

/// The line below the table.
fn verdict(rows: &[Row]) -> String {
    let Some(ours) = ours(rows).filter(|_| rows.len() > 1) else { return String::new() };
    let (others, shared) = others(rows);
    format!(
        "the other methods together found {others}; AtomChase found {shared} of these and {} more\n",
        ours.found.len() - shared
    )
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn write_json(
    path: &PathBuf,
    compare: &Compare,
    rows: &[Row],
    console: &mut Console,
) -> Result<()> {
    let (others, shared_by_ours) = others(rows);
    let value = json!({
        "untorn": env!("CARGO_PKG_VERSION"),
        "command": compare.program.command,
        "milliseconds_each": compare.options.time.as_millis() as u64,
        "methods": rows.iter().map(|row| method(row, rows)).collect::<Vec<_>>(),
        "found_by_others": others,
        "found_by_others_and_atomchase": shared_by_ours,
    });
    let text = format!("{value:#}\n");
    if is_dash(path) {
        return console.put(&text);
    }
    std::fs::write(path, text)
        .map_err(|error| CliError::run(format!("cannot write {}: {error}", path.display())))
}

fn method(row: &Row, rows: &[Row]) -> Value {
    let findings = row.outcome.violations.iter().map(|violation| {
        json!({
            "block": violation.key.block,
            "field": violation.key.field,
            "origin": if violation.key.origin == Origin::Declared { "declared" } else { "inferred" },
            "pattern": violation.key.shape.letters(),
            "places": violation.key.places,
            "run": violation.evidence.run,
            "milliseconds": violation.evidence.after.as_millis() as u64,
            "trace": violation.evidence.trace,
        })
    });
    json!({
        "name": row.name.id(),
        "found": row.found.len(),
        "new": row.new,
        "shared": shared(row, rows),
        "runs": row.outcome.runs,
        "directed": row.outcome.directed,
        "candidates": row.outcome.candidates,
        "events": row.outcome.events,
        "first_milliseconds": row.first.map(|first| first.as_millis() as u64),
        "milliseconds": row.outcome.time.as_millis() as u64,
        "violations": findings.collect::<Vec<_>>(),
    })
}
