//! From the outcome of an exploration to its report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use untorn_explore as explore;
use untorn_explore::{Compositions, Outcome, Shard, Unsearched};
use untorn_report::failure::Failure;
use untorn_report::model::{CheckFacts, Finding, Report, Scene, Setting, Unreached};
use untorn_report::phrasing::count;
use untorn_trace::VarId;

use crate::{cycle, deadlock, failure, scene, violation};

/// The options of a check: they are part of the report, so that the check can be repeated.
#[derive(Clone, Debug)]
pub struct Request {
    pub tool: String,
    pub command: Vec<String>,
    pub setting: Setting,
    pub shard: Shard,
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
    pub fn violation(&mut self, found: &explore::Finding) -> Finding {
        let finding = violation::finding(found, &self.folder, &self.compositions);
        let vars = cycle::variables(&found.judged.cycle, Some(&found.judged.context));
        self.with_scene(finding, &vars)
    }

    /// A deadlock, with its scene.
    pub fn deadlock(&mut self, found: &explore::Deadlock) -> Finding {
        // It is about locks alone.
        self.with_scene(deadlock::finding(found, &self.folder), &[])
    }

    /// A way in which runs failed.
    pub fn failure(&self, found: &explore::Failure) -> Failure {
        failure::failure(found, &self.folder)
    }

    fn with_scene(&mut self, mut finding: Finding, vars: &[VarId]) -> Finding {
        let Some(evidence) = &finding.evidence else { return finding };
        let key = (evidence.trace.clone(), scene::positions(&finding));
        finding.scene = match self.scenes.get(&key) {
            Some(known) => Some(known.clone()),
            None => scene::read(&finding, vars, &self.folder.join(&evidence.trace)),
        };
        self.scenes.extend(finding.scene.clone().map(|scene| (key, scene)));
        finding
    }

    /// The results of the exploration.
    pub fn report(mut self, outcome: &Outcome, request: Request) -> Report {
        let mut findings: Vec<Finding> =
            outcome.findings.iter().map(|found| self.violation(found)).collect();
        findings.extend(outcome.deadlocked.iter().map(|found| self.deadlock(found)));
        findings.sort_by_key(|finding| finding.number);
        let mut report = Report::new(request.tool.clone(), Vec::new());
        report.findings = findings;
        report.failures = outcome.failures.iter().map(|found| self.failure(found)).collect();
        report.check = Some(facts(outcome, request));
        report
    }
}

fn facts(outcome: &Outcome, request: Request) -> CheckFacts {
    let shard = Some(request.shard).filter(|shard| shard.count > 1);
    CheckFacts {
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
            .map(|(key, why)| Unreached {
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
        interrupted: outcome.interrupted,
        milliseconds: outcome.time.as_millis() as u64,
        setting: request.setting,
        deadlocks: outcome.deadlocks.into(),
        good_runs: outcome.good_runs.into(),
        conflict_orders: outcome.conflict_orders,
        saturation: saturation(outcome),
        shard: shard.map(|shard| [shard.index + 1, shard.count]),
    }
}

/// Why a candidate was not reached, in words.
pub fn why_unreached(why: &explore::Unreached) -> String {
    use explore::Unreached;
    match why {
        Unreached::Infeasible => "no order of the events seen leads there".to_owned(),
        Unreached::Undecided => "no plan was found, and none was ruled out".to_owned(),
        Unreached::NoPlaces => "its places have no names that a plan could use".to_owned(),
        Unreached::NotFollowed(why) => format!("its plans could not be followed: {why}"),
        Unreached::Harmless => "it happened and did no harm".to_owned(),
        Unreached::OutOfBudget => "the budget ended first".to_owned(),
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
    let Unsearched { runs, variables, accesses, combinations } = outcome.unsearched;
    let late = "not searched for candidates: time was over (--time)";
    let parts = [
        (runs.into(), "run", late),
        (variables, "shared variable", late),
        (accesses, "access", late),
        (combinations, "combination", "of sites not tried: too many, or too late"),
    ];
    let some = parts.into_iter().filter(|&(number, ..)| number > 0);
    some.map(|(number, thing, why)| format!("{} {why}", count(number, thing))).collect()
}

/// The command that shows a finding again.
pub(crate) fn replay(folder: &Path, number: u32) -> String {
    format!("untorn replay {} {number}", folder.join("report.json").display())
}

/// The name under which a trace is found again from the folder of the report.
pub(crate) fn file_name(trace: &Path) -> String {
    trace.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
