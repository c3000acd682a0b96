//! `untorn record`: runs a program under the agent and keeps its trace.

pub mod args;
pub mod config;

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use untorn_jvm::config::{Config, ScopeConfig};
use untorn_jvm::launch::Launch;
use untorn_report::words::count;
use untorn_trace::tables::RunMeta;

use crate::console;
use crate::exit::{Failure, Result};
use crate::run::{self, Ended, Run, Surroundings};
use config::Record;

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

/// Says before the program is started that its trace cannot be written. What is there stays until then.
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
                // Nothing was recorded yet; if nothing ever is, nothing is left behind.
                let _ = std::fs::remove_file(path);
            }
            Ok(())
        }
        Err(error) => Err(Failure::run(format!("cannot write {}: {error}", path.display()))
            .way_out("choose another place for the trace with -o")),
    }
}

/// What the agent is told; all of it that a replay needs is kept in the trace.
pub fn agent_config(record: &Record, surroundings: &Surroundings, launch: &Launch) -> Config {
    let mut meta = RunMeta {
        command: record.program.command.clone(),
        seed: Some(record.seed),
        front_end: "jvm".to_owned(),
        ..RunMeta::default()
    };
    let mut put = |name: &str, value: Value| meta.other.insert(name.to_owned(), value);
    put("directory", json!(surroundings.directory));
    put("environment", json!(surroundings.environment));
    put("policy", json!(record.policy));
    if !record.program.which.is_any() {
        put("which", json!(record.program.which));
    }
    // Where threads may have been held.
    for (name, text) in [("plan", &record.plan), ("marks", &record.marks)] {
        if let Some(text) = text {
            put(name, json!(text));
        }
    }
    put("quantum", json!(record.quantum));
    put("scope", json!(record.scope));
    let here = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Config {
        trace: here(&record.out),
        progress: launch.progress_file(),
        meta,
        seed: record.seed,
        policy: record.policy.clone(),
        quantum: record.quantum,
        scope: record.scope.clone(),
        replay: None,
        input: None,
        plan: record.plan.clone(),
        marks: record.marks.clone(),
        patience_ms: record.patience_ms,
        pin: record.pin,
        tool_options: None,
    }
}

/// The configuration that repeats a recorded run.
pub fn config_of_trace(meta: &RunMeta, trace: &Path, launch: &Launch) -> Config {
    let scope: Option<ScopeConfig> =
        meta.other.get("scope").and_then(|value| serde_json::from_value(value.clone()).ok());
    let text = |name: &str| meta.other.get(name).and_then(Value::as_str).map(str::to_owned);
    let quantum = meta.other.get("quantum").and_then(Value::as_u64).unwrap_or(1_000_000);
    let mut again = meta.clone();
    // What the agent found out is found out anew.
    again.other.retain(|name, _| {
        matches!(
            name.as_str(),
            "directory"
                | "environment"
                | "policy"
                | "quantum"
                | "scope"
                | "plan"
                | "marks"
                | "which"
        )
    });
    Config {
        trace: trace.to_owned(),
        progress: launch.progress_file(),
        meta: again,
        seed: meta.seed.unwrap_or(0),
        policy: text("policy").unwrap_or_else(|| "run-to-block".to_owned()),
        quantum,
        scope: scope.unwrap_or_default(),
        replay: None,
        input: None,
        plan: text("plan"),
        marks: text("marks"),
        patience_ms: 500,
        pin: true,
        tool_options: None,
    }
}

/// What a person wants to know after the run.
fn summary(trace: &Path, done: &Run) -> String {
    let mut out = String::new();
    let meta = match crate::reading::last_meta(trace) {
        Ok(found) => found,
        Err(error) => return format!("untorn: the trace cannot be read: {error}\n"),
    };
    let seconds = done.elapsed.as_secs_f64();
    let get = |name: &str| meta.meta.other.get(name).and_then(Value::as_u64).unwrap_or(0);
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
        count(get("application_methods"), "method"),
        count(get("application_classes"), "class"),
        count(get("library_classes"), "class"),
        count(get("skipped_classes"), "class"),
        count(get("skipped_methods"), "method"),
    );
    for line in meta.meta.other.get("skipped").and_then(Value::as_array).into_iter().flatten() {
        let _ = writeln!(out, "    skipped {}", line.as_str().unwrap_or("?"));
    }
    let _ = writeln!(
        out,
        "  {}; the program ended with {}",
        count(get("turns"), "turn"),
        run::describe(done.ended)
    );
    warnings(&mut out, &meta, done);
    out
}

/// Everything that makes the trace less than it seems.
fn warnings(out: &mut String, meta: &crate::reading::LastMeta, done: &Run) {
    let other = &meta.meta.other;
    let get = |name: &str| other.get(name).and_then(Value::as_u64).unwrap_or(0);
    let mut warn = |text: String| {
        let _ = writeln!(out, "  NOTE: {text}");
    };
    if let Some(fault) = &done.fault {
        warn(fault.clone());
    }
    if let Some(cut) = &meta.cut {
        warn(format!("the trace is cut short: {cut}"));
    } else if get("application_classes") == 0 {
        warn("nothing of the application was recorded: no class of it was rewritten".to_owned());
    }
    match meta.threads {
        0 => warn("the program did not begin: no event was recorded".to_owned()),
        1 => warn("only one thread ever ran: there is nothing to tear".to_owned()),
        _ => {}
    }
    for (name, what) in [
        ("stolen", "blocked outside and lost the token"),
        ("contended", "blocked on a monitor of code that is not recorded"),
    ] {
        if get(name) > 0 {
            let times = count(get(name), "time");
            warn(format!("threads {what} {times}; a replay may differ there"));
        }
    }
    if get("elements_left_out") > 0 {
        let left_out = count(get("elements_left_out"), "element");
        warn(format!("{left_out} of large copied arrays have no events"));
    }
    if get("unmatched_ends") > 0 {
        warn(format!("{} of blocks were closed late", count(get("unmatched_ends"), "end")));
    }
    if let Some(released) = other.get("plan_released").and_then(Value::as_str) {
        warn(format!("the plan was not followed: {released}"));
    } else if get("followed") < get("of") {
        let (followed, of) = (get("followed"), get("of"));
        warn(format!(
            "the plan was not followed: the program ended after {followed} of {of} steps"
        ));
    } else if get("of") > 0 {
        warn(format!("the plan was followed, {}", count(get("of"), "step")));
    }
    for place in other.get("plan_missing").and_then(Value::as_array).into_iter().flatten() {
        warn(format!("no loaded class has the planned place {}", place.as_str().unwrap_or("?")));
    }
    for note in &done.notes {
        let _ = writeln!(out, "  {}", note.replace('\n', "\n  "));
    }
    if done.ended == Ended::Deadlock && done.notes.is_empty() {
        let _ = writeln!(out, "  deadlock");
    }
}
