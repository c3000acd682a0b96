//! One report out of those of several machines that shared the work of a check.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use untorn_explore::weight;
use untorn_report::coverage::{CheckVerdict, Gap};
use untorn_report::failure::{Dependence, Failure};
use untorn_report::identity;
use untorn_report::model::{CheckSummary, Evidence, Finding, Report, Triple};

use crate::check::replay;

/// A report and where it lies.
#[derive(Clone, Debug)]
pub struct Part {
    path: PathBuf,
    report: Report,
    facts: CheckSummary,
}

/// Why reports cannot be merged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MergeError {
    #[error("{}: not a report of a check", .0.display())]
    NoCheck(PathBuf),
    #[error("{} and {} are parts of different checks", .0.display(), .1.display())]
    DifferentChecks(PathBuf, PathBuf),
    #[error("{}: this part was given already", .0.display())]
    GivenTwice(PathBuf),
}

/// The merged report, and the traces that have to be copied beside it.
#[derive(Debug)]
pub struct Merged {
    pub report: Report,
    pub traces: Vec<TraceCopy>,
}

/// A trace of a part, and its name in the new folder, which no other trace has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceCopy {
    pub from: PathBuf,
    pub to: String,
}

impl Part {
    /// # Errors
    /// If the report is not one of a check.
    pub fn new(report: Report, path: PathBuf) -> Result<Self, MergeError> {
        match report.check.clone() {
            Some(facts) => Ok(Self { path, report, facts }),
            None => Err(MergeError::NoCheck(path)),
        }
    }

    fn shard_count(&self) -> u32 {
        self.facts.shard.map_or(1, |[_, count]| count)
    }
}

/// Which parts are missing, in words.
///
/// # Errors
/// If the parts do not belong together, or one was given twice.
pub fn missing(parts: &[Part]) -> Result<Option<String>, MergeError> {
    let Some(first) = parts.first() else { return Ok(None) };
    let count = first.shard_count();
    let mut present = BTreeSet::new();
    for part in parts {
        if part.facts.command != first.facts.command || part.shard_count() != count {
            return Err(MergeError::DifferentChecks(first.path.clone(), part.path.clone()));
        }
        if !present.insert(part.facts.shard.map_or(1, |[index, _]| index)) {
            return Err(MergeError::GivenTwice(part.path.clone()));
        }
    }
    let missing: Vec<String> =
        (1..=count).filter(|index| !present.contains(index)).map(|i| i.to_string()).collect();
    Ok((!missing.is_empty()).then(|| format!("part {} of {count} is missing", missing.join(", "))))
}

/// Puts the parts together: of findings with the same identity the one that proves most. `out` is the folder of the new
/// report.
pub fn merge(parts: &[Part], out: &Path) -> Merged {
    let mut best: BTreeMap<String, (usize, &Finding)> = BTreeMap::new();
    for (index, part) in parts.iter().enumerate() {
        for finding in &part.report.findings {
            let identity = identity::identity(finding);
            let known = best.get(&identity);
            if known.is_none_or(|(_, known)| weight_of(known) < weight_of(finding)) {
                best.insert(identity, (index, finding));
            }
        }
    }
    let evidence = best.values().filter_map(|(_, finding)| finding.evidence.as_ref());
    let found: BTreeSet<(String, String)> =
        evidence.map(|one| (one.block.clone(), one.variable.clone())).collect();
    let mut all: Vec<(usize, &Finding)> = best.into_values().collect();
    all.sort_by_key(|(part, finding)| {
        (finding.evidence.as_ref().map_or(0, |evidence| evidence.milliseconds), *part)
    });
    let tool = parts.first().map_or_else(String::new, |part| part.report.tool.clone());
    let mut merged = Merged { report: Report::new(tool, Vec::new()), traces: Vec::new() };
    for ((part, finding), number) in all.into_iter().zip(1..) {
        let mut finding = Finding { number, ..finding.clone() };
        let evidence = finding.evidence.as_mut();
        merged.traces.extend(evidence.map(|evidence| renamed(evidence, number, &parts[part], out)));
        merged.report.findings.push(finding);
    }
    let first = merged.report.findings.len() as u32 + 1;
    for ((part, failure), number) in failures(parts).into_iter().zip(first..) {
        let mut failure = Failure { number, ..failure };
        merged.traces.push(renamed(&mut failure.evidence, number, &parts[part], out));
        merged.report.failures.push(failure);
    }
    // Their traces stay where they are: nobody has to act on them.
    merged.report.folded = parts.iter().flat_map(|part| part.report.folded.clone()).collect();
    merged.report.check = facts(parts, &found);
    merged
}

