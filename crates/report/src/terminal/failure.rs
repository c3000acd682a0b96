//! A run that failed, in a terminal.

use super::calls::calls;
use super::{FAINT, HEADLINE, Look, PLAIN, Row, TEAR, paint, paragraph, table};
use crate::failure::Failure;
use crate::text::{plain, width};

/// The failure, ending in a line break.
pub fn failure(failure: &Failure, look: &Look) -> String {
    let mut out = head(failure, look);
    for place in &failure.places {
        out.push_str(&paragraph(&format!("at {}", plain(place)), look));
    }
    if let Some(table) = &failure.calls {
        out.push_str(&calls(table, look));
    }
    let cause = failure.cause();
    if failure.steps.is_empty() && !cause.is_empty() {
        out.push_str(&paragraph(&cause, look));
    }
    if !failure.steps.is_empty() {
        out.push_str(&paragraph(&format!("{cause}:"), look));
        let row = |step: &crate::failure::FailureStep| {
            Row::new(&step.operation, if step.decides { TEAR } else { PLAIN })
        };
        let rows: Vec<Row> = failure.steps.iter().map(row).collect();
        out.push_str(&table(&rows, look));
    }
    for sentence in failure.deciding_pairs() {
        out.push_str(&paragraph(&sentence, look));
    }
    out.push_str(&paragraph(&failure.frequency(), look));
    if !failure.evidence.inputs.is_empty() {
        out.push_str(&paragraph(&format!("with {}", plain(&failure.evidence.inputs)), look));
    }
    let replay = format!("replay: {}", failure.evidence.replay);
    out.push_str(&format!("  {}\n", paint(&replay, FAINT, look)));
    out
}

fn head(failure: &Failure, look: &Look) -> String {
    let title = format!("failure {}: {}", failure.number, plain(&failure.headline));
    let preemptions = failure.evidence.preemptions.map(|n| match n {
        1 => " · 1 preemption".to_owned(),
        n => format!(" · {n} preemptions"),
    });
    let (preemptions, replayed) =
        (preemptions.unwrap_or_default(), failure.evidence.replayed.label());
    let badges = format!("[{}{preemptions} · {replayed}]", failure.label());
    let (shown, labels) = (paint(&title, HEADLINE, look), paint(&badges, FAINT, look));
    match look.width.checked_sub(width(&title) + width(&badges)).filter(|gap| *gap >= 2) {
        Some(gap) => format!("{shown}{}{labels}\n", " ".repeat(gap.min(80))),
        None => format!("{shown}\n  {labels}\n"),
    }
}
