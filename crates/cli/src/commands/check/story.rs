//! What a person reads while the program is explored, and afterwards.

use std::sync::Arc;

use untorn_explore::{Key, Outcome, Progress, ReplayResult, Run, SearchGaps};
use untorn_findings::check::{FindingBuilder, replayed, saturation, unsearched, why_unreached};
use untorn_findings::sources::Library;
use untorn_report::coverage::{self, CheckVerdict};
use untorn_report::failure::Failure;
use untorn_report::groups;
use untorn_report::model::{Finding, Report, counted};
use untorn_report::phrasing::{count, number};
use untorn_report::terminal;
use untorn_report::text::plain;
use untorn_schedule::Steering;

use super::config::Check;
use super::status::Status;
use crate::console::{Console, Volume};
use crate::exit::Result;

/// Candidates that were not reached: so many are named.
const MAX_NAMED: usize = 8;

/// What is not counted: so many are named.
const MAX_FOLDED: usize = 2;

/// Tells what happens during a check.
pub struct ProgressPrinter<'a> {
    pub check: &'a Check,
    pub builder: FindingBuilder,
    pub library: Library,
    pub status: Status,
    /// What was found so far.
    pub findings: Vec<Finding>,
    pub failures: Vec<Failure>,
}

impl ProgressPrinter<'_> {
    pub fn tell(&mut self, news: &Progress<'_>, console: &mut Console) -> Result<()> {
        match news {
            Progress::Running { number, target, open } => {
                self.running(*number, *target, *open);
                Ok(())
            }
            Progress::RunEnded { run, new } => match self.check.volume {
                Volume::Verbose => self.run_ended(run, *new, console),
                _ => Ok(()),
            },
            Progress::Simplifying { number, violation } => {
                let block = &violation.key.block;
                self.status.begin(format!("run {number}: a simpler schedule for {block}"));
                Ok(())
            }
            Progress::SimplifyingFailure { number, failure } => {
                let kind = &failure.kind;
                self.status.begin(format!("run {number}: what is needed for: {kind}"));
                Ok(())
            }
            Progress::Failure(failure) => {
                self.status.clear();
                let kind = plain(&failure.kind.to_string());
                console.say(&format!("run {} failed: {kind}\n", failure.evidence.run))?;
                self.failures.push(self.builder.failure(failure));
                self.keep()
            }
            Progress::Violation(found) => {
                self.status.clear();
                let finding = self.builder.violation(found);
                let at = self.add(finding);
                self.show(at, console)
            }
            Progress::Better(found) => {
                let finding = self.builder.violation(found);
                self.add(finding);
                self.keep()
            }
            Progress::Deadlock(found) => {
                self.status.clear();
                let finding = self.builder.deadlock(found);
                let at = self.add(finding);
                self.show(at, console)
            }
        }
    }

    fn running(&mut self, number: u32, target: Option<&Key>, open: usize) {
        self.status.begin(match target {
            None => format!("run {number}: watching the program"),
            Some(key) => format!(
                "run {number}: trying {} ({}), {} untried",
                key.block,
                key.field,
                count(open as u64, "candidate")
            ),
        });
    }

    fn run_ended(&mut self, run: &Run, new: usize, console: &mut Console) -> Result<()> {
        let spec = match &run.spec.steering {
            Steering::Policy(policy) | Steering::Marks { policy, .. } => {
                format!("{policy}, seed {}", run.spec.seed)
            }
            Steering::Plan { plan, .. } => {
                let followed = run.result.followed.clone().unwrap_or_default();
                let why = followed.released.map(|why| format!(": {why}")).unwrap_or_default();
                format!("plan, {} of {} steps{why}", followed.steps, plan.steps.len())
            }
        };
        self.status.clear();
        console.say(&format!(
            "run {}: {} of {}, {} new; {spec}\n",
            run.number,
            count(run.event_count(), "event"),
            count(run.history.thread_count() as u64, "thread"),
            count(new as u64, "candidate"),
        ))
    }

    /// Adds a finding with its source lines, in place of one with the same number. Says where it is.
    fn add(&mut self, mut finding: Finding) -> usize {
        self.library.fill_one(&mut finding);
        let number = finding.number;
        match self.findings.iter().position(|known| known.number == number) {
            Some(at) => {
                self.findings[at] = finding;
                at
            }
            None => {
                self.findings.push(finding);
                self.findings.len() - 1
            }
        }
    }

    fn show(&mut self, at: usize, console: &mut Console) -> Result<()> {
        let finding = &self.findings[at];
        console.put(&format!("{}\n", terminal::finding(finding, &console.look)))?;
        self.keep()
    }

    /// Writes what was found so far: whatever ends the check, what it has shown is not lost.
    fn keep(&self) -> Result<()> {
        let request = super::request(self.check);
        let report = self.builder.interim(&self.findings, &self.failures, &request);
        super::write_report(&self.check.out.join("report.json"), &report)
    }
}

