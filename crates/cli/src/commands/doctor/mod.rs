//! `untorn doctor`: runs a program once and reports what of it can be recorded, and what cannot.

pub mod args;
pub mod config;

use std::fmt::Write;
use std::path::Path;

use untorn_jvm::config::{Config, ScopeConfig};
use untorn_jvm::java_home::release_of;
use untorn_jvm::launch::{Launch, Start, find_program};
use untorn_report::phrasing::count;
use untorn_schedule::RunSpec;

use crate::commands::check::runner::unseen;
use crate::commands::record::agent_config;
use crate::commands::record::config::Record;
use crate::console::Console;
use crate::exit::{Exit, Result};
use crate::reading::{LastMeta, last_meta};
use crate::run::{self, Run};
use config::Doctor;
use untorn_frontend::Surroundings;

pub fn run(doctor: &Doctor) -> Result<Exit> {
    let launch = Launch::prepare().map_err(|error| run::refused(&error))?;
    // The files of the launch are removed with it, and this trace with them.
    let out = launch.write("doctor.utr", &[]).map_err(|error| run::refused(&error))?;
    let record = Record {
        out,
        spec: RunSpec::default(),
        scope: ScopeConfig::default(),
        patience_ms: 200,
        pin: true,
        quiet: true,
        program: doctor.program.clone(),
    };
    let surroundings = Surroundings::at(None);
    let config: Config = agent_config(&record, &surroundings, &launch);
    let start = record.program.start(&config);
    let done = run::run(&launch, &start, &surroundings)?;
    let meta = last_meta(&config.trace);
    let report = match &meta {
        Ok(meta) => tell(&start, meta, &done),
        Err(error) => format!("agent    attached, but left no trace: {error}\n"),
    };
    Console::plain().put(&report)?;
    let sound = meta.is_ok() && done.fault.is_none();
    Ok(if sound { Exit::Clean } else { Exit::CouldNotRun })
}

fn tell(start: &Start<'_>, meta: &LastMeta, done: &Run) -> String {
    let summary = meta.meta.summary.clone().unwrap_or_default();
    let mut out = String::new();
    let mut line = |head: &str, text: String| {
        let _ = writeln!(out, "{head:<9}{text}");
    };
    // Which one a script takes, we do not know.
    if !start.is_indirect_launch() {
        line("java", version(&start.words[0]));
    }
    line("agent", done.fault.clone().unwrap_or_else(|| "attached".to_owned()));
    line("program", format!("ended with {}", run::describe(done.ended)));
    line("seen", format!("{} of {}", count(meta.events, "event"), count(meta.threads, "thread")));
    let (methods, classes) =
        (summary.coverage.application_methods, summary.coverage.application_classes);
    let own = format!("{} in {}", count(methods, "method"), count(classes, "class"));
    line("", format!("{own} of the application, {} of the JDK", summary.coverage.library_classes));
    let mut hidden = unseen(&summary);
    for (often, what) in [
        (summary.stolen, "threads blocked where nobody sees it (files, sockets)"),
        (summary.contended, "threads blocked on monitors of code that is not recorded"),
        (summary.elements_left_out, "elements of large copied arrays"),
    ] {
        if often > 0 {
            hidden.push(format!("{what}: {often}"));
        }
    }
    hidden.extend(done.notes.iter().cloned());
    if hidden.is_empty() {
        hidden.push("nothing that is known to us".to_owned());
    }
    for (nth, words) in hidden.into_iter().enumerate() {
        line(if nth == 0 { "not seen" } else { "" }, words);
    }
    out
}

/// The release of Java, from its installation.
fn version(java: &str) -> String {
    let program = find_program(java).unwrap_or_else(|| Path::new(java).to_owned());
    match release_of(&program) {
        Some(release) => format!("{release}, {}", program.display()),
        None => format!("of unknown release, {}", program.display()),
    }
}