/// The failures of all parts, each once, with the part that shows it.
fn failures(parts: &[Part]) -> Vec<(usize, Failure)> {
    let mut all: Vec<(usize, Failure)> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        for failure in &part.report.failures {
            let identity = identity::of_failure(failure);
            match all.iter_mut().find(|(_, known)| identity::of_failure(known) == identity) {
                Some((_, known)) => {
                    known.occurrences = known.occurrences.saturating_add(failure.occurrences);
                }
                None => all.push((index, failure.clone())),
            }
        }
    }
    // What ended well in any part ended well.
    let good_runs = parts.iter().map(|part| part.facts.good_runs).fold(0, u64::saturating_add);
    for (_, failure) in all.iter_mut().filter(|_| good_runs > 0) {
        (failure.good_runs, failure.dependence) = (good_runs, Dependence::Schedule);
    }
    all
}

/// How much a finding proves.
fn weight_of(finding: &Finding) -> u8 {
    finding.evidence.as_ref().map_or(0, |evidence| {
        weight(
            !evidence.values.is_empty(),
            !evidence.effects.is_empty(),
            evidence.composition.is_some(),
        )
    })
}

/// Gives the trace of a finding a name that no other has.
fn renamed(evidence: &mut Evidence, number: u32, part: &Part, out: &Path) -> TraceCopy {
    let name = Path::new(&evidence.trace).file_name().unwrap_or_default().to_owned();
    let from = part.path.parent().unwrap_or(Path::new("")).join(name);
    evidence.trace = format!("finding-{number}.utr");
    evidence.replay = replay(out, number);
    TraceCopy { from, to: evidence.trace.clone() }
}

fn facts(parts: &[Part], found: &BTreeSet<(String, String)>) -> Option<CheckSummary> {
    let all = || parts.iter().map(|part| &part.facts);
    let first = all().next()?;
    // Numbers come from files: a sum of them must not overflow.
    let total = |of: fn(&CheckSummary) -> u64| all().map(of).fold(0, u64::saturating_add);
    let mut unseen: Vec<String> = all().flat_map(|facts| facts.unseen.clone()).collect();
    unseen.sort();
    unseen.dedup();
    let unreached = all().flat_map(|facts| facts.unreached.clone());
    Some(CheckSummary {
        runs: total(|facts| facts.runs),
        directed: total(|facts| facts.directed),
        events: total(|facts| facts.events),
        threads: all().map(|facts| facts.threads).max().unwrap_or(0),
        candidates: total(|facts| facts.candidates),
        infeasible: total(|facts| facts.infeasible),
        harmless: total(|facts| facts.harmless),
        unreached: unreached
            .filter(|one| !found.contains(&(one.block.clone(), one.variable.clone())))
            .collect(),
        unseen,
        left_out: total(|facts| facts.left_out),
        verdict: verdict(all().map(|facts| facts.verdict)),
        gaps: {
            let all: BTreeSet<Gap> = all().flat_map(|facts| facts.gaps.clone()).collect();
            all.into_iter().collect()
        },
        interrupted: all().any(|facts| facts.interrupted),
        // The parts ran beside each other.
        milliseconds: all().map(|facts| facts.milliseconds).max().unwrap_or(0),
        deadlocks: total(|facts| facts.deadlocks),
        good_runs: total(|facts| facts.good_runs),
        conflict_orders: all().map(|facts| facts.conflict_orders).max().unwrap_or(0),
        triples: triples(parts),
        shard: None,
        ..first.clone()
    })
}

/// The same triple may be a candidate in several parts. `None` if they were counted in none.
fn triples(parts: &[Part]) -> Option<Vec<Triple>> {
    let mut all: BTreeMap<Vec<String>, Triple> = BTreeMap::new();
    let counted: Vec<&Triple> =
        parts.iter().filter_map(|part| part.facts.triples.as_ref()).flatten().collect();
    for triple in counted {
        let own = all.entry(triple.places.clone()).or_insert_with(|| triple.clone());
        own.happened |= triple.happened;
        own.by_values |= triple.by_values;
        own.by_printed_conditions |= triple.by_printed_conditions;
    }
    let is_counted = parts.iter().any(|part| part.facts.triples.is_some());
    is_counted.then(|| all.into_values().collect())
}

