//! `untorn confirm`: reads a trace, asks whether it is atomic by values, shows the answer.

pub mod args;
pub mod config;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use serde_json::json;
use untorn_confirm::{Block, Confirmation, Options, Reason, Stage, ValueVerdict, Window, phrasing};
use untorn_report::operation::Operation;
use untorn_report::phrasing::{count, number};
use untorn_report::terminal::paint;
use untorn_report::text::{ellipsis, pad, plain, tail_ellipsis, width, wrap};
use untorn_trace::{Event, EventIdx, Tables};

use crate::console::{Console, Volume};
use crate::exit::{CliError, Exit, Result};
use crate::files::write_text;
use crate::reading::{ReadOptions, Reading, read};
use config::{Confirm, Part};

const BAD: Style = AnsiColor::Red.on_default().bold();
const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// Operations and blocks listed in a terminal; the JSON has all.
const MAX_SHOWN: usize = 20;

/// A trace with its answer.
struct Answer<'a> {
    config: &'a Confirm,
    reading: &'a Reading,
    events: &'a [Event],
    window: Option<Window>,
    found: Confirmation,
    time: Duration,
}

pub fn run(config: &Confirm) -> Result<Exit> {
    let start = Instant::now();
    let quiet = config.volume == Volume::Quiet;
    let manner = ReadOptions { blocks: &config.blocks, progress: "reading", quiet };
    let mut events: Vec<Event> = Vec::new();
    let reading = read(&config.input, manner, &mut |_, batch| {
        events.extend_from_slice(batch);
        ControlFlow::Continue(())
    })?;
    let window = window(config, &events)?;
    let options =
        Options { budget: config.budget, window, method: config.method, ..Options::default() };
    let found = untorn_confirm::confirm(&events, reading.tables(), &options);
    let time = start.elapsed();
    let answer = Answer { config, reading: &reading, events: &events, window, found, time };
    answer.show()?;
    Ok(answer.judge())
}

fn window(config: &Confirm, events: &[Event]) -> Result<Option<Window>> {
    let beyond = |at: EventIdx| {
        CliError::input(format!("there is no event {at}, {}", config.input.name()))
            .way_out(format!("the trace has {}", count(events.len() as u64, "event")))
    };
    match &config.part {
        Part::All => Ok(None),
        Part::Window(window) if window.to.0 > events.len() as u64 => {
            Err(beyond(EventIdx(window.to.0 - 1)))
        }
        Part::Window(window) => Ok(Some(*window)),
        Part::Around(instance) => match Window::around(events, instance) {
            Some(window) => Ok(Some(window)),
            None => Err(beyond(instance.iter().copied().max().unwrap_or_default())),
        },
    }
}

