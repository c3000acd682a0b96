//! `untorn doctor`: runs a program once and reports what of it can be recorded, and what cannot.

pub mod args;
pub mod config;

use std::fmt::Write;

use untorn_frontend::{
    InstallationLine, Output, PrivateFolder, RecordedTrace, RunOptions, RunResult, termination,
};
use untorn_jvm::config::ScopeConfig;
use untorn_report::phrasing::count;
use untorn_schedule::RunSpec;

use crate::console::{self, Console};
use crate::exit::{CliError, Exit, Result};
use crate::front_ends;
use config::Doctor;

pub fn run(doctor: &Doctor) -> Result<Exit> {
    let program = front_ends::with_scope(&doctor.program, &ScopeConfig::default());
    let kind = front_ends::of_program(&doctor.program);
    let options =
        RunOptions { watch: console::recording_watch(false), ..RunOptions::new(Output::Shared) };
    let mut front_end = kind.prepare(&program, options)?;
    let temporary = std::env::temp_dir();
    let folder = PrivateFolder::create_in(&temporary)
        .map_err(|error| CliError::run(format!("cannot write {}: {error}", temporary.display())))?;
    let trace = folder.path().join("doctor.utr");
    termination::note_signals();
    let done = front_end.run(&RunSpec::default(), &trace)?;
    // Its last line of progress goes with it.
    drop(front_end);
    let recorded = RecordedTrace::read(&trace);
    let report = match &recorded {
        Ok(recorded) => tell(&kind.facts(&program), recorded, &done),
        Err(error) => format!("agent    attached, but left no trace: {error}\n"),
    };
    Console::plain().put(&report)?;
    let sound = recorded.is_ok() && done.fault.is_none();
    Ok(if sound { Exit::Clean } else { Exit::CouldNotRun })
}

fn tell(facts: &[InstallationLine], recorded: &RecordedTrace, done: &RunResult) -> String {
    let summary = recorded.meta.summary.clone().unwrap_or_default();
    let mut out = String::new();
    let mut line = |head: &str, text: String| {
        let _ = writeln!(out, "{head:<9}{text}");
    };
    for fact in facts {
        line(fact.about, fact.text.clone());
    }
    let is_native = recorded.meta.front_end == untorn_native::NAME;
    line(
        if is_native { "runtime" } else { "agent" },
        done.fault.clone().unwrap_or_else(|| "attached".to_owned()),
    );
    line("program", format!("ended with {}", done.exit));
    let (events, threads) = (count(recorded.events, "event"), count(recorded.threads, "thread"));
    line("seen", format!("{events} of {threads}"));
    let (methods, classes) =
        (summary.coverage.application_methods, summary.coverage.application_classes);
    let own = format!("{} in {}", count(methods, "method"), count(classes, "class"));
    line(
        "",
        match is_native {
            true => count(methods, "function"),
            false => {
                format!("{own} of the application, {} of the JDK", summary.coverage.library_classes)
            }
        },
    );
    let mut hidden: Vec<String> = done.unseen.iter().map(ToString::to_string).collect();
    hidden.extend(done.notes.iter().cloned());
    if hidden.is_empty() {
        hidden.push("nothing that is known to us".to_owned());
    }
    for (nth, words) in hidden.into_iter().enumerate() {
        line(if nth == 0 { "not seen" } else { "" }, words);
    }
    out
}
