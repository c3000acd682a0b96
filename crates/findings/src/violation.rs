//! From a violation that happened to the finding that reports show.

use std::path::Path;

use untorn_explore::{
    CallMade, Composed, Composition, Compositions, Effect, Finding, Key, Surprise, Values,
};
use untorn_frontend::ExitKind;
use untorn_predict::Origin;
use untorn_report as report;
use untorn_report::model::{self, Evidence};

use crate::check::{file_name, replay};
use crate::cycle;

/// The finding as reports show it, but for its scene. `folder` is where the report will be.
pub fn finding(found: &Finding, folder: &Path, compositions: &Compositions) -> report::Finding {
    let (cycle, context) = (&found.judged.cycle, &found.judged.context);
    let mut shown = cycle::finding(cycle, Some(context), &found.tables);
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
        alike: found.alike,
        trace: file_name(&found.trace),
        run: found.run,
        replay: replay(folder, found.number),
        block: found.key.block.clone(),
        method: method_of(&found.key),
        variable: found.key.field.clone(),
        concern: concern(found),
        preemptions: found.preemptions,
        milliseconds: found.after.as_millis() as u64,
    });
    shown
}

/// Why no serial order gives the values, a sentence each.
fn proof(found: &Finding) -> Vec<String> {
    match &found.judged.values {
        Values::NotAtomic { reason, whole } => {
            let mut sentences = untorn_confirm::phrasing::sentences(reason, &found.tables);
            if !whole {
                sentences.push("(This was decided for the part of the run around it.)".to_owned());
            }
            sentences
        }
        Values::Atomic | Values::Undecided(_) => Vec::new(),
    }
}

/// The identity of the finding: see [`report::identity`].
fn concern(found: &Finding) -> String {
    let (declared, block, field) = found.key.concern();
    let origin = if declared == Origin::Declared { "declared" } else { "inferred" };
    let words = [origin, block, field];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The calls of a finding, in words.
fn composition(
    found: &Finding,
    composed: &Composed,
    compositions: &Compositions,
) -> model::Composition {
    let known = compositions.get(composed.id);
    let tables = &found.tables;
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

fn origin(found: &Finding) -> &'static str {
    match found.key.origin {
        Origin::Declared => "declared",
        Origin::Inferred if found.judged.composed.is_some() => "composed",
        Origin::Inferred => "inferred",
    }
}

fn badges(found: &Finding) -> Vec<String> {
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
    badges.push("replayable".to_owned());
    badges
}

/// What else went wrong in the run that shows a finding.
fn ending(ended: ExitKind) -> Option<&'static str> {
    match ended {
        ExitKind::Deadlock => Some("the run ended in a deadlock"),
        ExitKind::TimedOut => Some("the run did not end by itself"),
        ExitKind::Exit(_) | ExitKind::Signal(_) => None,
    }
}

/// The method of a block, if that is not the block itself.
fn method_of(key: &Key) -> String {
    if key.method == key.block { String::new() } else { key.method.clone() }
}
