//! `untorn report`: shows what a report says in any of its forms; `untorn explain`: one finding in
//! plain words.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use untorn_findings::scene;
use untorn_findings::sources::Library;
use untorn_report::model::Report;
use untorn_report::words::count;
use untorn_report::{
    dot, explain, html, identity, json, junit, markdown, perfetto, sarif, svg, terminal,
};

use crate::args::{ExplainArgs, ReportArgs};
use crate::console::{Console, Volume};
use crate::exit::{Exit, Failure, Result};
use crate::files::{is_dash, write_text};
use crate::jdk_sources;

/// How long an opener may take to say that it cannot.
const PATIENCE: Duration = Duration::from_secs(2);

/// A report from a file.
fn read(path: &Path) -> Result<Report> {
    let fail = |error: String| Failure::input(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| {
        fail(error.to_string()).way_out("`untorn check` writes untorn-out/report.json")
    })?;
    json::parse(&text).map_err(fail)
}

pub fn run(args: &ReportArgs) -> Result<Exit> {
    let mut report = read(&args.file)?;
    let folder = args.file.parent().unwrap_or(Path::new(""));
    scene::fill(&mut report.findings, folder);
    // Sources that were not found when the report was made may be found now.
    let roots = crate::config::source_roots(args.source.clone());
    let command = report.check.as_ref().map_or(&[][..], |check| &check.command);
    Library::new(&roots, jdk_sources::sources(command)).fill(&mut report);
    let known = match &args.baseline {
        Some(old) => Some(identity::subtract(&mut report, &read(old)?)),
        None => None,
    };
    let outputs = outputs(args);
    if args.open && args.html.as_deref().is_some_and(is_dash) {
        return Err(Failure::input("standard output cannot be opened")
            .way_out("name a file with --html, or leave it out"));
    }
    let dashes = outputs.iter().filter(|(path, _)| is_dash(path)).count();
    if dashes > 1 {
        return Err(Failure::input("`-` was given twice: only one form can go to standard output"));
    }
    let volume = match (args.quiet || dashes > 0, args.verbose) {
        (true, _) => Volume::Quiet,
        (false, true) => Volume::Verbose,
        (false, false) => Volume::Normal,
    };
    let mut console = Console::new(args.color, volume);
    for (path, render) in &outputs {
        write_text(path, &render(&report), &mut console)?;
    }
    if outputs.is_empty() {
        show(&report, known, &mut console)?;
    } else {
        let names: Vec<String> =
            outputs.iter().map(|(path, _)| path.display().to_string()).collect();
        console.say(&format!("{} in {}\n", found(&report), names.join(", ")))?;
    }
    if let Some((page, _)) = outputs.iter().find(|(_, kind)| is_page(*kind)).filter(|_| args.open) {
        open(page)?;
    }
    let new = known.is_some() && report.findings().next().is_some();
    Ok(if new { Exit::Violations } else { Exit::Clean })
}

type Render = fn(&Report) -> String;

fn is_page(kind: Render) -> bool {
    std::ptr::fn_addr_eq(kind, html::render as Render)
}

fn outputs(args: &ReportArgs) -> Vec<(PathBuf, Render)> {
    let page = args.html.clone().or_else(|| args.open.then(|| args.file.with_extension("html")));
    let all: [(Option<PathBuf>, Render); 7] = [
        (page, html::render),
        (args.sarif.clone(), sarif::render),
        (args.markdown.clone(), markdown::render),
        (args.junit.clone(), junit::render),
        (args.dot.clone(), |report| dot::render(report.findings())),
        (args.svg.clone(), |report| svg::render(report.findings())),
        (args.perfetto.clone(), perfetto::render),
    ];
    all.into_iter().filter_map(|(path, render)| Some((path?, render))).collect()
}

fn show(report: &Report, known: Option<usize>, console: &mut Console) -> Result<()> {
    for finding in report.findings() {
        console.say(&format!("{}\n", terminal::finding(finding, &console.look)))?;
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
    match (torn, stuck) {
        (torn, 0) => count(torn, "violation"),
        (0, stuck) => count(stuck, "deadlock"),
        (torn, stuck) => format!("{} and {}", count(torn, "violation"), count(stuck, "deadlock")),
    }
}

/// Hands the page to the system's browser. An opener ends at once if it cannot; one that is still there is the browser.
fn open(page: &Path) -> Result<()> {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    let fail = |error: String| {
        Failure::run(format!("cannot open a browser: {opener}: {error}"))
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

pub fn run_explain(args: &ExplainArgs) -> Result<Exit> {
    let report = read(&args.file)?;
    let numbers: Vec<u32> = report.findings().map(|finding| finding.number).collect();
    let fail = |text: String| Failure::input(format!("{}: {text}", args.file.display()));
    let number = match (args.number, numbers.as_slice()) {
        (Some(number), _) => number,
        (None, [only]) => *only,
        (None, all) => {
            return Err(fail(format!(
                "it has {}: which one?",
                count(all.len() as u64, "violation")
            ))
            .way_out(format!("untorn explain {} NUMBER", args.file.display())));
        }
    };
    let found = report.findings().find(|finding| finding.number == number).ok_or_else(|| {
        fail(format!(
            "it has no violation {number}, only {}",
            count(numbers.len() as u64, "violation")
        ))
    })?;
    let mut console = Console::new(args.color, Volume::Normal);
    let text = explain::render(found, report.check.as_ref(), &console.look);
    console.put(&text)?;
    Ok(Exit::Clean)
}
