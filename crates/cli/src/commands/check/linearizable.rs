//! `untorn check --linearizable`: are the results of concurrent calls of an object those of some sequential order?
//!
//! Scenarios are generated (`untorn_linearizability`), explored as programs, and judged by the same class called
//! sequentially in a JVM of its own.

mod class_under_test;
mod hunt;
mod judge;
mod table;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use untorn_findings::check::FindingBuilder;
use untorn_findings::sources::Library;
use untorn_frontend::{Output, RunOptions, termination};
use untorn_jvm::{ProgramArguments, SequentialJvm, scenario_command};
use untorn_linearizability::{Generator, Scenario};
use untorn_report::model::Report;
use untorn_report::phrasing::{count, number};
use untorn_report::terminal;
use untorn_report::text::plain;

pub use class_under_test::ClassSelection;

use super::config::Check;
use super::{could_not_run, exit, forget, request, story, write_report};
use crate::console::{Console, StatusLine, Volume};
use crate::exit::{CliError, Exit, Result};
use crate::front_ends;
use class_under_test::ClassUnderTest;
use hunt::{Found, Hunted, ScenarioSearch, scratch};
use judge::Oracles;

/// Packages whose classes are recorded only if somebody asks for them.
const PLATFORM: [&str; 4] = ["java.", "javax.", "jdk.", "sun."];

/// Reasons and methods that are named.
const MAX_NAMED: usize = 8;

/// Explores scenarios, tells what it finds, and writes the report.
pub fn run(mut check: Check, wanted: &ClassSelection) -> Result<Exit> {
    let mut console = Console::new(check.color, check.volume);
    let command = scenario_command(&check.program.command)?;
    let mut quick = SequentialJvm::new(&check.program)?;
    let class = ClassUnderTest::find(wanted, &mut quick)?;
    let mut careful = SequentialJvm::new(&check.program)?;
    careful.be_careful();
    introduce(&class, &mut console)?;
    prepare_scope(&mut check, &class);
    let oracles = Oracles { quick, careful };
    let hunted = explore(&check, &class, command, oracles, &mut console)?;
    if hunted.unknown >= hunted.scenarios.max(1) && hunted.total.failures.is_empty() {
        return Err(CliError::run(format!("no scenario of {} could be judged", class.name))
            .details(hunted.reasons.iter().take(MAX_NAMED).map(|why| plain(why)))
            .way_out("choose operations whose results depend on nothing but the calls: --with-ops push,pop"));
    }
    if hunted.total.events == 0 {
        return Err(CliError::run(format!(
            "no call of {} left an event, so nothing was checked",
            class.name
        ))
        .way_out("`untorn doctor` says what of a program can be seen; --instrument adds classes"));
    }
    let report = report(&check, &hunted)?;
    summary(&check, &class, &hunted, &report, &mut console)?;
    Ok(exit(&hunted.total, &report, &check))
}

fn introduce(class: &ClassUnderTest, console: &mut Console) -> Result<()> {
    let names: Vec<String> = class.operations.iter().map(ToString::to_string).collect();
    console.say(&format!("calling {} of {}\n", plain(&names.join(", ")), plain(&class.name)))?;
    for why in class.left_out.iter().take(MAX_NAMED) {
        console.say(&format!("  NOTE: {}\n", plain(why)))?;
    }
    if class.returns_nothing() {
        console.say(
            "  NOTE: none of these operations returns anything: only exceptions could show a fault; add one that reads\n",
        )?;
    }
    Ok(())
}

/// Each operation is meant to be atomic; that directs the runs. A class of the JDK must be recorded.
fn prepare_scope(check: &mut Check, class: &ClassUnderTest) {
    let name = &class.name;
    let mut names: Vec<String> =
        class.operations.iter().map(|own| format!("{name}.{}", own.name)).collect();
    names.dedup();
    check.scope.atomic.extend(names);
    if PLATFORM.iter().any(|package| name.starts_with(package)) {
        check.scope.instrument.push(format!("{name}*"));
    }
}