impl Answer<'_> {
    fn tables(&self) -> &Tables {
        self.reading.tables()
    }

    /// Nothing to check, and a cut trace, must not look like a pass.
    fn is_unchecked(&self) -> bool {
        self.found.facts.blocks == 0 && matches!(self.found.verdict, ValueVerdict::Atomic(_))
    }

    fn judge(&self) -> Exit {
        match self.found.verdict {
            ValueVerdict::NotAtomic(_) => Exit::Findings,
            ValueVerdict::Atomic(_) if self.is_unchecked() => Exit::BadInput,
            ValueVerdict::Atomic(_) => Exit::Clean,
            ValueVerdict::Undecided(_) => Exit::CouldNotRun,
        }
    }

    fn show(&self) -> Result<()> {
        let mut console = Console::new(self.config.color, self.config.volume);
        if let ValueVerdict::NotAtomic(reason) = &self.found.verdict {
            self.show_reason(reason, &mut console)?;
        }
        let look = console.look;
        let name = plain(&self.config.input.name());
        let text = paint(&format!("{name}: {}", self.headline()), BOLD, &look);
        console.say(&format!("{text}\n  {}\n", self.facts()))?;
        match &self.found.verdict {
            ValueVerdict::Undecided(why) => {
                let text = plain(&phrasing::undecided(why, self.tables()));
                paragraph(&text, &mut console)?;
            }
            ValueVerdict::Atomic(order) if look.verbose => {
                self.show_order(&order.blocks, &mut console)?;
            }
            _ => {}
        }
        self.show_notes(&mut console)?;
        match &self.config.json {
            Some(path) => write_text(path, &self.json(), &mut console),
            None => Ok(()),
        }
    }

    fn headline(&self) -> &'static str {
        match self.found.verdict {
            ValueVerdict::NotAtomic(Reason::Printed { .. }) => {
                "not atomic, say the printed conditions"
            }
            ValueVerdict::NotAtomic(_) => "not atomic by values",
            ValueVerdict::Atomic(_) if self.is_unchecked() => "NOT CHECKED",
            ValueVerdict::Atomic(_) => "atomic by values",
            ValueVerdict::Undecided(_) => "UNDECIDED",
        }
    }

    fn facts(&self) -> String {
        let facts = &self.found.facts;
        let mut parts = vec![count(self.reading.tally.events, "event")];
        if let Some(Window { from, to }) = self.window {
            parts.push(format!("window {from}..{to}"));
        }
        parts.push(count(facts.blocks as u64, "block"));
        parts.push(count((facts.transactions - facts.blocks) as u64, "access") + " outside");
        if facts.relevant > 0 {
            parts.push(format!("{} matter", number(facts.relevant as u64)));
        }
        parts.extend(stage(self.found.stage).map(|stage| format!("decided by {stage}")));
        if self.config.volume == Volume::Verbose {
            parts.push(format!("{:.2} s", self.time.as_secs_f64()));
        }
        parts.join(" · ")
    }

    fn show_reason(&self, reason: &Reason, console: &mut Console) -> Result<()> {
        let look = console.look;
        let printed = matches!(reason, Reason::Printed { .. });
        let what = if printed { "alarm, may be false" } else { "violation" };
        let title = format!("{what}: {}", plain(&phrasing::headline(reason, self.tables())));
        let badge = format!("[values · {}]", reason.kind().replace('-', " "));
        let gap = look.width.saturating_sub(width(&title) + width(&badge)).clamp(2, 80);
        let (title, badge) = (paint(&title, BAD, &look), paint(&badge, FAINT, &look));
        console.say(&format!("{title}{}{badge}\n", " ".repeat(gap)))?;
        let shown = self.operations(reason);
        let verb = shown.iter().map(|op| op.action.verb().len()).max().unwrap_or(0);
        let column = |text: &dyn Fn(&Operation) -> String| {
            let cells: Vec<String> = shown.iter().take(MAX_SHOWN).map(text).collect();
            let widest = cells.iter().map(|cell| width(cell)).max().unwrap_or(0);
            cells.iter().map(|cell| pad(cell, widest)).collect::<Vec<_>>()
        };
        let threads = column(&|op| ellipsis(&plain(&op.thread), 24));
        let places = column(&|op| tail_ellipsis(&plain(&op.place), 36));
        let positions = column(&|op| number(op.at));
        for (i, op) in shown.iter().take(MAX_SHOWN).enumerate() {
            let mut line = String::from("  ");
            if look.verbose {
                line.push_str(&format!("{}  ", paint(&positions[i], FAINT, &look)));
            }
            line.push_str(&threads[i]);
            if !places[i].is_empty() {
                line.push_str(&format!("  {}", paint(&places[i], FAINT, &look)));
            }
            let object = op.short_object(44);
            console.say(&format!("{line}  {}{object}\n", pad(op.action.verb(), verb + 1)))?;
        }
        for sentence in phrasing::sentences(reason, self.tables()) {
            paragraph(&plain(&sentence), console)?;
        }
        console.say("\n")
    }

    fn operations(&self, reason: &Reason) -> Vec<Operation> {
        let operation = |at: EventIdx| {
            let event = self.events.get(usize::try_from(at.0).ok()?)?;
            Some(Operation::new(at, event, self.tables()))
        };
        reason.events().into_iter().filter_map(operation).collect()
    }

    fn show_order(&self, blocks: &[Block], console: &mut Console) -> Result<()> {
        console.say("  a serial order:\n")?;
        for block in blocks.iter().take(MAX_SHOWN) {
            let name = plain(&phrasing::name(block, self.tables()));
            console.say(&format!("    {name} (event {})\n", number(block.begin.0)))?;
        }
        match blocks.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            rest => {
                console.say(&format!("    and {} more (--json has all)\n", number(rest as u64)))
            }
        }
    }

    /// Limits of the answer go to standard error, where a pipe does not hide them.
    fn show_notes(&self, console: &mut Console) -> Result<()> {
        let (reading, facts) = (self.reading, &self.found.facts);
        if let Some(cut) = &reading.notes().cut {
            console
                .warn(&format!("the trace is cut short: {cut}; only what comes before was judged"));
        }
        if reading.notes().skipped > 0 {
            let what = count(reading.notes().skipped, "malformed line");
            console.warn(&format!("{what} passed over"));
        }
        if reading.defects > 0 {
            console.warn(&format!("{} left out", count(reading.defects, "impossible event")));
        }
        if self.is_unchecked() {
            console.warn("nothing to check: no block that counts accesses anything");
        }
        if facts.open > 0 {
            let text =
                format!("  {} still open at the end\n", count(u64::from(facts.open), "block"));
            console.say(&text)?;
        }
        if facts.cuts > 0 {
            let cuts = count(u64::from(facts.cuts), "block");
            console.say(&format!("  {cuts} cut where it waited for a thread to end\n"))?;
        }
        Ok(())
    }

    fn json(&self) -> String {
        let (tables, facts) = (self.tables(), &self.found.facts);
        let block = |block: &Block| {
            json!({
                "thread": tables.thread_name(block.thread),
                "name": phrasing::name(block, tables),
                "begin": block.begin.0,
                "first": block.first.0,
                "last": block.last.0,
            })
        };
        let blocks = |all: &[Block]| all.iter().map(block).collect::<Vec<_>>();
        let (verdict, evidence) = match &self.found.verdict {
            ValueVerdict::Atomic(order) => {
                ("atomic", json!({ "serial_order": blocks(&order.blocks) }))
            }
            ValueVerdict::NotAtomic(reason) => (
                "not-atomic",
                json!({
                    "kind": reason.kind(),
                    "headline": phrasing::headline(reason, tables),
                    "sentences": phrasing::sentences(reason, tables),
                    "variables":
                        reason.vars().iter().map(|&v| tables.var_name(v)).collect::<Vec<_>>(),
                    "blocks": blocks(&reason.blocks()),
                    "operations": self.operations(reason),
                }),
            ),
            ValueVerdict::Undecided(why) => (
                "undecided",
                json!({ "kind": why.kind(), "sentence": phrasing::undecided(why, tables) }),
            ),
        };
        let window = self.window.map(|window| json!({ "from": window.from.0, "to": window.to.0 }));
        let report = json!({
            "format": "untorn-confirmation",
            "version": 1,
            "tool": concat!("untorn ", env!("CARGO_PKG_VERSION")),
            "file": self.config.input.path.display().to_string(),
            "window": window,
            "verdict": verdict,
            "checked": !self.is_unchecked(),
            "decided_by": stage(self.found.stage),
            "evidence": evidence,
            "events": self.reading.tally.events,
            "blocks": facts.blocks,
            "transactions": facts.transactions,
            "relevant": facts.relevant,
            "open_blocks": facts.open,
            "cut_blocks": facts.cuts,
        });
        // Names come from the program under test: `<` is escaped so that the text may stand in a page.
        format!("{report:#}").replace('<', "\\u003c") + "\n"
    }
}

/// Which stage decided, in words.
fn stage(stage: Stage) -> Option<&'static str> {
    match stage {
        Stage::OwnRead => Some("own reads"),
        Stage::Conflicts => Some("the order of conflicts"),
        Stage::Saturation => Some("saturation"),
        Stage::Serialiser => Some("a serial order"),
        Stage::Probing => Some("probing"),
        Stage::Exact => Some("search"),
        Stage::Printed => Some("the printed conditions"),
        Stage::Undecided => None,
    }
}

fn paragraph(text: &str, console: &mut Console) -> Result<()> {
    for line in wrap(text, console.look.width.saturating_sub(2).max(20)) {
        console.say(&format!("  {line}\n"))?;
    }
    Ok(())
}
