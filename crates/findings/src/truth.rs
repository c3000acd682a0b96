//! Holds every sentence of a finding against its trace.
//!
//! The sentences are written in `untorn_report::story`, from a scene that [`crate::scene`] reads. Nothing of that is used
//! here but the claims that the sentences make ([`Claim`]) and their text: the trace is read anew, values are spelled
//! anew, and each claim is decided by its definition. May miss: what a sentence says beyond its claims, as far as
//! [`backing`] does not notice it. Never invents: a contradiction is one.

mod backing;
mod record;
mod rules;
mod serial;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use untorn_report::Action;
use untorn_report::claim::{AccessFact, Claim, Statement};
use untorn_report::model::Finding;
use untorn_report::story;

use record::Record;

/// A sentence that the trace does not bear out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction {
    pub sentence: String,
    pub why: String,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.sentence, self.why)
    }
}

/// What a finding says that its trace contradicts. `more` are sentences beside those of its story. `None` if the trace
/// cannot be read.
pub fn contradictions(
    finding: &Finding,
    more: &[Statement],
    trace: &Path,
) -> Option<Vec<Contradiction>> {
    let mut told = sentences(finding);
    told.extend_from_slice(more);
    let names: BTreeSet<&str> =
        told.iter().flat_map(|told| &told.claims).flat_map(rules::variables).collect();
    let end = told.iter().flat_map(|told| &told.claims).map(rules::last_position).max();
    let end = end.unwrap_or(0).max(finding.operations.last().map_or(0, |op| op.at));
    let record = Record::read(trace, &names, end)?;
    let mut found = Vec::new();
    for one in &told {
        let mut reject = |why: String| {
            found.push(Contradiction { sentence: one.text.clone(), why });
        };
        for claim in &one.claims {
            if let Err(why) = rules::holds(claim, &record) {
                reject(why);
            }
        }
        if let Err(why) = backing::are_covered(one, &record) {
            reject(why);
        }
    }
    Some(found)
}

/// Everything that a finding says of its run.
fn sentences(finding: &Finding) -> Vec<Statement> {
    let mut told: Vec<Statement> = Vec::new();
    if !finding.is_deadlock() {
        told.extend(story::story(finding, None).told());
        told.extend(story::harm(finding));
    }
    let shown = finding.scene.iter().flat_map(|scene| &scene.steps).map(|step| &step.operation);
    let accesses = finding
        .operations
        .iter()
        .chain(shown)
        .filter(|op| matches!(op.action, Action::Read | Action::Write));
    told.extend(
        accesses.map(|op| Statement::new(op.object(), vec![Claim::Access(AccessFact::from(op))])),
    );
    if let Some(scene) = &finding.scene {
        let at = scene.steps.first().map_or(0, |step| step.operation.at);
        for variable in &scene.variables {
            let Some(value) = variable.before.clone() else { continue };
            let text = format!("{} = {value}", variable.name);
            let claim = Claim::HadBefore { variable: variable.name.clone(), value, at };
            told.push(Statement::new(text, vec![claim]));
        }
    }
    told
}