fn explore(
    check: &Check,
    class: &ClassUnderTest,
    command: Vec<String>,
    oracles: Oracles,
    console: &mut Console,
) -> Result<Hunted> {
    let folder = &check.out;
    let scratch = scratch(folder);
    let cannot = |error: std::io::Error| {
        CliError::run(format!("cannot write {}: {error}", folder.display()))
            .way_out("choose another folder with --out")
    };
    std::fs::create_dir_all(&scratch).map_err(cannot)?;
    forget(folder);
    let program = ProgramArguments { command, ..check.program.clone() };
    let options = RunOptions {
        warm: !check.fresh,
        jobs: check.options.jobs,
        time_limit: Some(check.run_time.unwrap_or(Duration::from_secs(20))),
        pin: check.options.jobs <= 1,
        ..RunOptions::new(Output::Kept(folder.clone()))
    };
    let kind = front_ends::of_program(&program);
    let mut runner = kind.prepare(&program.with_scenario(&check.scope, ""), options)?;
    termination::note_signals();
    let generator = Generator::new(
        &class.name,
        class.constructors.clone(),
        class.operations.clone(),
        check.options.seed,
    );
    let mut line = StatusLine::new(check.volume == Volume::Quiet);
    let told: RefCell<(Result<()>, &mut Console)> = RefCell::new((Ok(()), console));
    let tell = |say: &dyn Fn(&mut Console) -> Result<()>| {
        let (told, console) = &mut *told.borrow_mut();
        if told.is_ok() {
            *told = say(console);
        }
    };
    let front_end_options =
        |scenario: &Scenario| program.with_scenario(&check.scope, &scenario.to_text()).options;
    let mut hunt = ScenarioSearch {
        runner: runner.as_mut(),
        oracles,
        options: check.options.clone(),
        folder,
        stop: termination::stop_flag(),
        front_end_options: &front_end_options,
        watch: &mut |number, scenario| {
            if line.is_due() {
                line.show(&format!("scenario {number}: {}", words(scenario)));
            }
        },
        suspect: &mut |scenario| {
            tell(&|console| {
                let calls = plain(&words(scenario));
                console.say(&format!("found: {calls}; looking for a smaller scenario\n"))
            });
        },
        found: &mut |found| tell(&|console| show(check, found, console)),
    };
    let hunted = hunt.run(generator);
    // What is left in it shows nothing.
    let _ = std::fs::remove_dir_all(&scratch);
    line.clear();
    let hunted = hunted.map_err(could_not_run)?;
    let (told, console) = told.into_inner();
    told?;
    for note in runner.notes() {
        console.say(&format!("  NOTE: {note}\n"))?;
    }
    Ok(hunted)
}

/// `push(1) | pop()`
fn words(scenario: &Scenario) -> String {
    let thread = |calls: &Vec<untorn_linearizability::Call>| {
        calls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    scenario.threads().iter().map(thread).collect::<Vec<_>>().join(" | ")
}

/// A finding, as soon as it is there.
fn show(check: &Check, found: &Found, console: &mut Console) -> Result<()> {
    let mut builder = FindingBuilder::new(&check.out, Arc::clone(&check.options.compositions));
    match found {
        Found::Failure(failure, table) => {
            let mut failure = builder.failure(failure);
            failure.calls.clone_from(table);
            console.say(&format!("{}\n", terminal::failure(&failure, &console.look)))
        }
        Found::Deadlock(deadlock, scenario) => {
            let mut finding = builder.deadlock(deadlock);
            sources(check).fill_one(&mut finding);
            console.say(&terminal::finding(&finding, &console.look))?;
            console.say(&format!(
                "  in no sequential order do these calls wait: {}\n\n",
                plain(&words(scenario))
            ))
        }
    }
}

fn sources(check: &Check) -> Library {
    Library::new(&check.sources, front_ends::library_sources(&check.program.command))
}

fn report(check: &Check, hunted: &Hunted) -> Result<Report> {
    let builder = FindingBuilder::new(&check.out, Arc::clone(&check.options.compositions));
    let mut report = builder.report(&hunted.total, request(check));
    for (failure, table) in report.failures.iter_mut().zip(&hunted.tables) {
        failure.calls.clone_from(table);
    }
    sources(check).fill(&mut report);
    write_report(&check.out.join("report.json"), &report)?;
    Ok(report)
}

fn summary(
    check: &Check,
    class: &ClassUnderTest,
    hunted: &Hunted,
    report: &Report,
    console: &mut Console,
) -> Result<()> {
    let total = &hunted.total;
    let verdict = match total.failures.len() + total.deadlocks.len() {
        0 => format!("{}no fault of {} found", story::lead_in(report), plain(&class.name)),
        some => format!("{} found", count(some as u64, "failure")),
    };
    let ended = match (total.interrupted, hunted.is_exhausted) {
        (true, _) => " (interrupted)",
        (_, true) => " (no further scenarios)",
        _ => "",
    };
    console.say(&format!(
        "{verdict} in {:.1} s{ended}: {} of {}, {} ({} directed)\n",
        total.time.as_secs_f64(),
        count(hunted.scenarios, "scenario"),
        count(class.operations.len() as u64, "operation"),
        count(total.runs.into(), "run"),
        number(total.directed.into()),
    ))?;
    story::gaps(report, console)?;
    let mut notes = Vec::new();
    if hunted.unknown > 0 {
        let why: Vec<String> =
            hunted.reasons.iter().take(MAX_NAMED).map(|why| plain(why)).collect();
        let scenarios = count(hunted.unknown, "scenario");
        notes.push(format!("{scenarios} could not be judged: {}", why.join("; ")));
    }
    if hunted.waiting > 0 {
        let runs = count(hunted.waiting, "run");
        notes.push(format!("{runs} ended with calls that wait, as they do in a sequential order"));
    }
    if total.timed_out > 0 {
        notes.push(format!(
            "{} did not end in time (--run-time)",
            count(total.timed_out.into(), "run")
        ));
    }
    if total.unconfirmed_warm_runs > 0 {
        let runs = count(total.unconfirmed_warm_runs.into(), "run");
        notes.push(format!(
            "{runs} showed something in a JVM that had made runs before, and not in a fresh one: not counted"
        ));
    }
    notes.extend(total.unseen.iter().take(MAX_NAMED).map(|words| plain(words)));
    for note in notes {
        console.say(&format!("  NOTE: {note}\n"))?;
    }
    let path = check.out.join("report.json");
    let page = path.with_extension("html");
    console.say(&format!("  report: {}, to look at: {}\n", path.display(), page.display()))
}