/// The end of the story.
pub fn summary(
    outcome: &Outcome,
    report: &Report,
    check: &Check,
    console: &mut Console,
) -> Result<()> {
    failures(outcome, check, console)?;
    blocks(report, console)?;
    let verdict = format!("{}{}", lead_in(report), verdict(outcome));
    let ended = if outcome.interrupted { " (interrupted)" } else { "" };
    console.say(&format!(
        "{verdict} in {:.1} s{ended}: {} ({} directed), {} of up to {}\n",
        outcome.time.as_secs_f64(),
        count(outcome.runs.into(), "run"),
        number(outcome.directed.into()),
        count(outcome.events, "event"),
        count(outcome.threads as u64, "thread"),
    ))?;
    gaps(report, console)?;
    console.say(&format!(
        "  {}: {} in violations, {} infeasible, {} happened without harm, {} not reached\n",
        count(outcome.candidates, "candidate"),
        number(
            outcome
                .candidates
                .saturating_sub(outcome.infeasible + outcome.harmless)
                .saturating_sub(outcome.unreached.len() as u64)
        ),
        number(outcome.infeasible),
        number(outcome.harmless),
        number(outcome.unreached.len() as u64),
    ))?;
    if let Some(triples) = report.check.as_ref().and_then(|facts| facts.triples.as_ref()) {
        console.say(&format!("  {}\n", counted(triples)))?;
    }
    console.say(&format!("  {}\n", effort(outcome)))?;
    super::inputs::summary(outcome, check.volume, console)?;
    compositions(outcome, check, console)?;
    not_replayed(outcome, console)?;
    unreached(outcome, check, console)?;
    folded(report, check, console)?;
    limits(outcome, console)?;
    let file = check.out.join("report.json");
    let page = file.with_extension("html");
    console.say(&format!("  report: {}, to look at: {}\n", file.display(), page.display()))
}

/// How the first line of the summary begins if nothing was found.
pub fn lead_in(report: &Report) -> &'static str {
    match report.check.as_ref().map(|facts| facts.verdict) {
        Some(CheckVerdict::Clean) => "clean: ",
        Some(CheckVerdict::Inconclusive) => "inconclusive: ",
        Some(CheckVerdict::Findings) | None => "",
    }
}

/// Why the program is not called clean, and what to do about it.
pub fn gaps(report: &Report, console: &mut Console) -> Result<()> {
    let Some(facts) = &report.check else { return Ok(()) };
    if facts.verdict != CheckVerdict::Inconclusive {
        return Ok(());
    }
    console.say(&format!("  why: {}\n", coverage::why(&facts.gaps)))?;
    console.say(&format!("  try: {}\n", coverage::way_out(&facts.gaps)))
}

/// The blocks that have several violations, each once, with its variables and places.
fn blocks(report: &Report, console: &mut Console) -> Result<()> {
    let groups = groups::by_block(report.findings());
    let several: Vec<_> = groups.iter().filter(|group| group.len() > 1).collect();
    for group in &several {
        console.say(&format!("{}\n", group.headline()))?;
        for line in group.lines() {
            console.say(&format!("  {line}\n"))?;
        }
    }
    if several.is_empty() { Ok(()) } else { console.say("\n") }
}

/// How much of what the class files say was seen at work.
fn compositions(outcome: &Outcome, check: &Check, console: &mut Console) -> Result<()> {
    if !check.compositions {
        return Ok(());
    }
    let all = check.options.compositions.len();
    let made = outcome.compositions_made.len();
    let torn = outcome.violations.iter().filter(|found| found.judged.composed.is_some()).count();
    console.say(&format!(
        "  {} meant to be one step, by the look of it: {} made, {} torn, {} never made in these runs\n",
        super::compositions::pairs(all),
        number(made as u64),
        number(torn as u64),
        number((all - made) as u64),
    ))
}

/// The failures that no violation explains, with their causes.
fn failures(outcome: &Outcome, check: &Check, console: &mut Console) -> Result<()> {
    let builder = FindingBuilder::new(&check.out, Arc::clone(&check.options.compositions));
    for found in &outcome.failures {
        let failure = builder.failure(found);
        console.put(&format!("{}\n", terminal::failure(&failure, &console.look)))?;
    }
    Ok(())
}

/// How much was tried, and why no more.
fn effort(outcome: &Outcome) -> String {
    let orders = count(outcome.conflict_orders, "order");
    match saturation(outcome) {
        Some(why) if outcome.conflict_orders == 0 => why,
        Some(why) => format!("{orders} of conflicts seen; {why}"),
        None => format!("{orders} of conflicts seen"),
    }
}

