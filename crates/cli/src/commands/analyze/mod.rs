//! `untorn analyze`: which checkers read the trace, in how many passes, and the result.

pub mod args;
mod checkers;
pub mod config;
mod summary;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use untorn_report::model::Report;
use untorn_report::text::plain;
use untorn_report::{
    CheckerVerdict, Note, NoteKind, TraceReport, TraceSummary, TraceVerdict, phrasing,
};
use untorn_report::{dot, json, svg};
use untorn_serializability::{Outcome, Violation};
use untorn_trace::{Event, EventIdx};

use crate::console::{Console, Volume, complain};
use crate::exit::{CliError, Exit, Result};
use crate::files::{Input, write_text};
use crate::reading::{ReadOptions, Reading, read};
use args::CheckerName;
use checkers::Running;
use config::{Analyze, Plan};
use untorn_findings::cycle;
use untorn_serializability::context::{Context, Gatherer};

/// A trace that was checked, with what the report does not contain.
pub struct Analysis {
    pub report: TraceReport,
    /// Time for all readings, and the events seen in all of them.
    pub time: Duration,
    pub seen: u64,
}

pub fn run(config: &Analyze) -> Result<Exit> {
    let mut console = Console::new(config.color, config.volume);
    let mut exit = Exit::Clean;
    let mut traces: Vec<TraceReport> = Vec::new();
    for input in &config.inputs {
        let found = traces.iter().map(|trace| trace.findings.len()).sum();
        match Session::new(config, input).analyze(found) {
            Ok(analysis) => {
                summary::show(&analysis, &config.plan, &mut console)?;
                exit = exit.max(judge(&analysis.report));
                traces.push(analysis.report);
            }
            // One bad file must not hide what is wrong with the others.
            Err(failure) if config.inputs.len() > 1 => {
                complain(&failure.to_string());
                exit = exit.max(failure.exit);
            }
            Err(failure) => return Err(failure),
        }
    }
    write_reports(config, traces, &mut console)?;
    Ok(exit)
}

/// The exit code that a trace deserves.
fn judge(report: &TraceReport) -> Exit {
    let unchecked = report.notes.iter().any(|note| note.kind == NoteKind::NothingToCheck);
    match report.verdict {
        TraceVerdict::NotSerializable => Exit::Findings,
        // A check that checked nothing must not look like a pass.
        TraceVerdict::Serializable | TraceVerdict::Undecided if unchecked => Exit::BadInput,
        TraceVerdict::Serializable | TraceVerdict::Undecided => Exit::Clean,
    }
}

fn write_reports(config: &Analyze, traces: Vec<TraceReport>, console: &mut Console) -> Result<()> {
    let report = Report::new(concat!("untorn ", env!("CARGO_PKG_VERSION")), traces);
    if let Some(path) = &config.dot {
        write_text(path, &dot::render(report.findings()), console)?;
    }
    if let Some(path) = &config.svg {
        write_text(path, &svg::render(report.findings()), console)?;
    }
    if let Some(path) = &config.json {
        write_text(path, &json::render(&report), console)?;
    }
    Ok(())
}

const CLEAN: untorn_serializability::Verdict = untorn_serializability::Verdict::Serializable;

/// The passes over one trace.
struct Session<'a> {
    config: &'a Analyze,
    input: &'a Input,
    /// Events seen in all readings so far.
    seen: u64,
}

/// What one or more checkers made of the trace.
struct Checked {
    reading: Reading,
    outcomes: Vec<(CheckerName, Outcome)>,
    /// Every checker had seen enough before the trace ended.
    stopped: bool,
}

impl<'a> Session<'a> {
    fn new(config: &'a Analyze, input: &'a Input) -> Self {
        Self { config, input, seen: 0 }
    }

    /// Checks the trace; its findings are numbered after the `found` ones of earlier traces.
    fn analyze(mut self, found: usize) -> Result<Analysis> {
        let start = Instant::now();
        let again = self.input.can_be_read_again();
        let checked = match &self.config.plan {
            Plan::Explain if again => self.explain()?,
            Plan::Explain => self.check(&[CheckerName::Velodrome])?,
            Plan::Chosen(names) => self.check(names)?,
        };
        self.is_decided(&checked.outcomes)?;
        agree(&checked.outcomes)?;
        let violations = violations(&checked.outcomes);
        let mut notes = notes(self.config, &checked);
        let mut contexts = Vec::new();
        if again && !violations.is_empty() {
            contexts = self.gather(violations)?;
        } else if !violations.is_empty() {
            let text = "the trace could be read only once, so that the ends of blocks and the \
                        blocks nested in them are not shown";
            notes.push(Note { kind: NoteKind::NoContext, text: text.to_owned() });
        }
        let report = self.report(&checked, &contexts, notes, found);
        Ok(Analysis { report, time: start.elapsed(), seen: self.seen })
    }

