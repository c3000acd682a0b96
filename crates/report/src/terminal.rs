//! A finding as a person reads it in a terminal.

mod calls;
mod composition;
mod deadlock;
mod failure;

pub use failure::failure;

use anstyle::{AnsiColor, Style};

use crate::model::{Alarm, Finding, Tear};
use crate::operation::Operation;
use crate::phrasing;
use crate::scene::{line_at, split_place};
use crate::story::{harm, story};
use crate::text::{ellipsis, middle_ellipsis, pad, plain, tail_ellipsis, width, wrap};

/// How to show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Columns of the terminal; text is wrapped to it.
    pub width: usize,
    pub color: bool,
    /// Also shows positions, the ends of blocks, and the operations around the cycle.
    pub verbose: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self { width: 100, color: false, verbose: false }
    }
}

const HEADLINE: Style = AnsiColor::Red.on_default().bold();
const ALARM: Style = AnsiColor::Yellow.on_default().bold();
const TORN: Style = AnsiColor::Blue.on_default().bold();
const INTRUDER: Style = AnsiColor::Yellow.on_default();
const TEAR: Style = AnsiColor::Red.on_default().bold();
const FAINT: Style = Style::new().dimmed();
const PLAIN: Style = Style::new();

/// Names longer than this are cut: a table with one very long name is no table.
const THREAD_COLUMNS: usize = 24;
const PLACE_COLUMNS: usize = 36;
const OPERATION_COLUMNS: usize = 44;

/// The finding, ending in a line break.
pub fn finding(finding: &Finding, look: &Look) -> String {
    let mut out = head(finding, look);
    let composition = finding.evidence.as_ref().and_then(|own| own.composition.as_ref());
    out.push_str(&match composition {
        _ if finding.is_deadlock() => deadlock::interleaving(finding, look),
        Some(composition) => composition::interleaving(finding, composition, look),
        None => interleaving(finding, look),
    });
    if look.verbose {
        out.push_str(&blocks(finding, look));
    }
    if !finding.is_deadlock() {
        out.push_str(&proof(finding, look));
    }
    if finding.occurrences > 1 {
        out.push_str(&paragraph(&format!("Seen {}.", phrasing::times(finding.occurrences)), look));
    }
    if let Some(evidence) = &finding.evidence {
        if !evidence.inputs.is_empty() {
            out.push_str(&paragraph(&format!("with {}", plain(&evidence.inputs)), look));
        }
        for effect in &evidence.effects {
            out.push_str(&paragraph(&format!("visible: {effect}"), look));
        }
        if evidence.undone > 0 && !evidence.effects.is_empty() {
            let runs = phrasing::count(evidence.undone.into(), "run");
            let text = format!(
                "undone: nothing of that shows in {runs} in which the block ran as a whole"
            );
            out.push_str(&paragraph(&text, look));
        }
        if !evidence.untested.is_empty() {
            let text = "not tested: no run could be made to see whether that shows without the interruption";
            out.push_str(&paragraph(text, look));
        }
        if evidence.effects.is_empty() && !evidence.matters.is_empty() {
            out.push_str(&paragraph(&format!("matters: {}", evidence.matters), look));
        }
        out.push_str(&format!(
            "  {}\n",
            paint(&format!("replay: {}", evidence.replay), FAINT, look)
        ));
    }
    out
}

/// Why no serial order explains it.
fn proof(finding: &Finding, look: &Look) -> String {
    let values = finding.evidence.iter().flat_map(|evidence| &evidence.values);
    let mut proof: Vec<String> = values.cloned().collect();
    let is_composed = finding.evidence.as_ref().is_some_and(|own| own.composition.is_some());
    if is_composed && !look.verbose && !proof.is_empty() {
        // The values are those of accesses, but the finding speaks of calls.
        let text = "no order without an interruption between the two calls gives their results";
        return paragraph(text, look);
    }
    let story = story(finding, None);
    // The serial orders show it in a line; `--verbose` shows how it follows from the values.
    let orders = story.orders.filter(|orders| orders.is_refuted() && !look.verbose);
    if let Some(orders) = orders.filter(|_| !proof.is_empty()) {
        let blocks = phrasing::count(orders.parts.len() as u64, "block");
        let tried = orders.orders.len();
        proof = vec![format!("no serial order of the {blocks} gives these values ({tried} tried)")];
    }
    if proof.is_empty() || look.verbose {
        proof.push(phrasing::cycle(finding));
    }
    if story.pattern.len() == 4 {
        proof.insert(0, story.headline.iter().map(|span| span.text.as_str()).collect());
    }
    proof.extend(phrasing::blame(finding));
    proof.iter().map(|sentence| paragraph(sentence, look)).collect()
}

