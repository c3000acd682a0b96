//! `untorn record`: runs a program under the agent and keeps its trace.

pub mod args;
pub mod config;

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use untorn_frontend::{ExitKind, Output, RecordedTrace, RunOptions, RunResult, termination};
use untorn_report::phrasing::count;
use untorn_trace::{Coverage, Followed};

use crate::console;
use crate::exit::{self, CliError, Result};
use crate::front_ends;
use config::Record;

pub fn run(record: &Record) -> Result<u8> {
    let options = RunOptions {
        watchdog: record.watchdog,
        pin: record.pin,
        watch: console::recording_watch(record.quiet),
        stop: record.stop.clone(),
        ..RunOptions::new(Output::Shared)
    };
    let kind = front_ends::of_program(&record.program);
    let mut front_end =
        kind.prepare(&front_ends::with_scope(&record.program, &record.scope), options)?;
    let trace = std::path::absolute(&record.out).unwrap_or_else(|_| record.out.clone());
    check_writable(&trace)?;
    termination::note_signals();
    let begin = Instant::now();
    let done = front_end.run(&record.spec, &trace)?;
    let elapsed = begin.elapsed();
    // Its last line of progress goes with it.
    drop(front_end);
    if !record.quiet {
        console::tell(&summary(&trace, &done, elapsed));
    }
    Ok(exit::of_program(done.exit))
}

/// Reports before the program is started that its trace cannot be written. An existing file stays until then.
fn check_writable(path: &Path) -> Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
        return Err(CliError::run(format!("{}: no such directory", directory.display()))
            .way_out("make it first, or choose another place with -o"));
    }
    let is_new = !path.exists();
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    match opened {
        Ok(_) => {
            if is_new {
                // Nothing was recorded yet; if nothing ever is, no file remains.
                let _ = std::fs::remove_file(path);
            }
            Ok(())
        }
        Err(error) => Err(CliError::run(format!("cannot write {}: {error}", path.display()))
            .way_out("choose another place for the trace with -o")),
    }
}

/// The summary of the run.
fn summary(trace: &Path, done: &RunResult, elapsed: Duration) -> String {
    let mut out = String::new();
    let meta = match RecordedTrace::read(trace) {
        Ok(found) => found,
        Err(error) => return format!("untorn: the trace cannot be read: {error}\n"),
    };
    let seconds = elapsed.as_secs_f64();
    let summary = meta.meta.summary.clone().unwrap_or_default();
    let coverage = &summary.coverage;
    let _ = writeln!(
        out,
        "untorn: recorded {} of {} in {seconds:.2} s, {}",
        count(meta.events, "event"),
        count(meta.threads, "thread"),
        trace.display(),
    );
    let _ = writeln!(out, "  {}", covered(coverage, meta.meta.front_end == untorn_native::NAME));
    for line in &coverage.skipped {
        let _ = writeln!(out, "    skipped {line}");
    }
    let _ =
        writeln!(out, "  {}; the program ended with {}", count(summary.turns, "turn"), done.exit);
    warnings(&mut out, &meta, done);
    out
}

/// What of the program was seen, in the words of its language.
fn covered(coverage: &Coverage, is_native: bool) -> String {
    if is_native {
        return format!("{} seen", count(coverage.application_methods, "function"));
    }
    format!(
        "{} in {} of the application, {} of the JDK; {} and {} skipped",
        count(coverage.application_methods, "method"),
        count(coverage.application_classes, "class"),
        count(coverage.library_classes, "class"),
        count(coverage.skipped_classes, "class"),
        count(coverage.skipped_methods, "method"),
    )
}

/// Everything that makes the trace less than it seems.
fn warnings(out: &mut String, meta: &RecordedTrace, done: &RunResult) {
    let summary = meta.meta.summary.clone().unwrap_or_default();
    let mut warn = |text: String| {
        let _ = writeln!(out, "  NOTE: {text}");
    };
    if let Some(fault) = &done.fault {
        warn(fault.clone());
    }
    if let Some(cut) = &meta.cut {
        warn(format!("the trace is cut short: {cut}"));
    } else if summary.coverage.application_classes == 0 {
        warn("nothing of the application was recorded: no class of it was rewritten".to_owned());
    }
    match meta.threads {
        0 => warn("the program did not begin: no event was recorded".to_owned()),
        1 => warn("only one thread ever ran: there is nothing to tear".to_owned()),
        _ => {}
    }
    for (often, what) in [
        (summary.stolen, "blocked outside and lost the token"),
        (summary.contended, "blocked on a monitor of code that is not recorded"),
    ] {
        if often > 0 {
            let times = count(often, "time");
            warn(format!("threads {what} {times}; a replay may differ there"));
        }
    }
    if summary.elements_left_out > 0 {
        let left_out = count(summary.elements_left_out, "element");
        warn(format!("{left_out} of large copied arrays have no events"));
    }
    if summary.accesses_unresolved > 0 {
        let unknown = count(summary.accesses_unresolved, "access");
        warn(format!(
            "{unknown} by address, view or handle have no events: their variable is not known"
        ));
    }
    if summary.unmatched_ends > 0 {
        warn(format!("{} of blocks were closed late", count(summary.unmatched_ends, "end")));
    }
    if let Some(followed) = &summary.followed {
        warn(how_far(followed));
    }
    for place in &summary.plan_missing {
        warn(format!("no loaded class has the planned place {place}"));
    }
    for note in &done.notes {
        let _ = writeln!(out, "  {}", note.replace('\n', "\n  "));
    }
    if done.exit == ExitKind::Deadlock && done.notes.is_empty() {
        let _ = writeln!(out, "  deadlock");
    }
}

/// How far a plan was followed, in words.
fn how_far(followed: &Followed) -> String {
    let Followed { steps, of, released, .. } = followed;
    match released {
        Some(released) => format!("the plan was not followed: {released}"),
        None if steps < of => {
            format!("the plan was not followed: the program ended after {steps} of {of} steps")
        }
        None => format!("the plan was followed, {}", count(*of, "step")),
    }
}
