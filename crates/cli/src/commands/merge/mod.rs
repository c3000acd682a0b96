//! `untorn merge`: one report of what several machines found.

pub mod args;
pub mod config;

use std::path::{Path, PathBuf};

use untorn_findings::merge::{self, MergeError, Merged, Part};
use untorn_report::coverage::{self, CheckVerdict};
use untorn_report::model::Report;
use untorn_report::phrasing::{count, number};

use crate::commands::check::write_report;
use crate::console::Console;
use crate::exit::{CliError, Exit, Result};
use crate::reports;
use config::Merge;

pub fn run(config: &Merge) -> Result<Exit> {
    let parts: Result<Vec<Part>> = config.parts.iter().map(|path| read(path)).collect();
    let parts = parts?;
    let mut console = Console::plain();
    if let Some(missing) = merge::missing(&parts).map_err(|error| fault(&error))? {
        if !config.partial {
            return Err(CliError::input(format!("the parts are not all there: {missing}"))
                .way_out("add them, or say --partial to merge what there is"));
        }
        console.warn(&format!("not all is there: {missing}"));
    }
    std::fs::create_dir_all(&config.out).map_err(|error| {
        CliError::run(format!("cannot write {}: {error}", config.out.display()))
            .way_out("choose another folder with --out")
    })?;
    let Merged { report, traces } = merge::merge(&parts, &config.out);
    for trace in traces {
        std::fs::copy(&trace.from, config.out.join(&trace.to)).map_err(|error| {
            CliError::input(format!("{}: {error}", trace.from.display()))
                .way_out("copy the whole folder of each part, not its report alone")
        })?;
    }
    let path = config.out.join("report.json");
    write_report(&path, &report)?;
    tell(&report, parts.len(), &path, &mut console)
}

/// The report of a part, by its file or its folder.
fn read(path: &Path) -> Result<Part> {
    let path: PathBuf = if path.is_dir() { path.join("report.json") } else { path.to_owned() };
    let report = reports::read_of_check(&path)?;
    Part::new(report, path).map_err(|error| fault(&error))
}

fn fault(error: &MergeError) -> CliError {
    let failure = CliError::input(error.to_string());
    match error {
        MergeError::NoCheck(_) => failure.way_out("merge what `untorn check --shard I/N` wrote"),
        MergeError::DifferentChecks(..) | MergeError::GivenTwice(_) => failure,
    }
}

fn tell(report: &Report, parts: usize, path: &Path, console: &mut Console) -> Result<Exit> {
    for finding in &report.findings {
        let badges = finding.badges.join(" · ");
        console
            .put(&format!("violation {}: {}  [{badges}]\n", finding.number, finding.headline))?;
    }
    let facts = report.check.clone().unwrap_or_default();
    console.put(&format!(
        "{} of {}: {} ({} directed)\n  report: {}\n",
        count(report.findings.len() as u64, "violation"),
        count(parts as u64, "part"),
        count(facts.runs, "run"),
        number(facts.directed),
        path.display()
    ))?;
    Ok(match facts.verdict {
        CheckVerdict::Findings => Exit::Findings,
        CheckVerdict::Clean => Exit::Clean,
        CheckVerdict::Inconclusive => {
            console.put(&format!("  inconclusive: {}\n", coverage::why(&facts.gaps)))?;
            Exit::Inconclusive
        }
    })
}
