//! Compositions, shown as calls; `--verbose` shows the accesses that they make.

use super::{FAINT, INTRUDER, Look, Row, TORN, interleaving as accesses, paragraph, source, table};
use crate::model::{CallMade, Composition, Finding};
use crate::text::{ellipsis, plain, tail_ellipsis};

pub fn interleaving(finding: &Finding, composition: &Composition, look: &Look) -> String {
    let Some([first, last]) = composition.own() else { return accesses(finding, look) };
    let row = |call: &CallMade, mark: String| Row {
        at: 0,
        thread: ellipsis(&plain(&call.thread), super::THREAD_COLUMNS),
        thread_style: if call.thread == first.thread { TORN } else { INTRUDER },
        place: tail_ellipsis(&plain(&call.place), super::PLACE_COLUMNS),
        verb: "calls",
        object: called(call),
        mark,
        faint: false,
        source: source(finding, &call.place),
    };
    let between = composition.between().map(|call| {
        let whose = ellipsis(&plain(&first.thread), super::THREAD_COLUMNS);
        row(call, format!("← between the calls of {whose}"))
    });
    let mut rows = vec![row(first, String::new())];
    rows.extend(between);
    rows.push(row(last, String::new()));
    // Positions are those of accesses.
    let mut out = table(&rows, &Look { verbose: false, ..*look });
    if look.verbose || composition.between().is_none() {
        out.push_str(&accesses(finding, look));
    }
    let receiver = plain(&composition.receiver);
    let why =
        format!("on {receiver}; meant to be one step, by the look of it: {}", composition.why);
    out.push_str(&super::paint(&paragraph(&why, look), FAINT, look));
    if let Some(surprise) = &composition.surprise {
        out.push_str(&paragraph(surprise, look));
    }
    out
}

/// `Map.containsKey → true`
fn called(call: &CallMade) -> String {
    let name = ellipsis(&plain(call.short_name()), 44);
    match &call.answer {
        Some(answer) => format!("{name} → {answer}"),
        None => name,
    }
}