    /// The fast verdict first; Velodrome reads the trace once more if there is a violation, or more
    /// open blocks than the fast checker can distinguish.
    fn explain(&mut self) -> Result<Checked> {
        let mut fast = self.check(&[CheckerName::Fast])?;
        if fast.outcomes.iter().all(|(_, outcome)| outcome.verdict == CLEAN) {
            return Ok(fast);
        }
        fast.outcomes.retain(|(_, outcome)| outcome.verdict.is_violation());
        let mut precise = self.check(&[CheckerName::Velodrome])?;
        precise.outcomes.splice(0..0, fast.outcomes);
        Ok(precise)
    }

    /// An exact checker without a verdict has met a limit of its own: that is no clean bill.
    fn is_decided(&self, outcomes: &[(CheckerName, Outcome)]) -> Result<()> {
        let undecided = outcomes.iter().find(|(name, outcome)| {
            let is_exact = !matches!(name, CheckerName::Atomizer | CheckerName::Eraser);
            is_exact && outcome.verdict == untorn_serializability::Verdict::Undecided
        });
        let Some((name, _)) = undecided else { return Ok(()) };
        let (name, file) = (checkers::word(*name), self.input.name());
        let what =
            "more blocks are open at once, or there are more threads, than it can tell apart";
        Err(CliError::run(format!("{name} has no verdict: {what}, {file}"))
            .way_out("leave out --with, or choose velodrome, which has no such limit"))
    }

    /// Shows the trace to the given checkers.
    fn check(&mut self, names: &[CheckerName]) -> Result<Checked> {
        let mut running = names.iter().map(|&name| Running::new(name)).collect::<Vec<_>>();
        if running.iter().any(Running::reads_twice) {
            if !self.input.can_be_read_again() {
                let what = format!("two-pass must read the trace twice, {}", self.input.name());
                return Err(CliError::input(what)
                    .way_out("store the trace in a file first, or choose another checker"));
            }
            self.read("first reading", &mut |at, batch| {
                checkers::preview(&mut running, at, batch)
            })?;
            checkers::end_preview(&mut running);
        }
        let mut stopped = false;
        let reading = self.read("checking", &mut |first, batch| {
            let flow = checkers::show(&mut running, first, batch);
            stopped = flow.is_break();
            flow
        })?;
        let outcomes = running.into_iter().map(Running::finish).collect();
        Ok(Checked { reading, outcomes, stopped })
    }

    /// Reads the trace once more for what stands around the cycles.
    fn gather(&mut self, violations: &[Violation]) -> Result<Vec<Context>> {
        let mut gatherer = Gatherer::new(violations);
        self.read("explaining", &mut |first, batch| gatherer.events(first, batch))?;
        Ok(gatherer.finish())
    }

    fn read(
        &mut self,
        progress: &'static str,
        each: &mut dyn FnMut(EventIdx, &[Event]) -> ControlFlow<()>,
    ) -> Result<Reading> {
        let quiet = self.config.volume == Volume::Quiet;
        let manner = ReadOptions { blocks: &self.config.blocks, progress, quiet };
        let reading = read(self.input, manner, each)?;
        self.seen += reading.tally.events;
        Ok(reading)
    }

    fn report(
        &self,
        checked: &Checked,
        contexts: &[Context],
        notes: Vec<Note>,
        found: usize,
    ) -> TraceReport {
        let Checked { reading, outcomes, .. } = checked;
        let tables = reading.tables();
        let mut findings = Vec::new();
        for (i, violation) in violations(outcomes).iter().enumerate() {
            let mut finding = cycle::finding(violation, contexts.get(i), tables);
            finding.number = u32::try_from(found + i + 1).unwrap_or(u32::MAX);
            findings.push(finding);
        }
        let alarms = outcomes
            .iter()
            .flat_map(|(name, outcome)| outcome.warnings.iter().map(move |w| (name, w)))
            .map(|(name, warning)| cycle::alarm(checkers::word(*name), warning, tables))
            .collect();
        let checkers: Vec<CheckerVerdict> = outcomes
            .iter()
            .map(|(name, outcome)| cycle::checker_verdict(checkers::word(*name), outcome))
            .collect();
        let facts = TraceSummary {
            file: self.input.path.display().to_string(),
            events: reading.tally.events,
            threads: tables.threads.len() as u64,
            variables: tables.vars.len() as u64,
            locks: tables.locks.len() as u64,
            blocks: reading.tally.counted_blocks,
        };
        TraceReport { facts, verdict: verdict(&checkers), checkers, findings, alarms, notes }
    }
}

