//! Generates the traces, measures every figure, prints the table.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use untorn_testkit::shapes::{Shape, ShapeSource, ShapeSpec};
use untorn_trace::formats::create::{CreateOptions, Output, create};
use untorn_trace::{Format, Source};

use crate::machine;
use crate::measure::Figure;

/// Events of the traces that the figures are about.
const EVENTS: u64 = 5_000_000;

/// Events of the traces on which instructions are counted, under an emulator.
const COUNTED: u64 = 300_000;

/// A figure and its floor.
struct Row {
    what: &'static str,
    shape: Shape,
    threads: u32,
    format: Format,
    way: &'static str,
    /// Million events a second.
    floor: Option<f64>,
}

const fn row(
    what: &'static str,
    shape: Shape,
    threads: u32,
    format: Format,
    way: &'static str,
    floor: Option<f64>,
) -> Row {
    Row { what, shape, threads, format, way, floor }
}

const ROWS: [Row; 17] = [
    row("reading alone, text", Shape::Mix, 8, Format::Rapid, "read", None),
    row("reading alone, `.utr`", Shape::Mix, 8, Format::Utr, "read", Some(150.0)),
    row("fast verdict, text", Shape::Mix, 8, Format::Rapid, "fast", Some(40.0)),
    row("fast verdict, `.utr`", Shape::Mix, 8, Format::Utr, "fast", Some(75.0)),
    row("fast verdict, in memory", Shape::Mix, 8, Format::Utr, "memory-fast", Some(100.0)),
    row("Velodrome, text", Shape::Mix, 8, Format::Rapid, "velodrome", Some(20.0)),
    row("Velodrome, in memory", Shape::Mix, 8, Format::Utr, "memory-velodrome", None),
    row("AeroDrome, text", Shape::Mix, 8, Format::Rapid, "aerodrome", None),
    row("`hold`, fast, text", Shape::Hold, 8, Format::Rapid, "fast", Some(35.0)),
    row("`hold`, Velodrome, text", Shape::Hold, 8, Format::Rapid, "velodrome", None),
    row("`manyvars`, fast, text", Shape::ManyVars, 8, Format::Rapid, "fast", Some(10.0)),
    row("64 threads, fast, text", Shape::Mix, 64, Format::Rapid, "fast", Some(35.0)),
    row("`pipe`, 64 threads, fast, text", Shape::Pipe, 64, Format::Rapid, "fast", Some(12.0)),
    row("`small`, fast, text", Shape::Small, 8, Format::Rapid, "fast", None),
    row("`large`, fast, text", Shape::Large, 8, Format::Rapid, "fast", None),
    row("`local`, fast, text", Shape::Local, 8, Format::Rapid, "fast", None),
    row("1000 threads, fast, text", Shape::Mix, 1000, Format::Rapid, "fast", None),
];

pub fn print_all(folder: &Path) -> Result<()> {
    let mix = trace(folder, Shape::Mix, 8, EVENTS, Format::Rapid)?;
    let limits = machine::limits(&mix)?;
    println!("Processor: {}, one core.", limits.processor);
    println!(
        "Memory scan {:.1} GB/s, page cache read {:.1} GB/s.\n",
        limits.memory, limits.page_cache
    );
    print_speeds(folder)?;
    print_memory(folder)?;
    print_sizes(folder)?;
    print_instructions(folder)
}

fn print_speeds(folder: &Path) -> Result<()> {
    println!("| what | shape, threads | floor, M events/s | measured | private memory |");
    println!("| --- | --- | --- | --- | --- |");
    for row in &ROWS {
        let file = trace(folder, row.shape, row.threads, EVENTS, row.format)?;
        let figure = measure(row.way, &file)?;
        let rate = figure.million_per_second();
        let floor = match row.floor {
            Some(floor) if rate < floor => format!("{floor:.0} **missed**"),
            Some(floor) => format!("{floor:.0}"),
            None => "–".to_owned(),
        };
        // In memory, the events themselves are most of it.
        let private = match row.way.starts_with("memory-") {
            true => "–".to_owned(),
            false => megabytes(figure.private),
        };
        let (what, shape, threads) = (row.what, row.shape.name(), row.threads);
        println!("| {what} | {shape}, {threads} | {floor} | {rate:.1} | {private} |");
    }
    println!();
    Ok(())
}