/// What was found in one part was found; a part that says little makes the whole say little.
fn verdict(parts: impl Iterator<Item = CheckVerdict>) -> CheckVerdict {
    let rank = |verdict: &CheckVerdict| match verdict {
        CheckVerdict::Clean => 0,
        CheckVerdict::Inconclusive => 1,
        CheckVerdict::Findings => 2,
    };
    parts.max_by_key(rank).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use untorn_report::{Action, Block, EdgeKind, Operation, Transaction};

    use super::*;

    /// A block that reads and writes an element of an array, interrupted by a write.
    fn finding(element: &str, evidence: Evidence) -> Finding {
        let operation = |at: u64, transaction: usize, action: Action| Operation {
            at,
            thread: format!("T{transaction}"),
            transaction: Some(transaction),
            place: format!("Grid.java:{at}"),
            action,
            target: element.to_owned(),
            value: None,
            manner: None,
        };
        let block = Block {
            name: "Grid.swap".to_owned(),
            place: String::new(),
            begin: 0,
            end: Some(9),
            depth: 0,
            refuted: true,
        };
        let transactions = vec![
            Transaction { thread: "T0".to_owned(), blocks: vec![block], blamed: true },
            Transaction { thread: "T1".to_owned(), blocks: Vec::new(), blamed: false },
        ];
        let operations = vec![
            operation(1, 0, Action::Read),
            operation(2, 1, Action::Write),
            operation(3, 0, Action::Write),
        ];
        let edges = vec![(0, 1, EdgeKind::Variable), (1, 2, EdgeKind::Variable)];
        let mut finding = Finding::new(transactions, operations, edges, 1);
        finding.evidence = Some(evidence);
        finding
    }

    fn report(shard: u32, findings: Vec<Finding>) -> Report {
        let mut report = Report::new("untorn", Vec::new());
        report.findings = findings;
        let command = vec!["java".to_owned()];
        report.check =
            Some(CheckSummary { command, shard: Some([shard, 2]), ..CheckSummary::default() });
        report
    }

    fn part(shard: u32, findings: Vec<Finding>) -> Part {
        let path = PathBuf::from(format!("part-{shard}/report.json"));
        Part::new(report(shard, findings), path).expect("a check")
    }

    /// Merging and `--baseline` agree on what is the same finding: which element of an array it is does not count.
    #[test]
    fn merge_and_baseline_agree_on_elements_of_an_array() {
        let named = || Evidence {
            identity: "inferred Grid.swap Grid.rows[]".to_owned(),
            ..Evidence::default()
        };
        for evidence in [named(), Evidence::default()] {
            let three = finding("Grid#1.rows[3]", evidence.clone());
            let four = finding("Grid#2.rows[4]", evidence);
            let parts = [part(1, vec![three.clone()]), part(2, vec![four.clone()])];
            assert_eq!(merge(&parts, Path::new("out")).report.findings.len(), 1);
            let mut new = report(1, vec![four]);
            assert_eq!(identity::subtract(&mut new, &report(1, vec![three])), 1);
        }
    }

    #[test]
    fn merge_and_baseline_tell_other_variables_apart() {
        let three = finding("Grid#1.rows[3]", Evidence::default());
        let other = finding("Grid#1.columns[3]", Evidence::default());
        let parts = [part(1, vec![three.clone()]), part(2, vec![other.clone()])];
        assert_eq!(merge(&parts, Path::new("out")).report.findings.len(), 2);
        let mut new = report(1, vec![other]);
        assert_eq!(identity::subtract(&mut new, &report(1, vec![three])), 0);
    }

    /// The same order as that by which a check replaces a finding by a better one.
    #[test]
    fn a_composition_proves_more_than_the_same_without_one() {
        let with = |composition| Evidence { composition, ..Evidence::default() };
        let composed = with(Some(untorn_report::model::Composition::default()));
        for findings in [[with(None), composed.clone()], [composed, with(None)]] {
            let [first, second] = findings.map(|evidence| finding("x", evidence));
            let merged = merge(&[part(1, vec![first]), part(2, vec![second])], Path::new("out"));
            let evidence = merged.report.findings[0].evidence.as_ref().expect("kept");
            assert!(evidence.composition.is_some());
            assert_eq!(evidence.trace, "finding-1.utr");
            assert_eq!(evidence.replay, "untorn replay out/report.json 1");
        }
    }

    #[test]
    fn parts_of_one_check_only() {
        let (one, two) = (part(1, Vec::new()), part(2, Vec::new()));
        assert_eq!(missing(&[one.clone(), two]), Ok(None));
        let missing_second = missing(std::slice::from_ref(&one)).expect("one check");
        assert_eq!(missing_second.as_deref(), Some("part 2 of 2 is missing"));
        let twice = missing(&[one.clone(), one.clone()]);
        assert_eq!(twice, Err(MergeError::GivenTwice(one.path.clone())));
        let mut other = one.clone();
        other.facts.command.push("Other".to_owned());
        assert!(matches!(missing(&[one, other]), Err(MergeError::DifferentChecks(..))));
    }
}
