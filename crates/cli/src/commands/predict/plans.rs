//! Predictions as plans that `untorn record --plan` follows.

use std::path::{Path, PathBuf};

use untorn_predict::export::Exported;
use untorn_predict::{At, History, Strength};
use untorn_schedule::plan::{AccessKind, CodePoint, PlanPoint, PlanStep, PlanThread};
use untorn_trace::{Op, Tables, ThreadId};

use super::config::ExportFormat;
use super::report::{Prediction, Predictions};
use crate::console::Console;
use crate::exit::{CliError, Result};
use crate::files::write_text;

/// Writes `1.plan`, `2.plan`, … for the predictions whose events have places.
pub fn write(
    folder: &Path,
    predictions: &Predictions,
    history: &History,
    tables: &Tables,
    console: &mut Console,
) -> Result<()> {
    make(folder)?;
    let mut without = 0;
    for (prediction, number) in predictions.list.iter().zip(1..) {
        match text(prediction, history, tables) {
            Some(text) => write_text(&folder.join(format!("{number}.plan")), &text, console)?,
            None => without += 1,
        }
    }
    if without > 0 {
        let what = untorn_report::phrasing::count(without, "prediction");
        console.warn(&format!("{what} without a plan file: the trace has no file and line there"));
    }
    Ok(())
}

/// Events of an exported question at most.
const EXPORTED: u32 = 300;

/// Writes the question of each prediction in the format of another tool.
pub fn export(
    (format, folder): &(ExportFormat, PathBuf),
    predictions: &Predictions,
    history: &History,
    console: &mut Console,
) -> Result<()> {
    make(folder)?;
    let mut without = 0;
    for (prediction, number) in predictions.list.iter().zip(1..) {
        let strength = Strength::Precise;
        let Some(task) = Exported::new(history, strength, &prediction.goal, EXPORTED) else {
            without += 1;
            continue;
        };
        let file = |end: &str| folder.join(format!("{number}{end}"));
        match format {
            ExportFormat::SmtLib => write_text(&file(".smt2"), &task.smt_lib(), console)?,
            ExportFormat::Pddl => {
                let pddl = task.pddl();
                write_text(&file("-domain.pddl"), &pddl.domain, console)?;
                write_text(&file("-problem.pddl"), &pddl.problem, console)?;
            }
        }
    }
    if without > 0 {
        let what = untorn_report::phrasing::count(without, "prediction");
        console.warn(&format!("{what} not exported: more than {EXPORTED} events matter"));
    }
    Ok(())
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        CliError::run(format!("cannot make a folder: {error}, {}", folder.display()))
    })
}

/// The events of the goal, each with its 1-based occurrence: how often its thread has been at that place.
fn text(prediction: &Prediction, history: &History, tables: &Tables) -> Option<String> {
    let steps: Option<Vec<PlanStep>> =
        prediction.events().into_iter().map(|at| step(at, history, tables)).collect();
    let block = prediction.name(history, tables).replace(['\n', '\r'], " ");
    let letters = prediction.question.letters().map(|letters| format!(", {letters}"));
    let head = format!("// {block}{}\n", letters.unwrap_or_default());
    Some(head + &untorn_schedule::Plan::new(steps?).to_string())
}

fn step(at: At, history: &History, tables: &Tables) -> Option<PlanStep> {
    let event = history.event(at);
    let kind = kind(event.op)?;
    let site = tables.sites.get(event.site)?;
    if site.file.is_empty() || site.line == 0 {
        return None;
    }
    // Another site may be the same line: the recorder counts lines.
    let same = |other: At| {
        let other = history.event(other);
        let there = tables.sites.get(other.site);
        let line = there.is_some_and(|there| (there.file, there.line) == (site.file, site.line));
        self::kind(other.op) == Some(kind) && line
    };
    let before = &history.of_thread(event.thread)[..=history.nth(at) as usize];
    let occurrence = before.iter().filter(|&&other| same(other)).count() as u32;
    let code_point = CodePoint::FileLine { file: site.file.to_owned(), line: site.line };
    let thread = thread(event.thread, tables);
    Some(PlanStep { thread, point: PlanPoint { code_point, kind: Some(kind) }, occurrence })
}

/// By name, unless an earlier thread has the same.
fn thread(id: ThreadId, tables: &Tables) -> PlanThread {
    let name = tables.threads.get(id).unwrap_or("");
    let first = tables.threads.iter().position(|other| other == name);
    if name.is_empty() || first != Some(id.index()) {
        PlanThread::Id(id)
    } else {
        PlanThread::Name(name.to_owned())
    }
}

const fn kind(op: Op) -> Option<AccessKind> {
    match op {
        Op::Read { .. } => Some(AccessKind::Read),
        Op::Write { .. } => Some(AccessKind::Write),
        _ => None,
    }
}