fn verdict(outcome: &Outcome) -> String {
    let found = [
        (outcome.violations.len(), "violation"),
        (outcome.deadlocks.len(), "deadlock"),
        (outcome.failures.len(), "failure"),
    ];
    let some: Vec<String> = found
        .into_iter()
        .filter(|&(often, _)| often > 0)
        .map(|(often, what)| count(often as u64, what))
        .collect();
    match some.split_last() {
        None if outcome.candidates == 0 && outcome.unsearched == SearchGaps::default() => {
            "nothing that could be torn was seen".to_owned()
        }
        None => "no violation found".to_owned(),
        Some((only, [])) if outcome.violations.is_empty() => {
            format!("{only}, and no torn block, found")
        }
        Some((only, [])) => format!("{only} found"),
        Some((last, others)) => format!("{} and {last} found", others.join(", ")),
    }
}

/// Violations and deadlocks whose run was not repeated exactly. They may have been shown before that was tried again
/// with a simpler schedule.
fn not_replayed(outcome: &Outcome, console: &mut Console) -> Result<()> {
    let violations =
        outcome.violations.iter().map(|found| (found.number, "violation", found.evidence.replay));
    let deadlocks =
        outcome.deadlocks.iter().map(|found| (found.number, "deadlock", found.evidence.replay));
    for (number, what, trial) in violations.chain(deadlocks) {
        if trial != ReplayResult::Exact {
            console.say(&format!("  NOTE: {what} {number}: {}\n", replayed(trial).label()))?;
        }
    }
    Ok(())
}

/// Predicted, not reached: a list of its own, never mixed with what happened. The report has it in any case.
fn unreached(outcome: &Outcome, check: &Check, console: &mut Console) -> Result<()> {
    if check.volume != Volume::Verbose {
        return Ok(());
    }
    for (key, why) in &outcome.unreached {
        console.say(&format!(
            "  not reached: {} ({}, {}): {}\n",
            plain(&key.block),
            plain(&key.field),
            key.shape.letters(),
            plain(&why_unreached(why))
        ))?;
    }
    Ok(())
}

/// What happened and is not counted.
fn folded(report: &Report, check: &Check, console: &mut Console) -> Result<()> {
    let is_verbose = check.volume == Volume::Verbose;
    let most = if is_verbose { usize::MAX } else { MAX_FOLDED };
    for folded in report.folded.iter().take(most) {
        console.say(&format!("  {}\n", plain(&folded.line())))?;
        if is_verbose {
            console.say(&format!("    {}\n", plain(&folded.replay)))?;
        }
    }
    match report.folded.len().saturating_sub(most) {
        0 => Ok(()),
        rest => console.say(&format!(
            "  and {} more that do no harm or depend on timing only (--verbose, or the report)\n",
            number(rest as u64)
        )),
    }
}

/// The limits of the check: what was not searched or not seen.
fn limits(outcome: &Outcome, console: &mut Console) -> Result<()> {
    if outcome.threads < 2 {
        console.say("  NOTE: only one thread ever ran: there is nothing to tear\n")?;
    }
    if outcome.deadlocked_runs > 0 {
        let runs = count(outcome.deadlocked_runs.into(), "run");
        console.say(&format!("  DEADLOCK: {runs} ended with threads that wait for ever\n"))?;
    }
    if outcome.timed_out > 0 {
        console.say(&format!(
            "  NOTE: {} did not end in time and {} stopped (--run-time)\n",
            count(outcome.timed_out.into(), "run"),
            if outcome.timed_out == 1 { "was" } else { "were" }
        ))?;
    }
    if outcome.bodies > 0 {
        console.say(&format!(
            "  {} passed over: nobody means the whole body of a thread to be atomic\n",
            count(outcome.bodies, "candidate")
        ))?;
    }
    if outcome.outside > 0 {
        console.say(&format!(
            "  {} passed over: not in the code that was asked for (--only)\n",
            count(outcome.outside, "candidate")
        ))?;
    }
    if outcome.left_out > 0 {
        console.say(&format!(
            "  NOTE: {} at the ends of long runs were not looked at (--events, --instrument)\n",
            count(outcome.left_out, "event")
        ))?;
    }
    if outcome.more_failures > 0 {
        let runs = count(outcome.more_failures.into(), "run");
        console.say(&format!(
            "  NOTE: {runs} failed in ways that are not listed: there were too many\n"
        ))?;
    }
    if outcome.unconfirmed_warm_runs > 0 {
        console.say(&format!(
            "  NOTE: {} showed something in a JVM that had made runs before, and not in a fresh one: not counted\n",
            count(outcome.unconfirmed_warm_runs.into(), "run")
        ))?;
    }
    for words in unsearched(outcome) {
        console.say(&format!("  NOTE: {words}\n"))?;
    }
    for words in outcome.unseen.iter().take(MAX_NAMED) {
        console.say(&format!("  NOTE: {}\n", plain(words)))?;
    }
    Ok(())
}