/// An alarm that may be false, in one or two lines.
pub fn alarm(alarm: &Alarm, look: &Look) -> String {
    let mut head = format!("{} {}", paint("warning:", ALARM, look), plain(&alarm.headline));
    if alarm.occurrences > 1 {
        head.push_str(&format!(", {}", phrasing::times(alarm.occurrences)));
    }
    let label = format!("[{} · may be a false alarm]", plain(&alarm.checker));
    head.push_str(&format!("  {}\n", paint(&label, FAINT, look)));
    let rows: Vec<Row> = alarm.operations.iter().map(|op| Row::new(op, PLAIN)).collect();
    head + &table(&rows, look)
}

fn head(finding: &Finding, look: &Look) -> String {
    let what = if finding.is_deadlock() { "deadlock" } else { "violation" };
    let title = format!("{what} {}: {}", finding.number, plain(&finding.headline));
    let badges: Vec<&str> = finding.badges.iter().map(String::as_str).collect();
    // The first word of the line is the same.
    let badges: Vec<&str> = badges.into_iter().filter(|badge| *badge != what).collect();
    let badges = format!("[{}]", plain(&badges.join(" · ")));
    let (shown, labels) = (paint(&title, HEADLINE, look), paint(&badges, FAINT, look));
    match look.width.checked_sub(width(&title) + width(&badges)).filter(|gap| *gap >= 2) {
        Some(gap) => format!("{shown}{}{labels}\n", " ".repeat(gap.min(80))),
        None => format!("{shown}\n  {labels}\n"),
    }
}

/// One line of the interleaving.
struct Row {
    at: u64,
    thread: String,
    thread_style: Style,
    place: String,
    verb: &'static str,
    object: String,
    mark: String,
    faint: bool,
    /// The line of the program that did it.
    source: Option<String>,
}

impl Row {
    fn new(operation: &Operation, thread_style: Style) -> Self {
        Self {
            at: operation.at,
            thread: middle_ellipsis(&plain(&operation.thread), THREAD_COLUMNS),
            thread_style,
            place: tail_ellipsis(&plain(&operation.place), PLACE_COLUMNS),
            verb: operation.action.verb(),
            object: operation.short_object(OPERATION_COLUMNS),
            mark: String::new(),
            faint: false,
            source: None,
        }
    }
}

fn interleaving(finding: &Finding, look: &Look) -> String {
    let tear = finding.tear();
    let mut rows = Vec::new();
    for (i, operation) in finding.operations.iter().enumerate() {
        let on_edge = finding.is_on_edge(i);
        if !on_edge && !look.verbose {
            continue;
        }
        let torn = finding.blamed().is_some_and(|blamed| blamed.thread == operation.thread);
        let mut row = Row::new(operation, if torn { TORN } else { INTRUDER });
        row.faint = !on_edge;
        row.mark = mark(finding, tear.as_ref(), i);
        row.source = source(finding, &operation.place);
        rows.push(row);
    }
    table(&rows, look)
}

/// The line of a place, if the finding has it.
fn source(finding: &Finding, place: &str) -> Option<String> {
    let (file, line) = split_place(place)?;
    let text = line_at(&finding.sources, file, line)?.trim();
    (!text.is_empty()).then(|| plain(&text.replace('\t', " ")))
}

fn mark(finding: &Finding, tear: Option<&Tear>, operation: usize) -> String {
    match tear.and_then(|tear| tear.intruders.iter().position(|&i| i == operation)) {
        Some(0) => {
            let name = finding.blamed().map_or("", |blamed| &blamed.thread);
            format!("← tears the block of {}", middle_ellipsis(&plain(name), THREAD_COLUMNS))
        }
        Some(_) => "←".to_owned(),
        None if tear.is_some_and(|tear| tear.target == operation) => {
            harm(finding).map_or_else(String::new, |told| ellipsis(&plain(&told.text), 48))
        }
        None => String::new(),
    }
}

