//! `untorn verify`: can this violation still happen in the changed program?

pub mod args;
pub mod config;

use std::path::{Path, PathBuf};

use untorn_explore::{Only, Outcome};
use untorn_findings::check::why_unreached;
use untorn_jvm::JvmProgram;
use untorn_jvm::config::ScopeConfig;
use untorn_jvm::jvm_selection::JvmSelector;
use untorn_predict::candidates::Sources;
use untorn_report::model::{Evidence, Finding, Report, Setting};
use untorn_report::phrasing::{count, number};
use untorn_report::text::plain;

use crate::commands::check;
use crate::commands::check::args::FailOn;
use crate::commands::check::config::Check;
use crate::config::source_roots;
use crate::console::Console;
use crate::exit::{Exit, Failure, Result};
use crate::front_ends;
use crate::reports;
use config::{ProgramChoice, Verify};

pub fn run(verify: &Verify) -> Result<Exit> {
    let report = reports::read_of_check(&verify.report)?;
    let evidence = reports::evidence(&report, &verify.report, verify.number, "verify")?;
    let is_this = |finding: &&Finding| finding.evidence.as_ref() == Some(evidence);
    let finding = report.findings.iter().find(is_this);
    if let Some(finding) = finding {
        front_ends::by_name(&finding.front_end, &verify.report)?;
    }
    if finding.is_some_and(Finding::is_deadlock) {
        return Err(Failure::input(format!(
            "{}: this is a deadlock, and only torn blocks are verified",
            verify.report.display()
        ))
        .way_out("`untorn check` on the changed program looks for the same circle again"));
    }
    if evidence.block.is_empty() {
        return Err(Failure::input(format!(
            "{}: it does not say by name what is torn",
            verify.report.display()
        ))
        .way_out("make a new report with `untorn check`"));
    }
    if same_folder(&verify.out, &verify.report) {
        return Err(Failure::input("the new report would replace the old one")
            .way_out("choose another folder with --out"));
    }
    let mut check = check_of(verify, &report, evidence);
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
fn check_of(verify: &Verify, report: &Report, evidence: &Evidence) -> Check {
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
    let program = match &verify.program {
        ProgramChoice::Named(program) => program.clone(),
        ProgramChoice::OfReport(own) => {
            let which =
                JvmSelector { main: own.main.clone().or(main), test: own.test.clone().or(test) };
            JvmProgram { command: facts.command, which, directory: directory.map(PathBuf::from) }
        }
    };
    let field =
        if evidence.origin == "declared" { String::new() } else { evidence.variable.clone() };
    let options = untorn_explore::Options {
        sources: if declared { Sources::Declared } else { Sources::All },
        all_methods,
        only: Some(Only { method: evidence.method().to_owned(), field }),
        ..verify.options.clone()
    };
    Check {
        options,
        out: verify.out.clone(),
        sources: source_roots(Vec::new()),
        scope: ScopeConfig { instrument, exclude, atomic, ..ScopeConfig::default() },
        compositions,
        run_time: None,
        fail_on: FailOn::Any,
        warm: false,
        color: verify.color,
        volume: verify.volume,
        program,
    }
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
