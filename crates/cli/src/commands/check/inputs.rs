//! What a person reads of the search for other inputs.

use untorn_explore::{InputSearchSummary, Outcome};
use untorn_report::phrasing::{count, number};
use untorn_report::text::plain;

use crate::console::{Console, Volume};
use crate::exit::Result;

/// What could not be followed: so many are named.
const MAX_NAMED: usize = 5;

/// How it went, if there was one.
pub fn summary(outcome: &Outcome, volume: Volume, console: &mut Console) -> Result<()> {
    let Some(search) = &outcome.input_search else { return Ok(()) };
    console.say(&format!("  inputs: {}\n", effort(search)))?;
    if search.divergences > 0 {
        let place = search.divergence.as_deref().unwrap_or_default();
        console.say(&format!(
            "  NOTE: re-execution diverged {}, first at {}: inputs behind that were not found\n",
            untorn_report::phrasing::times(search.divergences),
            plain(place),
        ))?;
    }
    if volume == Volume::Verbose {
        for inputs in &search.tried {
            console.say(&format!("    tried: {}\n", plain(&inputs.to_string())))?;
        }
        for (what, times) in search.concretised.iter().take(MAX_NAMED) {
            console.say(&format!(
                "    taken as it was, though it depends on inputs: {} ({})\n",
                plain(what),
                untorn_report::phrasing::times(*times),
            ))?;
        }
    }
    Ok(())
}

fn branches(many: u64) -> String {
    if many == 1 { "1 branch".to_owned() } else { format!("{} branches", number(many)) }
}

fn effort(search: &InputSearchSummary) -> String {
    let mut words = vec![
        format!("{} re-executed", count(search.runs.into(), "run")),
        format!("{} that depend on inputs", branches(search.branches)),
    ];
    let questions = &search.tally;
    if questions.questions > 0 {
        words.push(format!(
            "{} asked, {} without an answer",
            count(questions.questions, "question"),
            number(questions.unsatisfiable + questions.unknown)
        ));
    }
    if !search.explored.is_empty() {
        words.push(format!("{} other inputs explored", number(search.explored.len() as u64)));
    }
    let concretised: u64 = search.concretised.values().sum();
    if concretised > 0 {
        words.push(format!("{} taken as they were", count(concretised, "value")));
    }
    match (&search.why_not, search.is_exhausted) {
        (Some(why), _) => words.push(format!("no more: {why}")),
        (None, true) => words.push("no branch left to negate".to_owned()),
        (None, false) => {}
    }
    words.join(", ")
}
