//! `untorn merge`: one report of what several machines found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use untorn_report::model::{CheckFacts, Finding, Report};
use untorn_report::words::{count, number};
use untorn_report::{fingerprint, html, json};

use crate::args::MergeArgs;
use crate::console::Console;
use crate::exit::{Exit, Failure, Result};
use crate::findings;

/// A report and where it lies.
struct Part {
    report: Report,
    facts: CheckFacts,
    path: PathBuf,
    folder: PathBuf,
}

impl Part {
    fn read(path: &Path) -> Result<Self> {
        let path = if path.is_dir() { path.join("report.json") } else { path.to_owned() };
        let report = findings::read_report(&path)?;
        let facts = report.check.clone().ok_or_else(|| {
            Failure::input(format!("{}: not a report of a check", path.display()))
                .way_out("merge what `untorn check --shard I/N` wrote")
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { report, facts, path, folder })
    }
}

pub fn run(args: &MergeArgs) -> Result<Exit> {
    let parts: Result<Vec<Part>> = args.parts.iter().map(|path| Part::read(path)).collect();
    let parts = parts?;
    let mut console = Console::plain();
    if let Some(missing) = missing(&parts)? {
        if !args.partial {
            return Err(Failure::input(format!("the parts are not all there: {missing}"))
                .way_out("add them, or say --partial to merge what there is"));
        }
        console.warn(&format!("not all is there: {missing}"));
    }
    std::fs::create_dir_all(&args.out).map_err(|error| {
        Failure::run(format!("cannot write {}: {error}", args.out.display()))
            .way_out("choose another folder with --out")
    })?;
    let report = merged(&parts, &args.out)?;
    let path = args.out.join("report.json");
    for (path, text) in
        [(&path, json::render(&report)), (&path.with_extension("html"), html::render(&report))]
    {
        std::fs::write(path, text)
            .map_err(|error| Failure::run(format!("cannot write {}: {error}", path.display())))?;
    }
    tell(&report, &parts, &path, &mut console)
}

/// Which parts are missing, in words. Parts of different checks are an error.
fn missing(parts: &[Part]) -> Result<Option<String>> {
    let first = &parts[0];
    let of = |part: &Part| part.facts.shard.map_or(1, |[_, of]| of);
    let mut there = BTreeSet::new();
    for part in parts {
        if part.facts.command != first.facts.command || of(part) != of(first) {
            return Err(Failure::input(format!(
                "{} and {} are parts of different checks",
                first.path.display(),
                part.path.display()
            )));
        }
        if !there.insert(part.facts.shard.map_or(1, |[index, _]| index)) {
            return Err(Failure::input(format!(
                "{}: this part was given already",
                part.path.display()
            )));
        }
    }
    let missing: Vec<String> =
        (1..=of(first)).filter(|index| !there.contains(index)).map(|i| i.to_string()).collect();
    let of = of(first);
    Ok((!missing.is_empty()).then(|| format!("part {} of {of} is missing", missing.join(", "))))
}

/// What makes two findings of two parts the same: the violation to who has to mend it.
fn concern(finding: &Finding) -> String {
    if finding.is_deadlock() {
        return format!("deadlock {}", fingerprint::fingerprint(finding));
    }
    finding.evidence.as_ref().map_or_else(String::new, |evidence| evidence.concern.clone())
}

/// How much a finding proves.
fn weight(finding: &Finding) -> (bool, bool) {
    let evidence = finding.evidence.as_ref();
    let has = |of: fn(&untorn_report::model::Evidence) -> bool| evidence.is_some_and(of);
    (has(|evidence| !evidence.values.is_empty()), has(|evidence| !evidence.effects.is_empty()))
}

fn merged(parts: &[Part], out: &Path) -> Result<Report> {
    let mut best: BTreeMap<String, (usize, Finding)> = BTreeMap::new();
    for (index, part) in parts.iter().enumerate() {
        for finding in &part.report.findings {
            let known = best.get(&concern(finding));
            if known.is_none_or(|(_, known)| weight(known) < weight(finding)) {
                best.insert(concern(finding), (index, finding.clone()));
            }
        }
    }
    let evidence = best.values().filter_map(|(_, finding)| finding.evidence.as_ref());
    let found: BTreeSet<(String, String)> =
        evidence.map(|one| (one.block.clone(), one.variable.clone())).collect();
    let mut all: Vec<(usize, Finding)> = best.into_values().collect();
    all.sort_by_key(|(part, finding)| {
        (finding.evidence.as_ref().map_or(0, |evidence| evidence.milliseconds), *part)
    });
    let mut report = Report::new(parts[0].report.tool.clone(), Vec::new());
    for (place, (part, mut finding)) in all.into_iter().enumerate() {
        finding.number = place as u32 + 1;
        take_trace(&mut finding, &parts[part], out)?;
        report.findings.push(finding);
    }
    report.check = Some(facts(parts, &found));
    Ok(report)
}

/// Copies the trace of a finding, under a name that no other has.
fn take_trace(finding: &mut Finding, part: &Part, out: &Path) -> Result<()> {
    let number = finding.number;
    let Some(evidence) = finding.evidence.as_mut() else { return Ok(()) };
    let name = Path::new(&evidence.trace).file_name().unwrap_or_default().to_owned();
    let (from, to) = (part.folder.join(name), format!("finding-{number}.utr"));
    std::fs::copy(&from, out.join(&to)).map_err(|error| {
        Failure::input(format!("{}: {error}", from.display()))
            .way_out("copy the whole folder of each part, not its report alone")
    })?;
    evidence.trace = to;
    let report = out.join("report.json");
    evidence.replay = format!("untorn replay {} {number}", report.display());
    Ok(())
}

fn facts(parts: &[Part], found: &BTreeSet<(String, String)>) -> CheckFacts {
    let all = || parts.iter().map(|part| &part.facts);
    let first = &parts[0].facts;
    let mut unseen: Vec<String> = all().flat_map(|facts| facts.unseen.clone()).collect();
    unseen.sort();
    unseen.dedup();
    let unreached = all().flat_map(|facts| facts.unreached.clone());
    CheckFacts {
        runs: all().map(|facts| facts.runs).sum(),
        directed: all().map(|facts| facts.directed).sum(),
        events: all().map(|facts| facts.events).sum(),
        threads: all().map(|facts| facts.threads).max().unwrap_or(0),
        candidates: all().map(|facts| facts.candidates).sum(),
        infeasible: all().map(|facts| facts.infeasible).sum(),
        harmless: all().map(|facts| facts.harmless).sum(),
        unreached: unreached
            .filter(|one| !found.contains(&(one.block.clone(), one.variable.clone())))
            .collect(),
        unseen,
        left_out: all().map(|facts| facts.left_out).sum(),
        interrupted: all().any(|facts| facts.interrupted),
        // They ran beside each other.
        milliseconds: all().map(|facts| facts.milliseconds).max().unwrap_or(0),
        deadlocks: all().map(|facts| facts.deadlocks).sum(),
        shard: None,
        ..first.clone()
    }
}

fn tell(report: &Report, parts: &[Part], path: &Path, console: &mut Console) -> Result<Exit> {
    for finding in &report.findings {
        let badges = finding.badges.join(" · ");
        console
            .put(&format!("violation {}: {}  [{badges}]\n", finding.number, finding.headline))?;
    }
    let facts = report.check.clone().unwrap_or_default();
    console.put(&format!(
        "{} of {}: {} ({} directed)\n  report: {}\n",
        count(report.findings.len() as u64, "violation"),
        count(parts.len() as u64, "part"),
        count(facts.runs, "run"),
        number(facts.directed),
        path.display()
    ))?;
    let is_clean = report.findings.is_empty() && facts.deadlocks == 0;
    Ok(if is_clean { Exit::Clean } else { Exit::Violations })
}
