//! What a person reads while the program is chased, and afterwards.

use std::path::Path;

use untorn_explore::{
    CallMade, Composed, Composition, Effect, Finding, How, News, Outcome, Surprise, Unreached,
    Unsearched, Values,
};
use untorn_predict::Origin;
use untorn_report as report;
use untorn_report::model::{self, Evidence};
use untorn_report::terminal;
use untorn_report::text::plain;
use untorn_report::words::{count, number};

use super::{deadlock, ending, file_name};
use crate::config::Check;
use crate::console::{Console, StatusLine, Volume};
use crate::exit::Result;
use crate::findings;
use crate::sources::Library;

/// Candidates that were not reached: so many are named.
const MOST_NAMED: usize = 8;

pub fn tell(
    news: &News<'_>,
    check: &Check,
    console: &mut Console,
    line: &mut StatusLine,
    library: &mut Library,
) -> Result<()> {
    match news {
        News::Running { number, target, open } => {
            if line.is_due() {
                line.show(&match target {
                    None => format!("run {number}: watching the program"),
                    Some(key) => format!(
                        "run {number}: chasing {} ({}); {} open",
                        key.block,
                        key.field,
                        count(*open as u64, "candidate")
                    ),
                });
            }
            Ok(())
        }
        News::Ran { run, new } => {
            if check.volume != Volume::Verbose {
                return Ok(());
            }
            let how = match &run.how {
                How::Policy { name, seed, .. } | How::Marked { name, seed, .. } => {
                    format!("{name}, seed {seed}")
                }
                How::Plan(plan) => {
                    let followed = run.ran.followed.clone().unwrap_or_default();
                    let why = followed.released.map(|why| format!(": {why}")).unwrap_or_default();
                    format!("plan, {} of {} steps{why}", followed.steps, plan.steps.len())
                }
            };
            line.clear();
            console.say(&format!(
                "run {}: {} of {}, {} new; {how}\n",
                run.number,
                count(run.history.len() as u64, "event"),
                count(run.history.thread_count() as u64, "thread"),
                count(*new as u64, "candidate"),
            ))
        }
        News::Simplifying { number, finding } => {
            if line.is_due() {
                let block = &finding.key.block;
                line.show(&format!("run {number}: a simpler schedule for {block}"));
            }
            Ok(())
        }
        News::Found(found) => {
            line.clear();
            show(finding(found, check), check, console, library)
        }
        News::Deadlocked(found) => {
            line.clear();
            show(deadlock::finding(found, check), check, console, library)
        }
    }
}

/// A finding with its source lines.
fn show(
    finding: report::Finding,
    check: &Check,
    console: &mut Console,
    library: &mut Library,
) -> Result<()> {
    let mut all = [finding];
    // The scene knows the classes, which tell files of one name apart.
    crate::scene::fill(&mut all, &check.out);
    library.fill_one(&mut all[0]);
    console.say(&format!("{}\n", terminal::finding(&all[0], &console.look)))
}

/// The finding as reports show it.
pub fn finding(found: &Finding, check: &Check) -> report::Finding {
    let cycle = &found.judged.cycle;
    let mut shown = findings::finding(cycle, Some(&found.judged.context), &found.tables);
    shown.number = found.number;
    shown.badges = badges(found);
    let composed = found.judged.composed.as_ref();
    let composition = composed.map(|composed| composition(found, composed, check));
    if let Some(headline) = composition.as_ref().and_then(model::Composition::headline) {
        shown.headline = headline;
    }
    let values = match &found.judged.values {
        Values::NotAtomic { reason, whole } => {
            let mut sentences = untorn_confirm::phrasing::sentences(reason, &found.tables);
            if !whole {
                sentences.push("(This was decided for the part of the run around it.)".to_owned());
            }
            sentences
        }
        Values::Atomic | Values::Undecided(_) => Vec::new(),
    };
    let mut effects: Vec<String> = found.judged.effects.iter().map(Effect::to_string).collect();
    effects.extend(ending(found.judged.ended).map(str::to_owned));
    shown.evidence = Some(Evidence {
        origin: origin(found).to_owned(),
        composition,
        values,
        effects,
        alike: found.alike,
        trace: file_name(&found.trace),
        run: found.run,
        replay: replay(check, found.number),
        block: found.key.block.clone(),
        variable: found.key.field.clone(),
        concern: concern(found),
        preemptions: found.preemptions,
        milliseconds: found.after.as_millis() as u64,
    });
    shown
}

