//! `untorn verify`: can this violation still happen in the changed program?

use std::path::{Path, PathBuf};

use untorn_explore::{Only, Outcome};
use untorn_findings::check::why_unreached;
use untorn_jvm::config::ScopeConfig;
use untorn_jvm::jvm_selection::JvmSelector;
use untorn_report::model::{Evidence, Finding, Report, Setting};
use untorn_report::text::plain;
use untorn_report::words::{count, number};

use crate::args::{BlocksName, VerifyArgs};
use crate::check;
use crate::config::{Check, duration, initial_seed, source_roots, sources_of};
use crate::console::{Console, Volume};
use crate::exit::{Exit, Failure, Result};
use crate::program::Program;
use crate::reports;

pub fn run(args: VerifyArgs) -> Result<Exit> {
    let report = reports::read_report(&args.report)?;
    let evidence = reports::evidence(&report, &args.report, args.number, "verify")?;
    let is_this = |finding: &&Finding| finding.evidence.as_ref() == Some(evidence);
    if report.findings.iter().find(is_this).is_some_and(Finding::is_deadlock) {
        return Err(Failure::input(format!(
            "{}: this is a deadlock, and only torn blocks are verified",
            args.report.display()
        ))
        .way_out("`untorn check` on the changed program looks for the same circle again"));
    }
    if evidence.block.is_empty() {
        return Err(Failure::input(format!(
            "{}: it does not say by name what is torn",
            args.report.display()
        ))
        .way_out("make a new report with `untorn check`"));
    }
    if same_folder(&args.out, &args.report) {
        return Err(Failure::input("the new report would replace the old one")
            .way_out("choose another folder with --out"));
    }
    let mut check = check_of(args, &report, evidence)?;
    let mut console = Console::new(check.color, check.volume);
    let outcome = check::chase(&mut check, &mut console)?;
    verdict(&outcome, evidence, &mut console)
}

fn same_folder(out: &Path, report: &Path) -> bool {
    let folder = |path: &Path| std::fs::canonicalize(path).ok();
    let own = report.parent().map_or(PathBuf::from("."), |parent| match parent.as_os_str().len() {
        0 => PathBuf::from("."),
        _ => parent.to_owned(),
    });
    folder(out).is_some_and(|out| Some(out) == folder(&own))
}

/// The same check as that of the report, for one violation only.
fn check_of(args: VerifyArgs, report: &Report, evidence: &Evidence) -> Result<Check> {
    let facts = report.check.clone().unwrap_or_default();
    let Setting {
        instrument,
        exclude,
        atomic,
        declared,
        all_methods,
        compositions,
        directory,
        main,
        test,
    } = facts.setting;
    let is_new = !args.program.command.is_empty() || args.program.junit.is_some();
    let program = if is_new {
        Program::new(args.program)?
    } else {
        let which =
            JvmSelector { main: args.program.main.or(main), test: args.program.test.or(test) };
        Program { command: facts.command, which, directory: directory.map(PathBuf::from) }
    };
    let field =
        if evidence.origin == "declared" { String::new() } else { evidence.variable.clone() };
    let blocks = if declared { BlocksName::Declared } else { BlocksName::All };
    let mut options = untorn_explore::Options {
        time: duration(&args.time)?,
        runs: args.runs.max(1),
        per_candidate: args.per_candidate,
        explore: args.explore,
        sources: sources_of(blocks),
        jobs: args.jobs.max(1),
        all_methods,
        minimise: 0,
        only: Some(Only { block: evidence.block.clone(), field }),
        ..untorn_explore::Options::default()
    };
    initial_seed(&mut options, args.seed);
    Ok(Check {
        options,
        out: args.out,
        sources: source_roots(Vec::new()),
        scope: ScopeConfig { instrument, exclude, atomic, ..ScopeConfig::default() },
        compositions,
        run_time: None,
        color: args.color,
        volume: Volume::of(args.quiet, args.verbose),
        program,
    })
}

fn verdict(outcome: &Outcome, evidence: &Evidence, console: &mut Console) -> Result<Exit> {
    let block = plain(&evidence.block);
    let effort = format!(
        "{} ({} directed), {}, {} ruled out",
        count(outcome.runs.into(), "run"),
        number(outcome.directed.into()),
        count(outcome.candidates, "candidate"),
        number(outcome.infeasible),
    );
    if !outcome.findings.is_empty() {
        console.put(&format!("{block} can STILL be torn: {effort}\n"))?;
        return Ok(Exit::Violations);
    }
    if !outcome.is_seen {
        return Err(Failure::run(format!(
            "{block} did not occur in {}: nothing was verified",
            count(outcome.runs.into(), "run")
        ))
        .way_out(
            "was it renamed, or is it not executed any more? `untorn check` looks at everything",
        ));
    }
    let ended = if outcome.interrupted { "; interrupted before the end" } else { "" };
    console.put(&format!("{block} was not torn any more: {effort}{ended}\n"))?;
    for (key, why) in outcome.unreached.iter().take(4) {
        let (field, why) = (plain(&key.field), why_unreached(why));
        console.say(&format!("  predicted, and not reached: {field}: {}\n", plain(&why)))?;
    }
    Ok(Exit::Clean)
}
