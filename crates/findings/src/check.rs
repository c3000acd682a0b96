//! From the outcome of an exploration to its report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use untorn_explore as explore;
use untorn_explore::{Compositions, Outcome, ReplayResult, SearchGaps, Shard};
use untorn_report::claim::Statement;
use untorn_report::coverage::{CheckVerdict, Gap};
use untorn_report::failure::Failure;
use untorn_report::model::{CheckSummary, Finding, NoFinding, Report, Scene, Setting, Triple};
use untorn_report::phrasing::count;
use untorn_report::replayed::Replayed;
use untorn_trace::VarId;

use crate::coverage::{Demand, gaps};
use crate::{cycle, deadlock, failure, folded, scene, truth, violation};

/// The options of a check: they are part of the report, so that the check can be repeated.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    pub tool: String,
    pub command: Vec<String>,
    pub setting: Setting,
    pub shard: Shard,
    /// How much must have been looked at.
    pub demand: Demand,
    /// Three-access violations were counted.
    pub counts_triples: bool,
}

/// Makes findings while an exploration runs, and the report of all of them at its end.
///
/// The scene of a finding is read from its trace once, when the finding is made.
#[derive(Debug)]
pub struct FindingBuilder {
    /// Where the report and the traces are.
    folder: PathBuf,
    compositions: Arc<Compositions>,
    scenes: BTreeMap<SceneKey, Scene>,
}

/// The trace of a scene, and the positions that it shows.
type SceneKey = (String, BTreeSet<u64>);

impl FindingBuilder {
    pub fn new(folder: &Path, compositions: Arc<Compositions>) -> Self {
        Self { folder: folder.to_owned(), compositions, scenes: BTreeMap::new() }
    }

    /// A violation, with its scene.
    pub fn violation(&mut self, found: &explore::AtomicityViolation) -> Finding {
        let finding = violation::finding(found, &self.folder, &self.compositions);
        let vars = cycle::variables(&found.judged.cycle, Some(&found.judged.context));
        self.with_scene(finding, &vars, &violation::proof_claims(found))
    }

    /// A deadlock, with its scene.
    pub fn deadlock(&mut self, found: &explore::Deadlock) -> Finding {
        // It is about locks alone.
        self.with_scene(deadlock::finding(found, &self.folder), &[], &[])
    }

    /// A way in which runs failed.
    pub fn failure(&self, found: &explore::Failure) -> Failure {
        failure::failure(found, &self.folder)
    }

    fn with_scene(&mut self, mut finding: Finding, vars: &[VarId], proof: &[Statement]) -> Finding {
        let Some(evidence) = &finding.evidence else { return finding };
        let key = (evidence.trace.clone(), scene::positions(&finding));
        let trace = self.folder.join(&evidence.trace);
        finding.scene = match self.scenes.get(&key) {
            Some(known) => Some(known.clone()),
            None => scene::read(&finding, vars, &trace),
        };
        if cfg!(debug_assertions) {
            let wrong = truth::contradictions(&finding, proof, &trace).unwrap_or_default();
            let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
            assert!(wrong.is_empty(), "{} says what did not happen: {wrong:#?}", finding.headline);
        }
        self.scenes.extend(finding.scene.clone().map(|scene| (key, scene)));
        finding
    }

    /// What was found so far, for a report that stays if the check is ended the hard way. Failures come after the
    /// findings, in the order of their discovery.
    pub fn interim(
        &self,
        findings: &[Finding],
        failures: &[Failure],
        request: &CheckOptions,
    ) -> Report {
        let mut report = Report::new(request.tool.clone(), Vec::new());
        report.findings = findings.to_vec();
        report.failures = failures.to_vec();
        for (failure, number) in report.failures.iter_mut().zip(findings.len() as u32 + 1..) {
            failure.number = number;
            failure.evidence.replay = replay(&self.folder, number);
        }
        report.check = Some(CheckSummary {
            command: request.command.clone(),
            setting: request.setting.clone(),
            verdict: CheckVerdict::Findings,
            interrupted: true,
            ..CheckSummary::default()
        });
        report
    }

    /// The results of the exploration.
    pub fn report(mut self, outcome: &Outcome, request: CheckOptions) -> Report {
        let mut findings: Vec<Finding> =
            outcome.violations.iter().map(|found| self.violation(found)).collect();
        findings.extend(outcome.deadlocks.iter().map(|found| self.deadlock(found)));
        findings.sort_by_key(|finding| finding.number);
        let mut report = Report::new(request.tool.clone(), Vec::new());
        report.findings = findings;
        report.failures = outcome.failures.iter().map(|found| self.failure(found)).collect();
        report.folded = folded::folded(outcome);
        report.check = Some(facts(outcome, request));
        report
    }
}