/// Private memory must not grow with the trace.
fn print_memory(folder: &Path) -> Result<()> {
    println!("| private memory, text | 5 M events | 50 M events |");
    println!("| --- | --- | --- |");
    for (shape, way) in [(Shape::Mix, "fast"), (Shape::Hold, "fast"), (Shape::Hold, "velodrome")] {
        let short = trace(folder, shape, 8, EVENTS, Format::Rapid)?;
        let long = trace(folder, shape, 8, EVENTS * 10, Format::Rapid)?;
        let (short, long) = (measure(way, &short)?, measure(way, &long)?);
        let name = shape.name();
        println!("| {name}, {way} | {} | {} |", megabytes(short.private), megabytes(long.private));
    }
    println!();
    Ok(())
}

fn print_sizes(folder: &Path) -> Result<()> {
    println!("| size, bytes an event | text | `.utr` |");
    println!("| --- | --- | --- |");
    for (shape, threads) in [(Shape::Mix, 8), (Shape::Mix, 64), (Shape::Hold, 8), (Shape::Pipe, 64)]
    {
        let size = |format| -> Result<f64> {
            let file = trace(folder, shape, threads, EVENTS, format)?;
            Ok(std::fs::metadata(file)?.len() as f64 / EVENTS as f64)
        };
        let (text, utr) = (size(Format::Rapid)?, size(Format::Utr)?);
        println!("| {}, {threads} threads | {text:.2} | {utr:.2} |", shape.name());
    }
    println!();
    Ok(())
}

/// Instructions an event: the difference between a trace and one twice as long, so that starting
/// up does not count.
fn print_instructions(folder: &Path) -> Result<()> {
    println!("| instructions an event | mix, text | mix, `.utr` |");
    println!("| --- | --- | --- |");
    for way in ["read", "fast", "velodrome", "aerodrome"] {
        let count = |format| -> Result<f64> {
            let short = trace(folder, Shape::Mix, 8, COUNTED, format)?;
            let long = trace(folder, Shape::Mix, 8, COUNTED * 2, format)?;
            let more = instructions(way, &long)? - instructions(way, &short)?;
            Ok(more as f64 / COUNTED as f64)
        };
        println!("| {way} | {:.0} | {:.0} |", count(Format::Rapid)?, count(Format::Utr)?);
    }
    Ok(())
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// The file of a generated trace, made if it is not there yet.
fn trace(
    folder: &Path,
    shape: Shape,
    threads: u32,
    events: u64,
    format: Format,
) -> Result<PathBuf> {
    let extension = if format == Format::Utr { "utr" } else { "std" };
    let file = folder.join(format!("{}-{threads}-{events}.{extension}", shape.name()));
    if file.exists() {
        return Ok(file);
    }
    let spec = ShapeSpec { threads, ..ShapeSpec::new(shape, events) };
    let mut source = ShapeSource::new(spec).map_err(anyhow::Error::msg)?;
    let options = CreateOptions { format: Some(format), ..CreateOptions::default() };
    let mut sink = create(&Output::Path(file.clone()), &options)?;
    let mut batch = Vec::new();
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        sink.write(source.tables(), &batch)?;
    }
    sink.finish(source.tables())?;
    File::open(&file)?.sync_all()?; // or the first measurement pays for writing it back
    Ok(file)
}

fn measure(way: &str, file: &Path) -> Result<Figure> {
    let output =
        Command::new(std::env::current_exe()?).args(["measure", way]).arg(file).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "measuring {way} on {}: {errors}", file.display());
    Figure::parse(&String::from_utf8(output.stdout)?)
}

fn instructions(way: &str, file: &Path) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["count", way])
        .arg(file)
        .output()
        .context("valgrind counts the instructions")?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "counting {way}: {text}");
    let line = text.lines().find_map(|line| line.split_once("refs:"));
    let (_, number) = line.with_context(|| format!("no count in: {text}"))?;
    Ok(number.trim().replace(',', "").parse()?)
}
