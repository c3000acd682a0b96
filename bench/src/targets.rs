//! The drivers of `targets/`: real libraries with and without the recorder, replayed and checked. One row each.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Runs of each kind; the best counts.
const RUNS: usize = 2;

/// A run that takes longer than this hangs.
const LIMIT: &str = "300";

/// Time for `untorn check`.
const CHECK: &str = "30s";

struct Target {
    name: String,
    untorn: PathBuf,
    folder: PathBuf,
    /// What it says it expects: `output`, or `violation A.b`.
    expect: String,
}

/// Prints the row of each, and fails if one is not as it should be.
pub fn print_all(names: &[&str]) -> Result<()> {
    println!(
        "| target | threads | events | plain s | recorded s | slowdown | same output | replay | check | as expected |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | --- | --- | --- | --- |");
    let mut ratios: Vec<f64> = Vec::new();
    let mut failed = Vec::new();
    for name in names {
        match Target::new(name)?.row() {
            Ok((row, ratio, good)) => {
                println!("{row}");
                ratios.push(ratio);
                if !good {
                    failed.push((*name).to_owned());
                }
            }
            Err(error) => {
                println!("| {name} | | | | | | | | {error:#} | **no** |");
                failed.push((*name).to_owned());
            }
        }
    }
    if !ratios.is_empty() {
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        println!("\nSlowdown, geometric mean of {}: {mean:.1}", ratios.len());
    }
    if failed.is_empty() { Ok(()) } else { bail!("not as it should be: {}", failed.join(", ")) }
}

impl Target {
    fn new(name: &str) -> Result<Self> {
        let source = Path::new("targets").join(format!("{name}.java"));
        let text = std::fs::read_to_string(&source)
            .with_context(|| format!("{}: run from the project's root", source.display()))?;
        let expect = text.lines().find_map(|line| line.strip_prefix("// expect:"));
        Ok(Self {
            name: name.to_owned(),
            untorn: std::env::current_exe()?.with_file_name("untorn"),
            folder: std::path::absolute(Path::new("target/targets").join(name))?,
            expect: expect.context("it does not say what to expect")?.trim().to_owned(),
        })
    }

    fn java(&self) -> Vec<String> {
        let path = format!("{0}/classes:{0}/lib/*", self.folder.display());
        ["java", "-cp", &path, &self.name].map(str::to_owned).to_vec()
    }

    /// Runs a command in the target's folder, under a limit of time.
    fn run(&self, words: &[String]) -> Result<(Output, Duration)> {
        let begin = Instant::now();
        let output = Command::new("timeout")
            .args(["-k", "2", LIMIT])
            .args(words)
            .current_dir(&self.folder)
            .output()?;
        if output.status.code() == Some(124) {
            bail!("{} did not end within {LIMIT} s", words.join(" "));
        }
        Ok((output, begin.elapsed()))
    }

    fn untorn(&self, words: &[&str], command: &[String]) -> Result<(Output, Duration)> {
        let mut all = vec![self.untorn.display().to_string()];
        all.extend(words.iter().map(|&word| word.to_owned()));
        if !command.is_empty() {
            all.push("--".to_owned());
            all.extend_from_slice(command);
        }
        self.run(&all)
    }

    fn row(&self) -> Result<(String, f64, bool)> {
        let (plain, plain_time) = self.best(|| self.run(&self.java()))?;
        let record = ["record", "-q", "-o", "run.utr"];
        let (recorded, recorded_time) = self.best(|| self.untorn(&record, &self.java()))?;
        let same = recorded.stdout == plain.stdout && recorded.status == plain.status;
        let facts = self.facts()?;
        let (again, _) = self.untorn(&["replay", "run.utr"], &[])?;
        let replayed = String::from_utf8_lossy(&again.stderr).contains("events exactly");
        let (checked, as_expected) = self.check()?;
        let ratio = recorded_time.as_secs_f64() / plain_time.as_secs_f64();
        let yes = |is: bool| if is { "yes" } else { "**no**" };
        let row = format!(
            "| {} | {} | {} | {:.2} | {:.2} | {ratio:.1} | {} | {} | {checked} | {} |",
            self.name,
            facts.0,
            grouped(facts.1),
            plain_time.as_secs_f64(),
            recorded_time.as_secs_f64(),
            yes(same),
            yes(replayed),
            yes(as_expected),
        );
        Ok((row, ratio, same && replayed && as_expected))
    }

    fn best(&self, run: impl Fn() -> Result<(Output, Duration)>) -> Result<(Output, Duration)> {
        let mut best = run()?;
        for _ in 1..RUNS {
            let next = run()?;
            if next.1 < best.1 {
                best = next;
            }
        }
        Ok(best)
    }

    /// Threads and events of the trace.
    fn facts(&self) -> Result<(u64, u64)> {
        let (info, _) = self.untorn(&["trace", "info", "run.utr"], &[])?;
        let text = String::from_utf8_lossy(&info.stdout).into_owned();
        let get = |name: &str| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(name))?;
            let digits: String = line.chars().filter(char::is_ascii_digit).collect();
            digits.parse::<u64>().ok()
        };
        Ok((get("threads ").unwrap_or(0), get("events ").unwrap_or(0)))
    }

    /// What the chase says in words, and whether that is what was expected.
    fn check(&self) -> Result<(String, bool)> {
        let words = ["check", "-q", "--time", CHECK, "--out", "untorn-out"];
        let (done, _) = self.untorn(&words, &self.java())?;
        if !matches!(done.status.code(), Some(0 | 1)) {
            bail!("untorn check: {}", String::from_utf8_lossy(&done.stderr));
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
