//! What a person reads after a prediction.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use untorn_predict::{History, Origin};
use untorn_report::operation::Operation;
use untorn_report::terminal::{Look, paint};
use untorn_report::text::{ellipsis, pad, plain, tail_ellipsis, width};
use untorn_report::words::{count, number};
use untorn_trace::{EventIdx, Tables};

use super::config::{Method, Predict, Sure};
use super::report::{Counts, Prediction, Predictions};
use crate::console::Console;
use crate::exit::Result;
use crate::reading::Reading;

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const PLAIN: Style = Style::new();
const OWN: Style = AnsiColor::Cyan.on_default();
const OTHER: Style = AnsiColor::Yellow.on_default();
const TEAR: Style = AnsiColor::Red.on_default();

const THREAD_COLUMNS: usize = 20;
const PLACE_COLUMNS: usize = 36;
const NAME_COLUMNS: usize = 40;

pub fn show(
    predictions: &Predictions,
    reading: &Reading,
    history: &History,
    config: &Predict,
    time: Duration,
    console: &mut Console,
) -> Result<()> {
    let look = console.look;
    let tables = reading.tables();
    for (prediction, place) in predictions.list.iter().zip(1..) {
        let text = one(prediction, place, history, tables, &look);
        console.say(&format!("{text}\n"))?;
    }
    let counts = &predictions.counts;
    let rest = counts.feasible.saturating_sub(predictions.list.len() as u64);
    if rest > 0 {
        console.say(&format!("and {} more (--limit)\n\n", count(rest, "prediction")))?;
    }
    let name = plain(&config.input.name());
    let headline = match counts.feasible {
        0 => "nothing predicted".to_owned(),
        some => count(some, "prediction"),
    };
    console.say(&format!("{}\n", paint(&format!("{name}: {headline}"), BOLD, &look)))?;
    console.say(&format!("  {}\n", verdicts(counts, config.method)))?;
    if let Some(untried) = untried(counts) {
        console.say(&format!("  {untried}\n"))?;
    }
    let facts = [
        count(history.len() as u64, "event"),
        count(tables.threads.len() as u64, "thread"),
        count(tables.vars.len() as u64, "variable"),
        count(tables.locks.len() as u64, "lock"),
        format!("{:.2} s", time.as_secs_f64()),
        format!("{} events/s", number((history.len() as f64 / time.as_secs_f64()) as u64)),
    ];
    console.say(&format!("  {}\n", facts.join(" · ")))?;
    notes(reading, config, console);
    Ok(())
}

/// Limits of what was looked at go to standard error, where a pipe does not hide them.
fn notes(reading: &Reading, config: &Predict, console: &Console) {
    let name = config.input.name();
    if let Some(cut) = &reading.notes().cut {
        console.warn(&format!("the trace is cut short: {cut}, {name}"));
    }
    if reading.notes().skipped > 0 {
        let what = count(reading.notes().skipped, "malformed line");
        console.warn(&format!("{what} passed over, {name}"));
    }
    if reading.defects > 0 {
        console.warn(&format!("{} left out, {name}", count(reading.defects, "impossible event")));
    }
}

fn verdicts(counts: &Counts, method: Method) -> String {
    let (sure, unsure) = (number(counts.feasible - counts.unsure), number(counts.unsure));
    let (infeasible, undecided) = (number(counts.infeasible), number(counts.undecided));
    let cannot = match method {
        // Other values may still let it happen.
        Method::Only(Sure::Value) => "not with the same values",
        Method::Only(Sure::Source) => "not from the same writes",
        _ => "cannot",
    };
    format!(
        "{}: {sure} can happen · {unsure} may happen · {infeasible} {cannot} · {undecided} undecided",
        count(counts.candidates, "candidate"),
    )
}

fn untried(counts: &Counts) -> Option<String> {
    let parts = [
        (counts.guarded, "guarded by a lock"),
        (counts.ordered, "ordered by forks and joins"),
        (counts.left_out, "LEFT OUT, too many"),
    ];
    let some = parts.iter().filter(|(count, _)| *count > 0);
    let texts: Vec<String> = some.map(|(n, what)| format!("{} {what}", number(*n))).collect();
    (!texts.is_empty()).then(|| format!("not tried: {}", texts.join(" · ")))
}

fn one(
    prediction: &Prediction,
    place: u32,
    history: &History,
    tables: &Tables,
    look: &Look,
) -> String {
    let block = plain(&prediction.block(history, tables));
    let title = format!("prediction {place}: {}", ellipsis(&block, NAME_COLUMNS));
    let origin = match prediction.candidate.origin {
        Origin::Declared => "declared block",
        Origin::Inferred => "inferred block",
    };
    let letters = prediction.candidate.pattern.letters();
    let badges = format!("[{} · {letters} · {origin}]", prediction.sure.label());
    let gap = look.width.saturating_sub(width(&title) + width(&badges)).max(2);
    let mut text = format!(
        "{}{}{}\n",
        paint(&title, BOLD, look),
        " ".repeat(gap.min(80)),
        paint(&badges, FAINT, look)
    );
    text.push_str(&rows(prediction, history, tables, look));
    let (steps, kept) = (prediction.plan.steps.len(), prediction.kept());
    let instances = count(prediction.candidate.instances, "instance");
    let mut last = format!("{instances} in this run");
    if look.verbose {
        let reordered = count((steps - kept) as u64, "event");
        last = format!(
            "{last}; known by {}; the plan keeps the first {} and puts {reordered} behind",
            prediction.sure.name(),
            number(kept as u64)
        );
    }
    text.push_str(&format!("  {}\n", paint(&last, FAINT, look)));
    text
}

/// The three events, in the predicted order.
fn rows(prediction: &Prediction, history: &History, tables: &Tables, look: &Look) -> String {
    let operations: Vec<Operation> = prediction
        .goal
        .events
        .iter()
        .map(|&at| Operation::new(EventIdx::from(at), history.event(at), tables))
        .collect();
    let threads = operations.iter().map(|op| ellipsis(&plain(&op.thread), THREAD_COLUMNS));
    let threads: Vec<String> = threads.collect();
    let places = operations.iter().map(|op| tail_ellipsis(&plain(&op.place), PLACE_COLUMNS));
    let places: Vec<String> = places.collect();
    let widest = |texts: &[String]| texts.iter().map(|text| width(text)).max().unwrap_or(0);
    let (thread_columns, place_columns) = (widest(&threads), widest(&places));
    let mut text = String::new();
    for (i, operation) in operations.iter().enumerate() {
        let other = operation.thread != operations[0].thread;
        let style = if other { OTHER } else { OWN };
        text.push_str("  ");
        if look.verbose {
            text.push_str(&paint(&format!("{:>9}  ", number(operation.at)), FAINT, look));
        }
        text.push_str(&paint(&pad(&threads[i], thread_columns), style, look));
        if place_columns > 0 {
            let place = pad(&places[i], place_columns);
            text.push_str(&format!("  {}", paint(&place, FAINT, look)));
        }
        // Values are not shown: in the predicted order they may be others.
        let target = tail_ellipsis(&plain(&operation.target), NAME_COLUMNS);
        let words = format!("  {}{target}", pad(operation.action.verb(), 6));
        text.push_str(&paint(&words, PLAIN, look));
        if other {
            text.push_str(&paint("   ← comes between", TEAR, look));
        }
        text.push('\n');
    }
    text
}
