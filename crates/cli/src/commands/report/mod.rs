//! `untorn report`: shows a report in any of its formats.

pub mod args;
pub mod config;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use untorn_findings::scene;
use untorn_findings::sources::Library;
use untorn_report::model::Report;
use untorn_report::phrasing::count;
use untorn_report::{identity, terminal};

use crate::console::Console;
use crate::exit::{CliError, Exit, Result};
use crate::files::write_text;
use crate::front_ends;
use crate::reports;
use config::ShowReport;

/// How long an opener may take to report a failure.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn run(config: &ShowReport) -> Result<Exit> {
    let mut report = reports::read(&config.file)?;
    let folder = config.file.parent().unwrap_or(Path::new(""));
    scene::fill(&mut report.findings, folder);
    // Sources that were not found when the report was made may be found now.
    let command = report.check.as_ref().map_or(&[][..], |check| &check.command);
    Library::new(&config.sources, front_ends::library_sources(command)).fill(&mut report);
    let known = match &config.baseline {
        Some(old) => Some(identity::subtract(&mut report, &reports::read(old)?)),
        None => None,
    };
    let mut console = Console::new(config.color, config.volume);
    for (path, render) in &config.outputs {
        write_text(path, &render(&report), &mut console)?;
    }
    if config.outputs.is_empty() {
        show(&report, known, &mut console)?;
    } else {
        let names: Vec<String> =
            config.outputs.iter().map(|(path, _)| path.display().to_string()).collect();
        console.say(&format!("{} in {}\n", found(&report), names.join(", ")))?;
    }
    if let Some(page) = &config.open {
        open(page)?;
    }
    let is_new = report.findings().next().is_some() || !report.failures.is_empty();
    let new = known.is_some() && is_new;
    Ok(if new { Exit::Findings } else { Exit::Clean })
}

fn show(report: &Report, known: Option<usize>, console: &mut Console) -> Result<()> {
    for finding in report.findings() {
        console.say(&format!("{}\n", terminal::finding(finding, &console.look)))?;
    }
    for failure in &report.failures {
        console.say(&format!("{}\n", terminal::failure(failure, &console.look)))?;
    }
    let found = found(report);
    let old = known.map_or_else(String::new, |known| format!(", {known} known before"));
    let open = report.check.as_ref().map_or(0, |check| check.unreached.len() as u64);
    let open = if open > 0 {
        format!(", {} not reached", count(open, "prediction"))
    } else {
        String::new()
    };
    console.say(&format!("{found}{old}{open}\n"))
}

/// `2 violations and 1 deadlock`.
fn found(report: &Report) -> String {
    let stuck = report.findings().filter(|finding| finding.is_deadlock()).count() as u64;
    let torn = report.findings().count() as u64 - stuck;
    let failed = report.failures.len() as u64;
    let all = [(torn, "violation"), (stuck, "deadlock"), (failed, "failure")];
    let some: Vec<String> =
        all.iter().filter(|(n, _)| *n > 0).map(|&(n, what)| count(n, what)).collect();
    match some.split_last() {
        None => count(0, "violation"),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Hands the page to the system's browser. An opener ends at once if it cannot; one that is still there is the browser.
fn open(page: &Path) -> Result<()> {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    let fail = |error: String| {
        CliError::run(format!("cannot open a browser: {opener}: {error}"))
            .way_out(format!("the page is {}", page.display()))
    };
    let mut child = Command::new(opener)
        .arg(&page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| fail(error.to_string()))?;
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(fail(status.to_string())),
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(fail(error.to_string())),
        }
    }
    Ok(())
}