fn facts(outcome: &Outcome, request: CheckOptions) -> CheckSummary {
    let shard = Some(request.shard).filter(|shard| shard.count > 1);
    let gaps = gaps(outcome, request.demand);
    CheckSummary {
        command: request.command,
        runs: outcome.runs.into(),
        directed: outcome.directed.into(),
        events: outcome.events,
        threads: outcome.threads as u64,
        candidates: outcome.candidates,
        infeasible: outcome.infeasible,
        harmless: outcome.harmless,
        unreached: outcome
            .unreached
            .iter()
            .map(|(key, why)| NoFinding {
                block: key.block.clone(),
                variable: key.field.clone(),
                pattern: key.shape.letters(),
                places: key.places.clone(),
                why: why_unreached(why),
                sources: Vec::new(),
            })
            .collect(),
        unseen: unsearched(outcome).into_iter().chain(outcome.unseen.clone()).collect(),
        left_out: outcome.left_out,
        verdict: verdict(outcome, &gaps),
        gaps,
        interrupted: outcome.interrupted,
        milliseconds: outcome.time.as_millis() as u64,
        setting: request.setting,
        deadlocks: outcome.deadlocked_runs.into(),
        good_runs: outcome.good_runs.into(),
        conflict_orders: outcome.conflict_orders,
        saturation: saturation(outcome),
        triples: request.counts_triples.then(|| triples(outcome)),
        shard: shard.map(|shard| [shard.index + 1, shard.count]),
    }
}

fn triples(outcome: &Outcome) -> Vec<Triple> {
    let triple = |(places, result): (&[String], &explore::TripleResult)| Triple {
        places: places.to_vec(),
        pattern: result.pattern.clone(),
        happened: result.has_happened,
        by_values: result.by_values,
        by_printed_conditions: result.by_printed,
    };
    outcome.triples.iter().map(triple).collect()
}

fn verdict(outcome: &Outcome, gaps: &[Gap]) -> CheckVerdict {
    let found = [outcome.violations.len(), outcome.deadlocks.len(), outcome.failures.len()];
    match (found, gaps) {
        ([0, 0, 0], []) => CheckVerdict::Clean,
        ([0, 0, 0], _) => CheckVerdict::Inconclusive,
        _ => CheckVerdict::Findings,
    }
}

/// Why a candidate was not reached, in words.
pub fn why_unreached(why: &explore::NoFinding) -> String {
    use explore::NoFinding;
    match why {
        NoFinding::Infeasible => "no order of the events seen leads there".to_owned(),
        NoFinding::Undecided => {
            "no feasible reordering was found, and none was excluded".to_owned()
        }
        NoFinding::NoPlaces => "its places have no names that a plan could use".to_owned(),
        NoFinding::NotFollowed(why) => format!("its plans could not be followed: {why}"),
        NoFinding::Harmless => "it happened and did no harm".to_owned(),
        NoFinding::OutOfBudget => "the budget ended first".to_owned(),
    }
}

/// Why the exploration ended before its time was used, in words.
pub fn saturation(outcome: &Outcome) -> Option<String> {
    let end = outcome.saturation?;
    if outcome.conflict_orders == 0 {
        let runs = count(outcome.runs.into(), "run");
        return Some(format!(
            "threads never touched the same object or lock in {runs}: ended early"
        ));
    }
    let streak = count(end.streak.into(), "run");
    Some(format!(
        "no new order of conflicts in the last {streak}: ended early; the next run would show a new one with a chance \
         of about {:.1} %",
        end.chance * 100.0
    ))
}

/// What was not searched for candidates, in words.
pub fn unsearched(outcome: &Outcome) -> Vec<String> {
    let SearchGaps { runs, variables, accesses, combinations } = outcome.unsearched;
    let late = "not searched for candidates: time was over (--time)";
    let parts = [
        (runs.into(), "run", late),
        (outcome.cut_off.into(), "run", "ended half way and not looked at: time was over (--time)"),
        (variables, "shared variable", late),
        (accesses, "access", late),
        (combinations, "combination", "of sites not tried: too many, or too late"),
        (
            outcome.unresolved,
            "access",
            "of a run by address, view or handle not seen: the variable is not known",
        ),
    ];
    let some = parts.into_iter().filter(|&(number, ..)| number > 0);
    some.map(|(number, thing, why)| format!("{} {why}", count(number, thing))).collect()
}

/// The command that shows a finding again.
pub(crate) fn replay(folder: &Path, number: u32) -> String {
    format!("untorn replay {} {number}", folder.join("report.json").display())
}

/// What came of trying that.
pub fn replayed(trial: ReplayResult) -> Replayed {
    match trial {
        ReplayResult::Untried => Replayed::NotTried,
        ReplayResult::Exact => Replayed::Exactly,
        ReplayResult::Differs { at } => Replayed::DiffersAt(at),
    }
}

/// The name under which a trace is found again from the folder of the report.
pub(crate) fn file_name(trace: &Path) -> String {
    trace.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
