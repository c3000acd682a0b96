//! What a person reads after a check.

use anstyle::Style;
use untorn_report::phrasing::{count, number};
use untorn_report::terminal::{self, paint};
use untorn_report::text::plain;
use untorn_report::{NoteKind, TraceReport, TraceVerdict};

use super::Analysis;
use super::config::Plan;
use crate::console::Console;
use crate::exit::Result;

/// Findings and alarms printed for one trace; the JSON report has them all.
const MAX_SHOWN: usize = 50;

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

pub fn show(analysis: &Analysis, plan: &Plan, console: &mut Console) -> Result<()> {
    let report = &analysis.report;
    let look = console.look;
    for finding in report.findings.iter().take(MAX_SHOWN) {
        console.say(&format!("{}\n", terminal::finding(finding, &look)))?;
    }
    hidden(report.findings.len(), "violation", console)?;
    for alarm in report.alarms.iter().take(MAX_SHOWN) {
        console.say(&format!("{}\n", terminal::alarm(alarm, &look)))?;
    }
    hidden(report.alarms.len(), "warning", console)?;
    let file = name(report);
    console.say(&format!("{}\n", paint(&format!("{file}: {}", headline(report)), BOLD, &look)))?;
    console.say(&format!("  {}\n", facts(analysis)))?;
    if *plan != Plan::Explain || look.verbose {
        for checker in &report.checkers {
            console.say(&format!("  {}\n", paint(&verdict(checker), FAINT, &look)))?;
        }
    }
    if report.verdict == TraceVerdict::NotSerializable && report.findings.is_empty() {
        console.say("  for an explanation leave out --with, or add velodrome to it\n")?;
    }
    show_notes(report, console)
}

fn name(report: &TraceReport) -> String {
    if report.facts.file == "-" { "standard input".to_owned() } else { plain(&report.facts.file) }
}

fn hidden(all: usize, noun: &str, console: &mut Console) -> Result<()> {
    match all.saturating_sub(MAX_SHOWN) {
        0 => Ok(()),
        rest => console.say(&format!("and {} more (--json has all)\n\n", count(rest as u64, noun))),
    }
}

/// The verdict in one line. Without praise: a clean trace means nothing for other runs.
fn headline(report: &TraceReport) -> String {
    let has = |kind| report.notes.iter().any(|note| note.kind == kind);
    let alarms = match report.alarms.len() as u64 {
        0 => String::new(),
        n => format!(", {} that may be false", count(n, "warning")),
    };
    let verdict = match report.verdict {
        TraceVerdict::NotSerializable if report.findings.is_empty() => {
            "not serializable".to_owned()
        }
        TraceVerdict::NotSerializable => count(report.findings.len() as u64, "violation"),
        _ if has(NoteKind::NothingToCheck) => "NOT CHECKED".to_owned(),
        TraceVerdict::Serializable => "no torn block in this run".to_owned(),
        TraceVerdict::Undecided => "no verdict".to_owned(),
    };
    verdict + &alarms
}

fn facts(analysis: &Analysis) -> String {
    let facts = &analysis.report.facts;
    let seconds = analysis.time.as_secs_f64();
    [
        count(facts.events, "event"),
        count(facts.threads, "thread"),
        count(facts.blocks, "block"),
        count(facts.variables, "variable"),
        count(facts.locks, "lock"),
        format!("{seconds:.2} s"),
        rate(analysis.seen as f64 / seconds.max(1e-9)),
    ]
    .join(" · ")
}

fn rate(per_second: f64) -> String {
    match per_second {
        r if r >= 1e6 => format!("{:.1} M events/s", r / 1e6),
        r if r >= 1e3 => format!("{:.0} k events/s", r / 1e3),
        r => format!("{r:.0} events/s"),
    }
}

fn verdict(checker: &untorn_report::CheckerVerdict) -> String {
    let mut text = format!("{}: ", checker.name);
    match (checker.verdict, checker.at) {
        (TraceVerdict::Undecided, _) if checker.alarms == 0 => text.push_str("no warnings"),
        (TraceVerdict::Undecided, _) => {
            text.push_str(&format!("{}, may be false alarms", count(checker.alarms, "warning")));
        }
        (verdict, Some(at)) => {
            text.push_str(&format!("{} at event {}", verdict.words(), number(at)));
        }
        (verdict, None) => text.push_str(verdict.words()),
    }
    text
}

/// Limits of the verdict go to standard error, where a pipe does not hide them.
fn show_notes(report: &TraceReport, console: &mut Console) -> Result<()> {
    for note in &report.notes {
        match note.kind {
            NoteKind::Cut | NoteKind::Skipped | NoteKind::IllFormed | NoteKind::NothingToCheck => {
                console.warn(&format!("{}, {}", note.text, name(report)));
            }
            NoteKind::Invisible if !console.look.verbose => {}
            NoteKind::Invisible | NoteKind::NoContext | NoteKind::Partial => {
                console.say(&format!("  {}\n", note.text))?;
            }
        }
    }
    Ok(())
}