/// The columns of thread, place and object, taken from the places first if there is too little room.
fn columns(room: usize, wanted: [usize; 3]) -> [usize; 3] {
    let mut columns = wanted;
    for (column, least) in [(1, 20), (2, 24), (0, 10)] {
        let excess = columns.iter().sum::<usize>().saturating_sub(room);
        columns[column] -= excess.min(columns[column].saturating_sub(least));
    }
    columns
}

fn table(rows: &[Row], look: &Look) -> String {
    let widest = |of: &dyn Fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let at = widest(&|row| phrasing::number(row.at).len());
    let verb = widest(&|row| row.verb.len());
    let numbers = if look.verbose { at + 2 } else { 0 };
    let room = look.width.saturating_sub(numbers + verb + 7);
    let [thread, place, object] = columns(
        room,
        [
            widest(&|row| width(&row.thread)),
            widest(&|row| width(&row.place)),
            widest(&|row| width(&row.object)),
        ],
    );
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        let mut line = "  ".to_owned();
        let mut columns = 2;
        if look.verbose {
            let number = format!("{:>at$}", phrasing::number(row.at));
            line.push_str(&format!("{}  ", paint(&number, FAINT, look)));
            columns += at + 2;
        }
        let name = pad(&middle_ellipsis(&row.thread, thread), thread);
        line.push_str(&paint(&name, row.thread_style, look));
        columns += thread;
        if place > 0 {
            let shown = pad(&tail_ellipsis(&row.place, place), place);
            line.push_str(&format!("  {}", paint(&shown, FAINT, look)));
            columns += 2 + place;
        }
        columns += 3 + verb;
        let indent = columns;
        // Of a name and its value both ends matter.
        let target = middle_ellipsis(&row.object, object);
        let words = format!("{}{target}", pad(row.verb, verb + 1));
        line.push_str(&format!("  {}", paint(&words, if row.faint { FAINT } else { PLAIN }, look)));
        columns += object;
        let mark = paint(&row.mark, TEAR, look);
        if row.mark.is_empty() {
            out.push_str(&format!("{line}\n"));
        } else if columns + 3 + width(&row.mark) <= look.width {
            let gap = object.saturating_sub(width(&target)) + 3;
            out.push_str(&format!("{line}{}{mark}\n", " ".repeat(gap)));
        } else {
            out.push_str(&format!("{line}\n{}{mark}\n", " ".repeat(indent.min(look.width / 2))));
        }
        // The same operation at the same place needs no second copy of the line.
        let is_new = rows[..index].iter().all(|before| before.place != row.place);
        if let Some(text) = row.source.as_ref().filter(|_| is_new) {
            let indent = numbers + thread + 4;
            let room = look.width.saturating_sub(indent + 2).max(20);
            let text = format!("│ {}", ellipsis(text, room));
            out.push_str(&format!("{}{}\n", " ".repeat(indent), paint(&text, FAINT, look)));
        }
    }
    out
}

/// The blocks of the cycle with their extent; only in the verbose form.
fn blocks(finding: &Finding, look: &Look) -> String {
    let mut out = String::new();
    for transaction in &finding.transactions {
        for block in &transaction.blocks {
            let extent = match block.end {
                Some(end) => format!("events {}–{}", block.begin, end),
                None => format!("from event {}, end not in sight", block.begin),
            };
            let verdict = match (block.refuted, transaction.blamed) {
                (true, _) => ", refuted",
                (false, true) => ", not refuted",
                (false, false) => "",
            };
            let place = match block.place.as_str() {
                "" => String::new(),
                place => format!(" ({})", plain(place)),
            };
            let nested = "  ".repeat(block.depth as usize);
            let text = format!(
                "  {nested}block {}{place} of {}: {extent}{verdict}",
                plain(&block.name),
                plain(&transaction.thread)
            );
            out.push_str(&format!("{}\n", paint(&text, FAINT, look)));
        }
    }
    out
}

fn paragraph(text: &str, look: &Look) -> String {
    let mut out = String::new();
    for line in wrap(&plain(text), look.width.saturating_sub(2).max(20)) {
        out.push_str(&format!("  {line}\n"));
    }
    out
}

/// The text in a style, or as it is.
pub fn paint(text: &str, style: Style, look: &Look) -> String {
    if look.color && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
}
