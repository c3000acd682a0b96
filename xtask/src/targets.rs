//! The drivers of `targets/`: real libraries with and without the recorder, replayed and checked. One row each.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use untorn_trace::formats::utr;

use crate::process::{self, FinishedProcess};
use crate::setup::libraries;

/// Runs of each kind; the best time and the most memory count.
const RUNS: usize = 2;

/// Replays of the last recorded run.
const REPLAYS: usize = 3;

/// A run that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// Time for `untorn check`.
const CHECK: &str = "30s";

struct Target {
    name: String,
    untorn: PathBuf,
    folder: PathBuf,
    /// What it declares to expect: `output`, or `violation A.b`.
    expect: String,
    /// Why its runs may not replay, if it declares that.
    unsteady: Option<String>,
    /// What it prints, if it declares that: without a violation, and with one.
    prints: Option<[String; 2]>,
}

/// The row of a target, and what is summed up in the end.
struct Row {
    words: String,
    slowdown: f64,
    memory: f64,
    good: bool,
}

/// Where `./dev targets` puts libraries and compiled drivers.
pub fn folder_of(name: &str) -> Result<PathBuf> {
    let all = std::env::var_os("UNTORN_TARGETS").map_or("target/targets".into(), PathBuf::from);
    Ok(std::path::absolute(all.join(name))?)
}

/// What the words of the command choose: whether to check, and which targets. Without names, all.
pub fn chosen(words: &[&str]) -> Result<(bool, Vec<String>)> {
    let (options, names): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.starts_with("--"));
    let checks = match options[..] {
        [] => true,
        ["--no-check"] => false,
        _ => bail!("usage: ./dev targets [--no-check] [NAME…]"),
    };
    let names = names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    Ok((checks, if names.is_empty() { libraries::all()? } else { names }))
}

/// Prints the row of each, and fails if one is not as it should be.
pub fn print_all(checks: bool, names: &[String]) -> Result<()> {
    println!(
        "| target | threads | events | plain s | recorded s | slowdown | plain MB | recorded MB | memory | same output | \
         replay exact | check | as expected |"
    );
    println!("| --- |{} --- | --- | --- | --- |", " ---: |".repeat(8));
    let mut rows = Vec::new();
    let mut failed = Vec::new();
    for name in names {
        match Target::new(name).and_then(|target| target.row(checks)) {
            Ok(row) => {
                println!("{}", row.words);
                if !row.good {
                    failed.push(name.as_str());
                }
                rows.push(row);
            }
            Err(error) => {
                let error = format!("{error:#}").replace('\n', " ");
                println!("| {name} |{} {error} | **no** |", " |".repeat(10));
                failed.push(name.as_str());
            }
        }
    }
    if !rows.is_empty() {
        let slowdown = mean(rows.iter().map(|row| row.slowdown));
        let memory = mean(rows.iter().map(|row| row.memory));
        println!("\nGeometric means of {}: slowdown {slowdown:.1}, memory {memory:.2}", rows.len());
    }
    if failed.is_empty() { Ok(()) } else { bail!("not as it should be: {}", failed.join(", ")) }
}

/// The geometric mean.
fn mean(ratios: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = ratios.len() as f64;
    (ratios.map(f64::ln).sum::<f64>() / count).exp()
}

