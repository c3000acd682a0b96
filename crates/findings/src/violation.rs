//! From a violation that happened to the finding that reports show.

use std::path::Path;

use untorn_confirm::{Point, Reason};
use untorn_explore::{
    AtomicityViolation, CallMade, Composition, Compositions, Effect, Key, Significance, Surprise,
    TornComposition, Values,
};
use untorn_frontend::ExitKind;
use untorn_predict::Origin;
use untorn_report as report;
use untorn_report::claim::{AccessFact, Claim, Statement};
use untorn_report::model::{self, Evidence};

use untorn_trace::VarId;

use crate::check::{file_name, replay, replayed};
use crate::cycle;

/// The finding as reports show it, but for its scene. `folder` is where the report will be.
pub fn finding(
    found: &AtomicityViolation,
    folder: &Path,
    compositions: &Compositions,
) -> report::Finding {
    let (cycle, context) = (&found.judged.cycle, &found.judged.context);
    let mut shown = cycle::finding(cycle, Some(context), &found.evidence.tables);
    shown.number = found.number;
    shown.badges = badges(found);
    let composed = found.judged.composed.as_ref();
    let composition = composed.map(|composed| composition(found, composed, compositions));
    if let Some(headline) = composition.as_ref().and_then(model::Composition::headline) {
        shown.headline = headline;
    }
    let mut effects: Vec<String> = found.judged.effects.iter().map(Effect::to_string).collect();
    effects.extend(ending(found.judged.ended).map(str::to_owned));
    shown.evidence = Some(Evidence {
        origin: origin(found).to_owned(),
        composition,
        values: proof(found),
        effects,
        undone: found.judged.undone,
        untested: found.judged.untested.iter().map(Effect::to_string).collect(),
        rank: found.significance.rank(),
        matters: matters(found.significance).to_owned(),
        alike: found.evidence.alike,
        trace: file_name(&found.evidence.trace),
        run: found.evidence.run,
        replay: replay(folder, found.number),
        inputs: found.evidence.inputs.to_string(),
        replayed: replayed(found.evidence.replay),
        block: found.key.block.clone(),
        method: method_of(&found.key),
        variable: found.key.field.clone(),
        pattern: found.key.shape.letters(),
        identity: identity(found),
        preemptions: found.evidence.preemptions,
        milliseconds: found.evidence.after.as_millis() as u64,
    });
    shown
}

/// Why it matters, as a clause.
fn matters(significance: Significance) -> &'static str {
    match significance {
        Significance::Visible => "what shows goes away when the interruption is undone",
        Significance::WrongResult => {
            "a call returned what it does not return without the interruption"
        }
        Significance::LostUpdate => "what was written in between is lost",
        Significance::Untested => {
            "something shows, and it could not be tested whether the interruption is the reason"
        }
        Significance::InconsistentRead => "what was read belongs to no serial order",
        Significance::ActedTwice => "both threads found the same, and both acted on it",
        Significance::Statistic => {
            "updates of a number are lost, though nothing reads it but the lines that count"
        }
        Significance::ConflictOnly => {
            "the block was named as atomic; some serial order gives the same values"
        }
        Significance::ConflictUndecided => {
            "the block was named as atomic; it could not be decided whether a serial order gives the values"
        }
        Significance::Benign(_) => "it does no harm",
    }
}

/// Why no serial order gives the values, a sentence each.
fn proof(found: &AtomicityViolation) -> Vec<String> {
    match &found.judged.values {
        Values::NotAtomic { reason, whole } => {
            let mut sentences = untorn_confirm::phrasing::sentences(reason, &found.evidence.tables);
            if !whole {
                sentences.push("(This was decided for the part of the run around it.)".to_owned());
            }
            sentences
        }
        Values::Atomic | Values::Undecided(_) => Vec::new(),
    }
}

