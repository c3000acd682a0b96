//! `untorn record`: runs a program under the agent and keeps its trace.

pub mod args;
pub mod config;

use std::fmt::Write;
use std::path::Path;

use serde_json::json;
use untorn_jvm::config::{Config, JvmSetup};
use untorn_jvm::jvm_selection::JvmSelector;
use untorn_jvm::launch::Launch;
use untorn_report::phrasing::count;
use untorn_schedule::RunSpec;
use untorn_trace::{Followed, RunMeta, RunSetup};

use crate::console;
use crate::exit::{Failure, Result};
use crate::run::{self, Run, RunEnd};
use config::Record;
use untorn_frontend::Surroundings;

pub fn run(record: &Record) -> Result<u8> {
    let launch = Launch::prepare().map_err(|error| run::refused(&error))?;
    let surroundings = Surroundings::at(record.program.directory.as_deref());
    let config = agent_config(record, &surroundings, &launch);
    check_writable(&config.trace)?;
    let start = record.program.start(&config);
    let done = run::run(&launch, &start, &surroundings)?;
    if !record.quiet {
        console::tell(&summary(&config.trace, &done));
    }
    Ok(run::exit_code(done.ended))
}

/// Reports before the program is started that its trace cannot be written. An existing file stays until then.
fn check_writable(path: &Path) -> Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
        return Err(Failure::run(format!("{}: no such directory", directory.display()))
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
        Err(error) => Err(Failure::run(format!("cannot write {}: {error}", path.display()))
            .way_out("choose another place for the trace with -o")),
    }
}

/// The configuration of the agent; what a replay needs of it is stored in the trace.
pub fn agent_config(record: &Record, surroundings: &Surroundings, launch: &Launch) -> Config {
    let own = JvmSetup { scope: record.scope.clone(), selector: record.program.which.clone() };
    let meta = RunMeta {
        command: record.program.command.clone(),
        seed: Some(record.spec.seed),
        front_end: "jvm".to_owned(),
        setup: Some(RunSetup {
            directory: surroundings.directory.clone(),
            environment: surroundings.environment.clone(),
            run: json!(record.spec),
            front_end: json!(own),
        }),
        ..RunMeta::default()
    };
    let here = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Config {
        trace: here(&record.out),
        progress: launch.progress_file(),
        meta,
        spec: record.spec.clone(),
        scope: record.scope.clone(),
        replay: None,
        input: None,
        patience_ms: record.patience_ms,
        pin: record.pin,
        tool_options: None,
    }
}

/// The configuration that repeats a recorded run, and which JVM was recorded.
pub fn config_of_trace(meta: &RunMeta, trace: &Path, launch: &Launch) -> (Config, JvmSelector) {
    let setup = meta.setup.clone().unwrap_or_default();
    let own: JvmSetup = serde_json::from_value(setup.front_end.clone()).unwrap_or_default();
    let spec: RunSpec = serde_json::from_value(setup.run).unwrap_or_default();
    let config = Config {
        trace: trace.to_owned(),
        progress: launch.progress_file(),
        // What the agent determined is determined again.
        meta: RunMeta { summary: None, ..meta.clone() },
        spec,
        scope: own.scope,
        replay: None,
        input: None,
        patience_ms: 500,
        pin: true,
        tool_options: None,
    };
    (config, own.selector)
}

/// The summary of the run.
fn summary(trace: &Path, done: &Run) -> String {
    let mut out = String::new();
    let meta = match crate::reading::last_meta(trace) {
        Ok(found) => found,
        Err(error) => return format!("untorn: the trace cannot be read: {error}\n"),
    };
    let seconds = done.elapsed.as_secs_f64();
    let summary = meta.meta.summary.clone().unwrap_or_default();
    let coverage = &summary.coverage;
    let _ = writeln!(
        out,
        "untorn: recorded {} of {} in {seconds:.2} s, {}",
        count(meta.events, "event"),
        count(meta.threads, "thread"),
        trace.display(),
    );
    let _ = writeln!(
        out,
        "  {} in {} of the application, {} of the JDK; {} and {} skipped",
        count(coverage.application_methods, "method"),
        count(coverage.application_classes, "class"),
        count(coverage.library_classes, "class"),
        count(coverage.skipped_classes, "class"),
        count(coverage.skipped_methods, "method"),
    );
    for line in &coverage.skipped {
        let _ = writeln!(out, "    skipped {line}");
    }
    let _ = writeln!(
        out,
        "  {}; the program ended with {}",
        count(summary.turns, "turn"),
        run::describe(done.ended)
    );
    warnings(&mut out, &meta, done);
    out
}

/// Everything that makes the trace less than it seems.
fn warnings(out: &mut String, meta: &crate::reading::LastMeta, done: &Run) {
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
    if done.ended == RunEnd::Deadlock && done.notes.is_empty() {
        let _ = writeln!(out, "  deadlock");
    }
}

/// How far a plan was followed, in words.
fn how_far(followed: &Followed) -> String {
    let Followed { steps, of, released } = followed;
    match released {
        Some(released) => format!("the plan was not followed: {released}"),
        None if steps < of => {
            format!("the plan was not followed: the program ended after {steps} of {of} steps")
        }
        None => format!("the plan was followed, {}", count(*of, "step")),
    }
}