impl Target {
    fn new(name: &str) -> Result<Self> {
        let source = Path::new("targets").join(format!("{name}.java"));
        let text = std::fs::read_to_string(&source)
            .with_context(|| format!("{}: run from the project's root", source.display()))?;
        let key = |head: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(head))
                .map(|value| value.trim().to_owned())
        };
        Ok(Self {
            name: name.to_owned(),
            untorn: crate::release::untorn()?,
            folder: folder_of(name)?,
            expect: key("// expect:").context("it does not declare what to expect")?,
            unsteady: key("// replay:"),
            prints: key("// whole:").zip(key("// torn:")).map(<[String; 2]>::from),
        })
    }

    fn java(&self) -> Vec<String> {
        let path = format!("{0}/classes:{0}/lib/*", self.folder.display());
        ["java", "-cp", &path, &self.name].map(str::to_owned).to_vec()
    }

    /// Runs a command in the target's folder, under a limit of time.
    fn run(&self, words: &[String]) -> Result<FinishedProcess> {
        let mut command = Command::new(&words[0]);
        let ended = process::run(command.args(&words[1..]).current_dir(&self.folder), LIMIT)?;
        if ended.hung {
            bail!("{} did not end within {} s", words.join(" "), LIMIT.as_secs());
        }
        Ok(ended)
    }

    fn untorn(&self, words: &[&str], command: &[String]) -> Result<FinishedProcess> {
        let mut all = vec![self.untorn.display().to_string()];
        all.extend(words.iter().map(|&word| word.to_owned()));
        if !command.is_empty() {
            all.push("--".to_owned());
            all.extend_from_slice(command);
        }
        self.run(&all)
    }

    fn row(&self, checks: bool) -> Result<Row> {
        let plain = best(|| self.run(&self.java()))?;
        if !plain.status.success() {
            bail!("without the recorder: {}, {}", plain.status, plain.stderr_text());
        }
        let record = ["record", "-q", "-o", "run.utr"];
        let recorded = best(|| self.untorn(&record, &self.java()))?;
        let same = recorded.status == plain.status
            && (recorded.stdout == plain.stdout || self.prints_either(&plain, &recorded));
        let (threads, events) = self.facts()?;
        let replayed = self.replays()?;
        let (checked, as_expected) =
            if checks { self.check()? } else { ("not run".to_owned(), true) };
        let (before, after) = (plain.elapsed.as_secs_f64(), recorded.elapsed.as_secs_f64());
        let (slowdown, memory) = (after / before, recorded.resident as f64 / plain.resident as f64);
        let yes = |is: bool| if is { "yes" } else { "**no**" };
        let words = format!(
            "| {} | {threads} | {} | {before:.2} | {after:.2} | {slowdown:.1} | {} | {} | {memory:.2} | {} | {} | \
             {checked} | {} |",
            self.name,
            grouped(events),
            plain.resident >> 20,
            recorded.resident >> 20,
            yes(same),
            self.replay_words(replayed),
            yes(as_expected),
        );
        let replays = replayed == REPLAYS || self.unsteady.is_some();
        Ok(Row { words, slowdown, memory, good: same && replays && as_expected })
    }

    /// Whether each of two runs printed what the target may print: which of the two is up to the schedule.
    fn prints_either(&self, one: &FinishedProcess, other: &FinishedProcess) -> bool {
        let may = |run: &FinishedProcess| {
            let printed = String::from_utf8_lossy(&run.stdout);
            self.prints.as_ref().is_some_and(|both| both.iter().any(|text| text == printed.trim()))
        };
        may(one) && may(other)
    }

    /// How many replays were exact.
    fn replays(&self) -> Result<usize> {
        let mut exact = 0;
        for _ in 0..REPLAYS {
            let again = self.untorn(&["replay", "run.utr"], &[])?;
            exact += usize::from(again.stderr_text().contains("events exactly"));
        }
        Ok(exact)
    }

    fn replay_words(&self, exact: usize) -> String {
        match &self.unsteady {
            _ if exact == REPLAYS => format!("{exact} of {REPLAYS}"),
            Some(why) => format!("{exact} of {REPLAYS}: {why}"),
            None => format!("**{exact} of {REPLAYS}**"),
        }
    }

    /// Threads and events of the trace.
    fn facts(&self) -> Result<(u64, u64)> {
        let mut file = std::fs::File::open(self.folder.join("run.utr"))?;
        let skimmed = utr::skim(&mut file)?.context("the trace is not whole")?;
        let threads = skimmed.meta.summary.map_or(0, |summary| summary.threads);
        Ok((threads, skimmed.events))
    }

    /// The result of the check as text, and whether it was expected.
    fn check(&self) -> Result<(String, bool)> {
        let words = ["check", "-q", "--time", CHECK, "--out", "untorn-out"];
        let done = self.untorn(&words, &self.java())?;
        if !matches!(done.status.code(), Some(0 | 1)) {
            bail!("untorn check: {}", done.stderr_text());
        }
        let text = std::fs::read(self.folder.join("untorn-out/report.json"))?;
        let report: Value = serde_json::from_slice(&text)?;
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        let named = |block: &str| {
            findings.iter().any(|one| one["headline"].as_str().unwrap_or("").contains(block))
        };
        let as_expected = match self.expect.split_once(' ') {
            Some(("violation", block)) => named(block.trim()),
            _ => true,
        };
        let facts = &report["check"];
        let words = format!(
            "{} found, {} runs, {:.0} s",
            findings.len(),
            facts["runs"],
            facts["milliseconds"].as_f64().unwrap_or(0.0) / 1000.0
        );
        Ok((words, as_expected))
    }
}

/// The quickest of some runs, with the most memory of them.
fn best(run: impl Fn() -> Result<FinishedProcess>) -> Result<FinishedProcess> {
    let mut best = run()?;
    for _ in 1..RUNS {
        let next = run()?;
        let resident = best.resident.max(next.resident);
        if next.elapsed < best.elapsed {
            best = next;
        }
        best.resident = resident;
    }
    Ok(best)
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}