fn concern(found: &Finding) -> String {
    let (declared, block, field) = found.key.concern();
    let origin = if declared == Origin::Declared { "declared" } else { "inferred" };
    let words = [origin, block, field];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The calls behind a finding, in words.
fn composition(found: &Finding, composed: &Composed, check: &Check) -> model::Composition {
    let known = check.options.compositions.get(composed.id);
    let tables = &found.tables;
    let made = |call: &CallMade| model::CallMade {
        thread: tables.thread_name(call.thread),
        api: tables.labels.get(call.api).unwrap_or_default().to_owned(),
        place: tables.site_text(call.site),
        answer: call.answer.map(|said| said.to_string()),
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
        "after {first} has given {after}, {second} gave {said}; when nobody comes between them it gives {usual}"
    )
}

/// The command that shows a finding again.
pub fn replay(check: &Check, number: u32) -> String {
    format!("untorn replay {} {number}", check.out.join("report.json").display())
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

pub fn why_unreached(why: &Unreached) -> String {
    match why {
        Unreached::Infeasible => "no order of the events seen leads there".to_owned(),
        Unreached::Undecided => "no plan was found, and none was ruled out".to_owned(),
        Unreached::NoPlaces => "its places have no names that a plan could use".to_owned(),
        Unreached::NotFollowed(why) => format!("its plans could not be followed: {why}"),
        Unreached::Harmless => "it happened and did no harm".to_owned(),
        Unreached::OutOfBudget => "the budget ended first".to_owned(),
    }
}

/// The end of the story.
pub fn summary(
    outcome: &Outcome,
    check: &Check,
    report: &Path,
    console: &mut Console,
) -> Result<()> {
    let verdict = verdict(outcome);
    let ended = if outcome.interrupted { " (interrupted)" } else { "" };
    console.say(&format!(
        "{verdict} in {:.1} s{ended}: {} ({} directed), {} of up to {}\n",
        outcome.time.as_secs_f64(),
        count(outcome.runs.into(), "run"),
        number(outcome.directed.into()),
        count(outcome.events, "event"),
        count(outcome.threads as u64, "thread"),
    ))?;
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
    compositions(outcome, check, console)?;
    unreached(outcome, check, console)?;
    limits(outcome, console)?;
    let page = report.with_extension("html");
    console.say(&format!("  report: {}, to look at: {}\n", report.display(), page.display()))
}

/// How much of what the class files say was seen at work.
fn compositions(outcome: &Outcome, check: &Check, console: &mut Console) -> Result<()> {
    if !check.compositions {
        return Ok(());
    }
    let all = check.options.compositions.len();
    let made = outcome.compositions_made.len();
    let torn = outcome.findings.iter().filter(|found| found.judged.composed.is_some()).count();
    console.say(&format!(
        "  {} meant to be one step, by the look of it: {} made, {} torn, {} never made in these runs\n",
        super::compositions::pairs(all),
        number(made as u64),
        number(torn as u64),
        number((all - made) as u64),
    ))
}

fn verdict(outcome: &Outcome) -> String {
    let torn = count(outcome.findings.len() as u64, "violation");
    let stuck = count(outcome.deadlocked.len() as u64, "deadlock");
    match (outcome.findings.len(), outcome.deadlocked.len(), outcome.candidates) {
        (0, 0, 0) if outcome.unsearched == Unsearched::default() => {
            "nothing that could be torn was seen".to_owned()
        }
        (0, 0, _) => "no violation found".to_owned(),
        (0, _, _) => format!("{stuck}, and no torn block, found"),
        (_, 0, _) => format!("{torn} found"),
        _ => format!("{torn} and {stuck} found"),
    }
}

/// Predicted, not reached: a list of its own, never mixed with what happened.
fn unreached(outcome: &Outcome, check: &Check, console: &mut Console) -> Result<()> {
    let most = if check.volume == Volume::Verbose { usize::MAX } else { MOST_NAMED };
    let all = &outcome.unreached;
    for (key, why) in all.iter().take(most) {
        console.say(&format!(
            "  not reached: {} ({}, {}): {}\n",
            plain(&key.block),
            plain(&key.field),
            key.shape.letters(),
            plain(&why_unreached(why))
        ))?;
    }
    match all.len().saturating_sub(most) {
        0 => Ok(()),
        rest => {
            console.say(&format!("  and {} more (--verbose, or the report)\n", number(rest as u64)))
        }
    }
}

/// Where nobody looked for candidates, in words.
pub fn unsearched(outcome: &Outcome) -> Vec<String> {
    let Unsearched { runs, variables, accesses, combinations } = outcome.unsearched;
    let late = "not looked at for candidates: time was over (--time)";
    let parts = [
        (runs.into(), "run", late),
        (variables, "shared variable", late),
        (accesses, "access", late),
        (combinations, "combination", "of places not looked at: too many, or too late"),
    ];
    let some = parts.into_iter().filter(|&(number, ..)| number > 0);
    some.map(|(number, thing, why)| format!("{} {why}", count(number, thing))).collect()
}

/// What nobody looked at.
fn limits(outcome: &Outcome, console: &mut Console) -> Result<()> {
    if outcome.threads < 2 {
        console.say("  NOTE: only one thread ever ran: there is nothing to tear\n")?;
    }
    if outcome.deadlocks > 0 {
        let runs = count(outcome.deadlocks.into(), "run");
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
    if outcome.left_out > 0 {
        console.say(&format!(
            "  NOTE: {} behind the first of each run were not looked at (--events)\n",
            count(outcome.left_out, "event")
        ))?;
    }
    for words in unsearched(outcome) {
        console.say(&format!("  NOTE: {words}\n"))?;
    }
    for words in outcome.unseen.iter().take(MOST_NAMED) {
        console.say(&format!("  NOTE: {}\n", plain(words)))?;
    }
    Ok(())
}
