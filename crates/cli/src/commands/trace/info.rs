//! `untorn trace info`: what is in a trace.

use std::collections::HashMap;
use std::fmt::Write;

use untorn_report::Action;
use untorn_report::phrasing::{count, number};
use untorn_report::text::{ellipsis, pad, plain, width};
use untorn_trace::{BATCH, Event, LabelId, Op, Source, Tables};

use crate::console::{Console, Progress};
use crate::exit::{Exit, Result};
use crate::files::Input;

/// Labels of blocks listed; the rest is counted.
const MAX_LABELS: usize = 20;
const LABEL_COLUMNS: usize = 60;

#[derive(Default)]
struct Census {
    events: u64,
    /// Events by kind, in the order of first appearance.
    kinds: Vec<(&'static str, u64)>,
    blocks: HashMap<LabelId, u64>,
    with_value: u64,
    accesses: u64,
    with_place: u64,
}

pub fn run(input: &Input, console: &mut Console) -> Result<Exit> {
    let (format, mut source) = input.open_known()?;
    let mut census = Census::default();
    let mut batch = Vec::with_capacity(BATCH);
    let mut progress = Progress::new("reading", false);
    loop {
        source.read(&mut batch).map_err(|error| input.fault(&error))?;
        if batch.is_empty() {
            break;
        }
        census.add(&batch);
        progress.at(census.events);
    }
    drop(progress);
    let mut out = format!("{}\n", plain(&input.name()));
    row(&mut out, "format", format.name());
    row(&mut out, "complete", &completeness(source.as_ref()));
    census.describe(&mut out, source.tables());
    describe_meta(&mut out, source.tables());
    console.put(&out)?;
    Ok(Exit::Clean)
}

fn row(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "  {}{value}", pad(name, 12));
}

fn completeness(source: &dyn Source) -> String {
    let notes = source.notes();
    let mut text = match &notes.cut {
        Some(why) => format!("NO, cut short: {}", plain(why)),
        None => "yes".to_owned(),
    };
    if notes.skipped > 0 {
        let _ = write!(text, ", but {} passed over", count(notes.skipped, "malformed line"));
    }
    text
}

impl Census {
    fn add(&mut self, batch: &[Event]) {
        self.events += batch.len() as u64;
        for event in batch {
            let kind = Action::of(event.op).verb();
            match self.kinds.iter_mut().find(|(name, _)| *name == kind) {
                Some((_, count)) => *count += 1,
                None => self.kinds.push((kind, 1)),
            }
            match event.op {
                Op::Begin { label, .. } => *self.blocks.entry(label).or_default() += 1,
                Op::Read { .. } | Op::Write { .. } => {
                    self.accesses += 1;
                    self.with_value += u64::from(event.value().is_some());
                }
                _ => {}
            }
            self.with_place += u64::from(event.site != untorn_trace::SiteId::NONE);
        }
    }

    fn describe(&self, out: &mut String, tables: &Tables) {
        row(out, "events", &number(self.events));
        let mut kinds = self.kinds.clone();
        kinds.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
        let widest = kinds.iter().map(|(_, count)| number(*count).len()).max().unwrap_or(0);
        for (kind, count) in kinds {
            let _ = writeln!(out, "    {}{:>widest$}", pad(kind, 10), number(count));
        }
        row(out, "threads", &number(tables.threads.len() as u64));
        row(out, "variables", &number(tables.vars.len() as u64));
        row(out, "locks", &number(tables.locks.len() as u64));
        row(
            out,
            "places",
            &format!(
                "{}, known for {}",
                number(tables.sites.len() as u64),
                share(self.with_place, self.events)
            ),
        );
        row(
            out,
            "values",
            &format!("known for {} of the reads and writes", share(self.with_value, self.accesses)),
        );
        self.describe_blocks(out, tables);
    }

    fn describe_blocks(&self, out: &mut String, tables: &Tables) {
        let all: u64 = self.blocks.values().sum();
        if all == 0 {
            row(out, "blocks", "none: there is nothing to check in this trace");
            return;
        }
        row(
            out,
            "blocks",
            &format!("{} of {}", number(all), count(self.blocks.len() as u64, "label")),
        );
        let mut labels: Vec<(String, u64)> = self
            .blocks
            .iter()
            .map(|(&label, &count)| {
                let name = tables.labels.get(label).unwrap_or("(unnamed)");
                (ellipsis(&plain(name), LABEL_COLUMNS), count)
            })
            .collect();
        labels.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let shown = &labels[..labels.len().min(MAX_LABELS)];
        let widest = shown.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        for (name, count) in shown {
            let _ = writeln!(out, "    {}  {}", pad(name, widest), number(*count));
        }
        if labels.len() > shown.len() {
            let _ = writeln!(
                out,
                "    and {}",
                count((labels.len() - shown.len()) as u64, "more label")
            );
        }
    }
}

fn share(part: u64, whole: u64) -> String {
    match (part, whole) {
        (0, _) => "none".to_owned(),
        (part, whole) if part == whole => "all".to_owned(),
        (part, whole) => format!("{:.0} %", 100.0 * part as f64 / whole as f64),
    }
}

fn describe_meta(out: &mut String, tables: &Tables) {
    let meta = &tables.meta;
    if !meta.front_end.is_empty() {
        row(out, "recorded by", &plain(&meta.front_end));
    }
    if !meta.command.is_empty() {
        row(out, "command", &plain(&meta.command.join(" ")));
    }
    if let Some(seed) = meta.seed {
        row(out, "seed", &seed.to_string());
    }
    let parts = [
        ("setup", meta.setup.as_ref().map(|setup| serde_json::json!(setup))),
        ("summary", meta.summary.as_ref().map(|summary| serde_json::json!(summary))),
    ];
    for (name, value) in parts.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        row(out, name, &plain(&value.to_string()));
    }
    for (name, value) in &meta.other {
        row(out, &plain(name), &plain(&value.to_string()));
    }
}