/// What the sentences of the proof say of the run.
pub fn proof_claims(found: &AtomicityViolation) -> Vec<Statement> {
    let Values::NotAtomic { reason, .. } = &found.judged.values else { return Vec::new() };
    let tables = &found.evidence.tables;
    let fact =
        |block: &untorn_confirm::Block, var: VarId, writes: bool, point: &Point| AccessFact {
            at: point.at.0,
            thread: tables.thread_name(block.thread),
            variable: tables.var_name(var),
            writes,
            value: point.value.and_then(|value| tables.shown_value(var, value)),
        };
    let claims = match reason {
        Reason::OwnRead { block, var, access, wrote, read } => {
            let (access, read) =
                (fact(block, *var, *wrote, access), fact(block, *var, false, read));
            let unwritten = Claim::NotWritten {
                thread: read.thread.clone(),
                variable: read.variable.clone(),
                from: access.at,
                until: read.at,
            };
            vec![Claim::Ordered(access, read), unwritten]
        }
        Reason::LostUpdate { var, updates, .. } => updates
            .iter()
            .map(|update| {
                let read = fact(&update.block, *var, false, &update.read);
                Claim::Ordered(read, fact(&update.block, *var, true, &update.write))
            })
            .collect(),
        Reason::NoSource(no) => vec![Claim::Access(fact(&no.block, no.var, false, &no.read))],
        Reason::Cycle(_) | Reason::Exhausted { .. } | Reason::Printed { .. } => Vec::new(),
    };
    claims.into_iter().map(|claim| Statement::new(String::new(), vec![claim])).collect()
}

/// The identity of the finding: see [`report::identity`].
fn identity(found: &AtomicityViolation) -> String {
    let identity = found.key.identity();
    let origin = if identity.origin == Origin::Declared { "declared" } else { "inferred" };
    let words = [origin, &identity.block, &identity.field, &identity.pattern];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The calls of a finding, in words.
fn composition(
    found: &AtomicityViolation,
    composed: &TornComposition,
    compositions: &Compositions,
) -> model::Composition {
    let known = compositions.get(composed.id);
    let tables = &found.evidence.tables;
    let made = |call: &CallMade| model::CallMade {
        thread: tables.thread_name(call.thread),
        api: tables.labels.get(call.api).unwrap_or_default().to_owned(),
        place: tables.site_text(call.site),
        answer: call.answer.map(|answer| answer.to_string()),
    };
    model::Composition {
        client: known.client.clone(),
        receiver: known.receiver.clone(),
        why: known.why.clone(),
        calls: composed.calls.iter().map(made).collect(),
        surprise: composed.surprise.map(|surprise| surprise_in_words(known, surprise)),
    }
}

fn surprise_in_words(known: &Composition, surprise: Surprise) -> String {
    let [first, second] =
        known.calls.each_ref().map(|call| call.api.rsplit('.').next().unwrap_or_default());
    let Surprise { after, said, usual } = surprise;
    format!(
        "after {first} has given {after}, {second} gave {said}; without the interruption it gives {usual}"
    )
}

fn origin(found: &AtomicityViolation) -> &'static str {
    match found.key.origin {
        Origin::Declared => "declared",
        Origin::Inferred if found.judged.composed.is_some() => "composed",
        Origin::Inferred => "inferred",
    }
}

fn badges(found: &AtomicityViolation) -> Vec<String> {
    let mut badges = Vec::new();
    badges.push(match &found.judged.values {
        Values::NotAtomic { .. } => "confirmed by values".to_owned(),
        Values::Atomic => "conflict only: values could be serial".to_owned(),
        Values::Undecided(_) => "conflict; values undecided".to_owned(),
    });
    if !found.judged.effects.is_empty() {
        badges.push("visible".to_owned());
    }
    badges.push(found.key.shape.letters());
    match origin(found) {
        "inferred" => badges.push("inferred block".to_owned()),
        "composed" => badges.push("composition".to_owned()),
        _ => {}
    }
    badges.push(replayed(found.evidence.replay).label());
    badges
}

/// What else went wrong in the run that shows a finding.
fn ending(ended: ExitKind) -> Option<&'static str> {
    match ended {
        ExitKind::Deadlock => Some("the run ended in a deadlock"),
        // That a run does not end may be due to threads that we hold.
        ExitKind::TimedOut | ExitKind::Exit(_) | ExitKind::Signal(_) => None,
    }
}

/// The method of a block, if that is not the block itself.
fn method_of(key: &Key) -> String {
    if key.method == key.block { String::new() } else { key.method.clone() }
}