/// One violation decides. Without a checker that decides, the verdict is open.
fn verdict(checkers: &[CheckerVerdict]) -> TraceVerdict {
    let said = |verdict| checkers.iter().any(|checker| checker.verdict == verdict);
    if said(TraceVerdict::NotSerializable) {
        TraceVerdict::NotSerializable
    } else if said(TraceVerdict::Serializable) {
        TraceVerdict::Serializable
    } else {
        TraceVerdict::Undecided
    }
}

/// The explained violations; one checker at most explains.
fn violations(outcomes: &[(CheckerName, Outcome)]) -> &[Violation] {
    let explained = outcomes.iter().find(|(_, outcome)| !outcome.violations.is_empty());
    explained.map_or(&[], |(_, outcome)| &outcome.violations)
}

/// Exact checkers must agree; if not, at least one of them is wrong, and one should not trust
/// a verdict.
fn agree(outcomes: &[(CheckerName, Outcome)]) -> Result<()> {
    let exact: Vec<_> = outcomes
        .iter()
        .filter(|(_, outcome)| outcome.verdict != untorn_serializability::Verdict::Undecided)
        .collect();
    let all_alike = exact
        .windows(2)
        .all(|pair| pair[0].1.verdict.is_violation() == pair[1].1.verdict.is_violation());
    if all_alike {
        return Ok(());
    }
    let lines = exact.iter().map(|(name, outcome)| {
        let verdict = cycle::checker_verdict(checkers::word(*name), outcome);
        format!("{}: {}", verdict.name, verdict.verdict.words())
    });
    Err(CliError::run("the checkers contradict each other, so at least one of them is wrong")
        .details(lines)
        .way_out("this is a bug in Untorn: please report it together with the trace"))
}

/// What a reader of the verdict must know about its limits.
fn notes(config: &Analyze, checked: &Checked) -> Vec<Note> {
    let reading = &checked.reading;
    let mut notes = Vec::new();
    let mut note = |kind, text: String| notes.push(Note { kind, text: plain(&text) });
    let found = reading.notes();
    if let Some(cut) = &found.cut {
        note(
            NoteKind::Cut,
            format!("the trace is cut short: {cut}; only what comes before was checked"),
        );
    }
    if found.skipped > 0 {
        let first = found.first_skipped.first().map_or("", String::as_str);
        let what = phrasing::count(found.skipped, "malformed line");
        note(NoteKind::Skipped, format!("{what} passed over, the first: {first}"));
    }
    if reading.defects > 0 {
        let first = reading.first_defects.first().map_or("", String::as_str);
        let what = phrasing::count(reading.defects, "impossible event");
        note(NoteKind::IllFormed, format!("{what} left out, the first: {first}"));
    }
    let needs_blocks = checked.outcomes.iter().any(|(name, _)| *name != CheckerName::Eraser);
    if needs_blocks && reading.tally.counted_blocks == 0 && !checked.stopped {
        note(NoteKind::NothingToCheck, nothing_to_check(config, reading));
    }
    if checked.stopped {
        let text = "reading stopped at the first violation; the counts are of what was read";
        note(NoteKind::Partial, text.to_owned());
    }
    if reading.tally.invisible > 0 {
        let what = phrasing::count(reading.tally.invisible, "event");
        note(
            NoteKind::Invisible,
            format!("{what} (branches, calls, inputs, requests, notifications) cannot conflict"),
        );
    }
    notes
}

fn nothing_to_check(config: &Analyze, reading: &Reading) -> String {
    if config.blocks.are_all() || reading.tally.blocks == 0 {
        return "nothing to check: the trace has no blocks, so that nothing in it is meant to be \
                atomic"
            .to_owned();
    }
    format!(
        "nothing to check: none of the {} of the trace counts under --atomic and --not-atomic; \
         `untorn trace info` lists their labels",
        phrasing::count(reading.tally.blocks, "block")
    )
}
