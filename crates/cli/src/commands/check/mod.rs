//! `untorn check`: runs the program until what can be torn has been torn, proves it, and keeps it for replay.

pub mod args;
mod compositions;
pub mod config;
mod inputs;
pub mod linearizable;
mod status;
mod story;

use std::path::Path;
use std::sync::Arc;

use untorn_explore::{ExploreError, Outcome, Progress};
use untorn_findings::check::{CheckOptions, FindingBuilder};
use untorn_findings::sources::Library;
use untorn_frontend::termination;
use untorn_jvm::config::ScopeConfig;
use untorn_predict::candidates::BlockScope;
use untorn_report::model::{Report, Setting};
use untorn_report::{html, json};
use untorn_trace::secrets;

use crate::console::{Console, Volume};
use crate::exit::{CliError, Exit, Result};
use crate::{front_ends, reports};
use args::FailOn;
use config::Check;
use status::Status;
use story::ProgressPrinter;

pub fn run(mut check: Check) -> Result<Exit> {
    if let Some(wanted) = check.linearizable.clone() {
        return linearizable::run(check, &wanted);
    }
    let mut console = Console::new(check.color, check.volume);
    let (outcome, report) = explore(&mut check, &mut console)?;
    story::summary(&outcome, &report, &check, &mut console)?;
    Ok(exit(&outcome, &report, &check))
}

/// Explores the program, tells what happens meanwhile, and writes the report.
pub fn explore(check: &mut Check, console: &mut Console) -> Result<(Outcome, Report)> {
    if check.compositions {
        compositions::look_for(check, console)?;
    }
    let check = &*check;
    let folder = &check.out;
    let cannot = |error: std::io::Error| {
        CliError::run(format!("cannot write {}: {error}", folder.display()))
            .way_out("choose another folder with --out")
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    forget(folder);
    let status = Status::new(check.volume == Volume::Quiet, check.options.time);
    let mut runner = check.prepare(folder, Some(status.watch()))?;
    // Without it Ctrl-C ends everything at once, and what was found so far is on the screen only.
    termination::note_signals();
    let stop = termination::stop_flag();
    let mut story = ProgressPrinter {
        check,
        builder: FindingBuilder::new(folder, Arc::clone(&check.options.compositions)),
        library: Library::new(&check.sources, front_ends::library_sources(&check.program.command)),
        status,
        findings: Vec::new(),
        failures: Vec::new(),
    };
    let mut told: Result<()> = Ok(());
    let mut watch = |news: Progress<'_>| {
        if told.is_ok() {
            told = story.tell(&news, console);
        }
    };
    let options = check.options.clone();
    let explored = untorn_explore::explore(runner.as_mut(), options, folder, stop, &mut watch);
    let outcome = explored.map_err(could_not_run)?;
    story.status.clear();
    told?;
    for note in runner.notes().iter().filter(|_| check.volume == Volume::Verbose) {
        console.say(&format!("  NOTE: {note}\n"))?;
    }
    if outcome.events == 0 {
        return Err(CliError::run("no run has any event, so nothing was checked")
            .details([format!(
                "{} of {} runs did not end in time",
                outcome.timed_out, outcome.runs
            )])
            .way_out("give a run more time with --run-time, or check the command"));
    }
    let ProgressPrinter { builder, mut library, .. } = story;
    let mut report = builder.report(&outcome, request(check));
    library.fill(&mut report);
    write_report(&folder.join("report.json"), &report)?;
    Ok((outcome, report))
}

/// Removes the traces of an earlier check: its report is about to be replaced.
pub fn forget(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix("run-").and_then(|rest| rest.strip_suffix(".utr"));
        if number.is_some_and(|number| number.parse::<u32>().is_ok()) {
            // One that stays does no harm: the new report does not name it.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// What the front end says has its own exit code and way out.
pub fn could_not_run(error: ExploreError) -> CliError {
    match error {
        ExploreError::FrontEnd(error) => error.into(),
        ExploreError::Evidence(error) => CliError::run(error.to_string()),
    }
}

/// A program that failed in any run does not end clean, unless the user wants it so. Deadlocks always count.
/// A program of which too little was looked at is not clean either.
fn exit(outcome: &Outcome, report: &Report, check: &Check) -> Exit {
    let violations = !outcome.violations.is_empty() && check.fail_on != FailOn::Failures;
    let failures = !outcome.failures.is_empty() && check.fail_on != FailOn::Violations;
    let folded = !report.folded.is_empty() && check.fail_on == FailOn::Folded;
    let has_gaps = report.check.as_ref().is_some_and(|facts| !facts.gaps.is_empty());
    match () {
        () if violations || failures || folded || !outcome.deadlocks.is_empty() => Exit::Findings,
        () if has_gaps && !check.allow_inconclusive => Exit::Inconclusive,
        () => Exit::Clean,
    }
}

/// Writes the report, and its page beside it. Each replaces an earlier one as a whole, or not at all.
pub fn write_report(path: &Path, report: &Report) -> Result<()> {
    let page = path.with_extension("html");
    for (path, text) in [(path, json::render(report)), (&page, html::render(report))] {
        let part = path.with_extension("part");
        let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
        written.map_err(|error| {
            // What is half written helps nobody.
            let _ = std::fs::remove_file(&part);
            CliError::run(format!("cannot write {}: {error}", path.display()))
        })?;
    }
    Ok(())
}

fn request(check: &Check) -> CheckOptions {
    // A report is passed on.
    let command = secrets::without_secrets(&check.program.command);
    let setting = setting(check);
    let seal = reports::seal_of(&command, &setting);
    CheckOptions {
        tool: concat!("untorn ", env!("CARGO_PKG_VERSION")).to_owned(),
        command,
        setting: Setting { seal, ..setting },
        shard: check.options.shard,
        demand: check.demand,
        counts_triples: check.options.counts_triples,
    }
}

/// What `untorn verify` needs to repeat the check.
fn setting(check: &Check) -> Setting {
    let ScopeConfig { instrument, exclude, atomic, .. } = check.scope.clone();
    Setting {
        instrument,
        exclude,
        atomic,
        declared: check.options.sources == BlockScope::Declared,
        all_methods: check.options.all_methods,
        compositions: check.compositions,
        main: check.program.which.main.clone(),
        test: check.program.which.test.clone(),
        directory: check.program.directory.as_ref().map(|path| path.display().to_string()),
        seal: String::new(),
    }
}
