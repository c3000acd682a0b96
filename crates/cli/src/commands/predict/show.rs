//! What a person reads after a prediction.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use untorn_predict::{History, Origin};
use untorn_report::operation::Operation;
use untorn_report::phrasing::{count, number};
use untorn_report::terminal::{Look, paint};
use untorn_report::text::{ellipsis, pad, plain, tail_ellipsis, width};
use untorn_trace::{EventIdx, Tables};

use super::config::{Certainty, Method, Patterns, Predict};
use super::question::Question;
use super::report::{Counts, Prediction, Predictions, Tally};
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
    let feasible = predictions.tally.feasible();
    let rest = feasible.saturating_sub(predictions.list.len() as u64);
    if rest > 0 {
        console.say(&format!("and {} more (--limit)\n\n", count(rest, "prediction")))?;
    }
    let name = plain(&config.input.name());
    let headline = match feasible {
        0 => "nothing predicted".to_owned(),
        some => count(some, "prediction"),
    };
    console.say(&format!("{}\n", paint(&format!("{name}: {headline}"), BOLD, &look)))?;
    for line in summary(&predictions.tally, config) {
        console.say(&format!("  {line}\n"))?;
    }
    let facts = [
        count(history.whole_len() as u64, "event"),
        count(tables.threads.len() as u64, "thread"),
        count(tables.vars.len() as u64, "variable"),
        count(tables.locks.len() as u64, "lock"),
        format!("{:.2} s", time.as_secs_f64()),
        format!("{} events/s", number((history.whole_len() as f64 / time.as_secs_f64()) as u64)),
    ];
    console.say(&format!("  {}\n", facts.join(" · ")))?;
    notes(reading, config, console);
    Ok(())
}

/// Limits of the analysis go to standard error, where a pipe does not hide them.
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

/// The results for the candidates: of those of two variables only if there are any.
fn summary(tally: &Tally, config: &Predict) -> Vec<String> {
    let what = match config.patterns {
        Patterns::Torn(_) => "candidate",
        Patterns::Events(_) => "group of places",
    };
    let mut lines = vec![verdicts(&tally.one, what, config.method)];
    lines.extend(untried(&tally.one));
    if tally.pairs.candidates + tally.pairs.left_out > 0 {
        lines.push(verdicts(&tally.pairs, "candidate of two variables", config.method));
        lines.extend(untried(&tally.pairs));
    }
    lines
}

fn verdicts(counts: &Counts, what: &str, method: Method) -> String {
    let (sure, unsure) = (number(counts.feasible - counts.unsure), number(counts.unsure));
    let (infeasible, undecided) = (number(counts.infeasible), number(counts.undecided));
    let cannot = match method {
        // Other values may still let it happen.
        Method::Only(Certainty::Value) => "not with the same values",
        Method::Only(Certainty::Source) => "not from the same writes",
        _ => "cannot",
    };
    format!(
        "{}: {sure} can happen · {unsure} may happen · {infeasible} {cannot} · {undecided} undecided",
        count_of(counts.candidates, what),
    )
}

/// `2 candidates of two variables`.
fn count_of(number: u64, what: &str) -> String {
    match what.split_once(' ') {
        Some((head, rest)) => format!("{} {rest}", count(number, head)),
        None => count(number, what),
    }
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
    let block = plain(&prediction.name(history, tables));
    let title = format!("prediction {place}: {}", ellipsis(&block, NAME_COLUMNS));
    let mut badges = vec![prediction.question.label(prediction.sure).to_owned()];
    badges.extend(prediction.question.letters());
    if matches!(prediction.question, Question::Pair(_)) {
        badges.push("two variables".to_owned());
    }
    badges.extend(prediction.question.block().map(|(_, origin)| match origin {
        Origin::Declared => "declared block".to_owned(),
        Origin::Inferred => "inferred block".to_owned(),
    }));
    let badges = format!("[{}]", badges.join(" · "));
    let gap = look.width.saturating_sub(width(&title) + width(&badges)).max(2);
    let mut text = format!(
        "{}{}{}\n",
        paint(&title, BOLD, look),
        " ".repeat(gap.min(80)),
        paint(&badges, FAINT, look)
    );
    text.push_str(&rows(prediction, history, tables, look));
    let instances = count(prediction.question.instances(), "instance");
    let mut last = format!("{instances} in this run");
    if look.verbose {
        let lifted = history.lift(&prediction.outline);
        let reordered = count(lifted.changed() as u64, "event");
        last = format!(
            "{last}; known by {}; the plan keeps the first {} and puts {reordered} behind",
            prediction.sure.name(),
            number(u64::from(lifted.kept))
        );
    }
    text.push_str(&format!("  {}\n", paint(&last, FAINT, look)));
    text
}

/// The events, in the predicted order. If a thread would have to turn, what it would do then is the last.
fn rows(prediction: &Prediction, history: &History, tables: &Tables, look: &Look) -> String {
    let mut events = prediction.events();
    let is_seen = prediction.question.is_seen();
    if !is_seen {
        // The goal is: the other one's check, the check, the other one's act. Torn is the second one.
        events.remove(0);
        events.push(prediction.goal.events[2]);
    }
    let mut operations: Vec<Operation> = events
        .iter()
        .map(|&at| {
            let position = EventIdx(u64::from(history.position(at)));
            Operation::new(position, history.event(at), tables)
        })
        .collect();
    if let (false, [first, .., last]) = (is_seen, &mut operations[..]) {
        last.thread.clone_from(&first.thread);
    }
    let threads = operations.iter().map(|op| ellipsis(&plain(&op.thread), THREAD_COLUMNS));
    let threads: Vec<String> = threads.collect();
    let places = operations.iter().map(|op| tail_ellipsis(&plain(&op.place), PLACE_COLUMNS));
    let places: Vec<String> = places.collect();
    let widest = |texts: &[String]| texts.iter().map(|text| width(text)).max().unwrap_or(0);
    let (thread_columns, place_columns) = (widest(&threads), widest(&places));
    let verbs = operations.iter().map(|op| width(op.action.verb()) + 1).max().unwrap_or(0).max(6);
    let torn = prediction.question.block().is_some();
    let end = operations.iter().rposition(|op| op.thread == operations[0].thread).unwrap_or(0);
    let mut text = String::new();
    for (i, operation) in operations.iter().enumerate() {
        let other = operation.thread != operations[0].thread;
        let style = if other { OTHER } else { OWN };
        let surmised = !is_seen && i + 1 == operations.len();
        text.push_str("  ");
        if look.verbose {
            let at = if surmised { String::new() } else { number(operation.at) };
            text.push_str(&paint(&format!("{at:>9}  "), FAINT, look));
        }
        text.push_str(&paint(&pad(&threads[i], thread_columns), style, look));
        if place_columns > 0 {
            let place = pad(&places[i], place_columns);
            text.push_str(&format!("  {}", paint(&place, FAINT, look)));
        }
        // Values are not shown: in the predicted order they may be others.
        let target = tail_ellipsis(&plain(&operation.target), NAME_COLUMNS);
        let words = format!("  {}{target}", pad(operation.action.verb(), verbs));
        text.push_str(&paint(&words, PLAIN, look));
        if torn && other && i < end {
            text.push_str(&paint("   ← comes between", TEAR, look));
        }
        if surmised {
            text.push_str(&paint("   ← if it goes the way of the other", TEAR, look));
        }
        text.push('\n');
    }
    text
}
