//! `untorn check`: runs the program until what can be torn has been torn, proves it, and keeps it for replay.

mod compositions;
mod deadlock;
mod noise;
pub mod runner;
mod story;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use untorn_explore::{Chase, ChaseError, Ended, News, Outcome};
use untorn_jvm::config::ScopeConfig;
use untorn_predict::candidates::Sources;
use untorn_report::model::{CheckFacts, Report, Setting, Unreached};
use untorn_report::{html, json};

use crate::config::Check;
use crate::console::{Console, StatusLine};
use crate::exit::{Exit, Failure, Result};
use crate::sources::{Library, jdk_sources};
use runner::JvmRunner;
pub use story::why_unreached;

pub fn run(mut check: Check) -> Result<Exit> {
    let mut console = Console::new(check.color, check.volume);
    let outcome = chase(&mut check, &mut console)?;
    story::summary(&outcome, &check, &check.out.join("report.json"), &mut console)?;
    Ok(exit(&outcome))
}

/// Chases, tells what happens meanwhile, and writes the report.
pub fn chase(check: &mut Check, console: &mut Console) -> Result<Outcome> {
    if check.compositions {
        compositions::look_for(check, console)?;
    }
    let check = &*check;
    let folder = &check.out;
    let cannot = |error: std::io::Error| {
        Failure::run(format!("cannot write {}: {error}", folder.display()))
            .way_out("choose another folder with --out")
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    forget(folder);
    let mut runner = JvmRunner::new(check, folder)?;
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    // Without it Ctrl-C ends everything at once, and what was found so far is on the screen only.
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
    let mut library = Library::new(&check.sources, jdk_sources(&check.program.command));
    let mut line = StatusLine::new();
    let mut told: Result<()> = Ok(());
    let mut watch = |news: News<'_>| {
        if told.is_ok() {
            told = story::tell(&news, check, console, &mut line, &mut library);
        }
    };
    let chase = Chase::new(&mut runner, check.options.clone(), folder, &stop, &mut watch);
    let outcome = chase.run().map_err(|error| could_not_run(&mut runner, &error))?;
    line.clear();
    told?;
    if outcome.events == 0 {
        return Err(Failure::run("no run has any event, so nothing was checked")
            .details([format!(
                "{} of {} runs did not end in time",
                outcome.timed_out, outcome.runs
            )])
            .way_out("give a run more time with --run-time, or check the command"));
    }
    write_report(&folder.join("report.json"), check, &outcome, &mut library)?;
    Ok(outcome)
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

/// What the runner says has its own exit code and way out.
pub fn could_not_run(runner: &mut JvmRunner, error: &ChaseError) -> Failure {
    runner.failure().unwrap_or_else(|| Failure::run(error.to_string()))
}

/// A deadlock is a fault of the program, too, and nobody would call such a run clean.
fn exit(outcome: &Outcome) -> Exit {
    if outcome.findings.is_empty() && outcome.deadlocks == 0 {
        Exit::Clean
    } else {
        Exit::Violations
    }
}

fn write_report(
    path: &Path,
    check: &Check,
    outcome: &Outcome,
    library: &mut Library,
) -> Result<()> {
    let torn = outcome.findings.iter().map(|found| story::finding(found, check));
    let stuck = outcome.deadlocked.iter().map(|found| deadlock::finding(found, check));
    let mut findings: Vec<_> = torn.chain(stuck).collect();
    findings.sort_by_key(|finding| finding.number);
    crate::scene::fill(&mut findings, &check.out);
    let mut report = Report::new(concat!("untorn ", env!("CARGO_PKG_VERSION")), Vec::new());
    report.findings = findings;
    report.check = Some(CheckFacts {
        command: check.program.command.clone(),
        runs: outcome.runs.into(),
        directed: outcome.directed.into(),
        events: outcome.events,
        threads: outcome.threads as u64,
        candidates: outcome.candidates,
        infeasible: outcome.infeasible,
        harmless: outcome.harmless,
        unreached: outcome
            .unreached
            .iter()
            .map(|(key, why)| Unreached {
                block: key.block.clone(),
                variable: key.field.clone(),
                pattern: key.shape.letters(),
                places: key.places.clone(),
                why: why_unreached(why),
                sources: Vec::new(),
            })
            .collect(),
        unseen: story::unsearched(outcome).into_iter().chain(outcome.unseen.clone()).collect(),
        left_out: outcome.left_out,
        interrupted: outcome.interrupted,
        milliseconds: outcome.time.as_millis() as u64,
        setting: setting(check),
        deadlocks: outcome.deadlocks.into(),
        shard: Some(check.options.shard)
            .filter(|shard| shard.count > 1)
            .map(|shard| [shard.index + 1, shard.count]),
    });
    library.fill(&mut report);
    let page = path.with_extension("html");
    for (path, text) in [(path, json::render(&report)), (&page, html::render(&report))] {
        std::fs::write(path, text)
            .map_err(|error| Failure::run(format!("cannot write {}: {error}", path.display())))?;
    }
    Ok(())
}

/// What `untorn verify` has to be told to do the same again.
fn setting(check: &Check) -> Setting {
    let ScopeConfig { instrument, exclude, atomic, .. } = check.scope.clone();
    Setting {
        instrument,
        exclude,
        atomic,
        declared: check.options.sources == Sources::Declared,
        all_methods: check.options.all_methods,
        compositions: check.compositions,
        main: check.program.which.main.clone(),
        test: check.program.which.test.clone(),
        directory: check.program.directory.as_ref().map(|path| path.display().to_string()),
    }
}

/// What else went wrong in the run that shows a finding.
fn ending(ended: Ended) -> Option<&'static str> {
    match ended {
        Ended::Deadlock => Some("the run ended in a deadlock"),
        Ended::TimedOut => Some("the run did not end by itself"),
        Ended::Exit(_) | Ended::Signal(_) => None,
    }
}

/// The name under which a trace is found again from the folder of the report.
fn file_name(trace: &Path) -> String {
    trace.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
