//! The list in a terminal.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use untorn_compositions::{Finding, Kind, Report, Step, Symptom};
use untorn_report::phrasing::{call_name, count, number};
use untorn_report::terminal::paint;
use untorn_report::text::{plain, wrap};

use crate::console::Console;
use crate::exit::Result;

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const MARK: Style = AnsiColor::Yellow.on_default().bold();

/// Fields of a set that are named before the rest is counted.
const MAX_FIELDS: usize = 4;

/// What is shown, and how much of it.
pub struct CompositionList<'a> {
    pub report: &'a Report,
    pub names: &'a str,
    pub top: usize,
    pub time: Duration,
}

impl CompositionList<'_> {
    pub fn show(&self, console: &mut Console) -> Result<()> {
        for (at, finding) in self.report.findings.iter().take(self.top).enumerate() {
            self.show_finding(at + 1, finding, console)?;
        }
        self.show_summary(console)?;
        self.show_tables(console)?;
        self.show_limits(console)
    }

    fn show_finding(&self, at: usize, finding: &Finding, console: &mut Console) -> Result<()> {
        let look = console.look;
        let client = format!("{}.{}", finding.class, finding.method);
        let place = place(finding).map_or(String::new(), |place| format!("  {place}"));
        let head = paint(&format!("{at}. {}", plain(&client)), BOLD, &look);
        let place = paint(&plain(&place), FAINT, &look);
        let points = paint(&format!("score {}", finding.score), MARK, &look);
        console.say(&format!("{head}{place}  {points}\n"))?;
        let on = format!("{} on {}", calls(finding), finding.receiver);
        paragraph(&on, console)?;
        paragraph(&why(finding), console)?;
        paragraph(&format!("shares {}", fields(&finding.set, look.verbose)), console)?;
        if look.verbose {
            let reasons = finding.reasons.iter();
            let reasons = reasons.map(|reason| format!("{:+} {}", reason.points(), reason.words()));
            paragraph(&reasons.collect::<Vec<_>>().join("; "), console)?;
        }
        console.say("\n")
    }

    fn show_summary(&self, console: &mut Console) -> Result<()> {
        let found = self.report.findings.len();
        let facts = &self.report.statistics;
        let head = match found {
            0 => "no compositions found".to_owned(),
            _ => format!("{} to read", count(found as u64, "composition")),
        };
        let rest = found.saturating_sub(self.top);
        let rest = match rest {
            0 => String::new(),
            rest => format!(", {} not shown (--top)", number(rest as u64)),
        };
        let head = paint(&format!("{}: {head}{rest}", plain(self.names)), BOLD, &console.look);
        let read = format!(
            "{} · {} · {} · {:.1} s",
            count(facts.classes, "class"),
            count(facts.methods, "method"),
            count(facts.jdk_classes, "class") + " of the JDK",
            self.time.as_secs_f64()
        );
        console.say(&format!("{head}\n  {read}\n"))
    }

    /// The paper's Tables 1 and 2, for one application.
    fn show_tables(&self, console: &mut Console) -> Result<()> {
        let facts = &self.report.statistics;
        let rows = [
            (
                "library classes, APIs, client classes",
                [facts.library_classes, facts.apis, facts.client_classes],
            ),
            (
                "compositions, by use, by complementation",
                [facts.compositions, facts.by_use, facts.by_complementation],
            ),
            (
                "often together, missed by it, found by it only",
                [facts.by_muvi, facts.missed_by_muvi, facts.only_muvi],
            ),
            (
                "use: missed by it, found by it only",
                [facts.by_use, facts.use_missed_by_muvi, facts.only_muvi_not_use],
            ),
            (
                "complementation: the same",
                [facts.by_complementation, facts.comp_missed_by_muvi, facts.only_muvi_not_comp],
            ),
            (
                "locked, brackets, compare-and-set: left out",
                [facts.guarded, facts.brackets, facts.compares],
            ),
        ];
        for (name, numbers) in rows {
            let numbers = numbers.map(|value| format!("{:>8}", number(value))).concat();
            console.say(&format!("  {name:<48}{numbers}\n"))?;
        }
        let sets = format!(
            "{} of fields, the largest of {}",
            count(facts.sets, "atomic set"),
            count(facts.largest_set, "field")
        );
        console.say(&format!("  {sets}\n"))
    }

    /// What was not analysed must be reported.
    fn show_limits(&self, console: &mut Console) -> Result<()> {
        let (facts, skipped) = (&self.report.statistics, &self.report.skipped);
        if facts.reflective + facts.wide > 0 {
            let text = format!(
                "not followed: {} by reflection, {} with too many targets",
                count(facts.reflective, "call"),
                number(facts.wide)
            );
            console.say(&format!("  {text}\n"))?;
        }
        if skipped.entries + skipped.classes > 0 {
            let (entries, classes) = (skipped.entries, skipped.classes);
            console.warn(&format!(
                "passed over {} that cannot be read and {} that is no class",
                count(entries, "entry"),
                count(classes, "file")
            ));
        }
        for (reason, methods) in &skipped.methods {
            console.warn(&format!("passed over {}: {reason}", count(*methods, "method")));
        }
        Ok(())
    }
}

/// `org/acme/Cart.java:42`.
fn place(finding: &Finding) -> Option<String> {
    let source = finding.source.as_deref()?;
    let line = finding.calls.first().and_then(|call| call.line);
    Some(line.map_or(source.to_owned(), |line| format!("{source}:{line}")))
}

/// `containsKey (line 42), then remove (line 44)`.
fn calls(finding: &Finding) -> String {
    let shown = finding.calls.iter().map(|call| {
        let line = call.line.map_or(String::new(), |line| format!(" (line {line})"));
        format!("{}{line}", call_name(&call.api))
    });
    shown.collect::<Vec<_>>().join(", then ")
}

/// The symptom, with the way of the dependence.
pub fn why(finding: &Finding) -> String {
    match finding.symptom {
        Symptom::Use => {
            let mut steps = finding.steps.iter();
            let first = steps.next().map_or(String::new(), first_step);
            let rest = steps.map(|step| format!(", which {} {}", link(step.kind), there(step)));
            first + &rest.collect::<String>()
        }
        Symptom::Complementation => "one never runs without the other".to_owned(),
        Symptom::Frequent => "several methods make these calls together".to_owned(),
    }
}

fn first_step(step: &Step) -> String {
    match step.kind {
        Kind::Data | Kind::Control => format!("the result {} {}", link(step.kind), there(step)),
        Kind::Heap => format!("the first call writes a field that is read by {}", there(step)),
        Kind::Exception => format!("only if the first call throws, there is {}", there(step)),
    }
}

/// `a branch (line 43)`.
fn there(step: &Step) -> String {
    let line = step.line.map_or(String::new(), |line| format!(" (line {line})"));
    format!("{}{line}", step.what)
}

const fn link(kind: Kind) -> &'static str {
    match kind {
        Kind::Data => "goes into",
        Kind::Control => "decides about",
        Kind::Heap => "is read by",
        Kind::Exception => "throws into",
    }
}

fn fields(set: &[String], verbose: bool) -> String {
    let most = if verbose { usize::MAX } else { MAX_FIELDS };
    let shown = set.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    match set.len().saturating_sub(most) {
        0 => shown,
        rest => format!("{shown} and {rest} more"),
    }
}

fn paragraph(text: &str, console: &mut Console) -> Result<()> {
    let width = console.look.width.saturating_sub(3).max(20);
    for line in wrap(&plain(text), width) {
        console.say(&format!("   {line}\n"))?;
    }
    Ok(())
}
