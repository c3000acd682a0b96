//! Whether a run is as it should be.

use std::fmt;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::formats::utr;
use untorn_trace::validate::Validator;
use untorn_trace::{EventIdx, RecordingSummary};

use super::catalogue::Output;
use super::prepare::ReadyProgram;
use crate::process::FinishedProcess;

/// What is wrong with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It did not end, or it was ended as a deadlock that the program cannot have.
    Hang(String),
    /// A signal, a crash report of the JVM, a panic, an error of `untorn`.
    Crash(String),
    /// The recorder let the program go, or its trace is not whole or not possible.
    Trace(String),
    /// It printed something that the program cannot print, or ended with another exit code.
    Output(String),
    /// The replay did something else.
    Replay(String),
}

impl Fault {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Hang(_) => "hang",
            Self::Crash(_) => "crash",
            Self::Trace(_) => "trace",
            Self::Output(_) => "output",
            Self::Replay(_) => "replay",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Hang(why)
        | Self::Crash(why)
        | Self::Trace(why)
        | Self::Output(why)
        | Self::Replay(why)) = self;
        write!(f, "{}: {why}", self.word())
    }
}

/// What was seen of a run.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub faults: Vec<Fault>,
    /// What it printed could be compared.
    pub compared: bool,
    pub deadlocked: bool,
    /// A thread lost the token outside, or blocked on a monitor of code that is not recorded: a replay may differ.
    pub disturbed: bool,
    /// Whether it replayed exactly, if that was tried.
    pub replay: Option<bool>,
}

/// Judges a recorded run by its output and by the files in its folder.
pub fn recorded(prepared: &ReadyProgram, ended: &FinishedProcess, folder: &Path) -> Verdict {
    let mut verdict = Verdict::default();
    if let Some(fault) = broken(ended, folder) {
        verdict.faults.push(fault);
        return verdict;
    }
    let said = ended.stderr_text();
    let summary = said.rsplit_once("untorn: recorded ").map_or("", |(_, summary)| summary);
    verdict.deadlocked = summary.contains("the program ended with a deadlock");
    if verdict.deadlocked && !prepared.program.may_deadlock {
        verdict.faults.push(Fault::Hang(format!("a deadlock that cannot be: {summary}")));
    }
    let strange = summary.lines().filter_map(|line| line.trim().strip_prefix("NOTE: "));
    let strange = strange.filter(|note| !is_harmless(note));
    verdict.faults.extend(strange.map(|note| Fault::Trace(note.to_owned())));
    match read(&folder.join("run.utr")) {
        Ok(summary) => verdict.disturbed = summary.stolen + summary.contended > 0,
        Err(error) => verdict.faults.push(Fault::Trace(format!("{error:#}"))),
    }
    compare(&mut verdict, prepared, ended);
    verdict
}

/// Notes that good runs have, too.
fn is_harmless(note: &str) -> bool {
    const HARMLESS: [&str; 6] = [
        // For example by a stack overflow; the trace is well-formed nevertheless.
        "of blocks were closed late",
        // For example of a lock inside of a library: policies that hold threads skip that site.
        "no loaded class has the planned place",
        "threads blocked outside",
        "threads blocked on a monitor",
        "only one thread ever ran",
        "of large copied arrays have no events",
    ];
    HARMLESS.iter().any(|text| note.contains(text))
}

/// Whether it hung or crashed.
fn broken(ended: &FinishedProcess, folder: &Path) -> Option<Fault> {
    let said = ended.stderr_text();
    if ended.hung {
        return Some(Fault::Hang(format!("killed after {:.0} s", ended.elapsed.as_secs_f64())));
    }
    if let Some(signal) = ended.status.signal() {
        return Some(Fault::Crash(format!("untorn was ended by signal {signal}")));
    }
    let line = |text: &str| said.lines().find(|line| line.contains(text)).map(str::to_owned);
    let bad = ["the program ended with signal", "panicked at", "A fatal error has been detected"];
    if let Some(line) = bad.into_iter().find_map(line) {
        return Some(Fault::Crash(line));
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    if let Some(file) = names.find(|name| name.starts_with("hs_err") || name.starts_with("core")) {
        return Some(Fault::Crash(format!("the JVM left {file}")));
    }
    let spoke = ["untorn: recorded ", "untorn: replayed ", "untorn: the replay DIVERGED"];
    if spoke.into_iter().all(|text| line(text).is_none()) {
        return Some(Fault::Crash(format!("untorn could not do it: {}", said.trim())));
    }
    None
}

/// Reads the trace and checks whether it is valid; returns its metadata.
fn read(path: &Path) -> Result<RecordingSummary> {
    let mut source = open(&Input::new(path), &OpenOptions::default())?;
    let mut validator = Validator::new();
    let (mut batch, mut events) = (Vec::new(), 0);
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        validator.events(EventIdx(events), &batch);
        events += batch.len() as u64;
    }
    if let Some(cut) = &source.notes().cut {
        bail!("the trace is cut short: {cut}");
    }
    if let Some(first) = validator.defects().first() {
        bail!("{} defects of the trace: {}", validator.count(), first.describe(source.tables()));
    }
    Ok(source.tables().meta.summary.clone().unwrap_or_default())
}

fn compare(verdict: &mut Verdict, prepared: &ReadyProgram, ended: &FinishedProcess) {
    if verdict.deadlocked {
        return;
    }
    let program = &prepared.program;
    let good = match &program.output {
        Output::Any => return,
        Output::OneOf(outputs) => outputs.contains(&ended.stdout),
        Output::AsPlain => ended.stdout == prepared.plain,
    };
    verdict.compared = true;
    let code = ended.status.code();
    if !good || code != Some(program.exit) {
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        verdict.faults.push(Fault::Output(format!("exit code {code:?}, output {said:?}")));
    }
}

/// Judges the replay of a run.
pub fn replayed(
    verdict: &mut Verdict,
    first: &FinishedProcess,
    again: &FinishedProcess,
    folder: &Path,
) {
    if let Some(fault) = broken(again, folder) {
        verdict.replay = Some(false);
        verdict.faults.push(fault);
        return;
    }
    let said = again.stderr_text();
    let exact = said.contains("events exactly");
    verdict.replay = Some(exact);
    if !exact {
        let place = said.split_once("untorn: the replay").map_or("", |(_, place)| place);
        verdict.faults.push(Fault::Replay(place.trim().to_owned()));
    } else if again.stdout != first.stdout {
        verdict.faults.push(Fault::Replay("the same events, another output".to_owned()));
    }
}

/// How many events a whole trace has.
pub fn events(path: &Path) -> Result<u64> {
    let skimmed = utr::skim(&mut fs::File::open(path)?)?;
    Ok(skimmed.context("the trace is not whole")?.events)
}
