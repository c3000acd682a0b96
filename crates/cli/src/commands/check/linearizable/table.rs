//! From the results of a run to the table that reports show.

use untorn_linearizability::{CallId, History, Operation, Outcome, Refutation, Scenario, Section};
use untorn_report::calls::{CallRow, CallTable};

/// The calls with their results, and those of the nearest sequential order.
pub fn table(scenario: &Scenario, history: &History, why: &Refutation) -> CallTable {
    let ids: Vec<CallId> = scenario
        .sections
        .iter()
        .enumerate()
        .flat_map(|(section, calls)| (0..calls.len()).map(move |index| CallId { section, index }))
        .collect();
    let rows = ids.iter().map(|&id| row(scenario, history, why, id)).collect();
    let place = |id: &CallId| ids.iter().position(|own| own == id);
    let nearest = why.nearest.0.iter().filter_map(|(id, _)| place(id)).collect();
    CallTable { class: scenario.class.clone(), rows, orders: why.orders, nearest }
}

fn row(scenario: &Scenario, history: &History, why: &Refutation, id: CallId) -> CallRow {
    let call = &scenario.sections[id.section][id.index];
    let record = history.get(id);
    let began = record.map_or(0, |own| own.began as u64 + 1);
    let ended = record.and_then(|own| own.ended.as_ref()).map_or(began, |(at, _)| *at as u64 + 1);
    CallRow {
        section: match scenario.section(id.section) {
            Section::Before => "before".to_owned(),
            Section::Thread(number) => format!("thread {number}"),
            Section::After => "after".to_owned(),
        },
        call: call.to_string(),
        result: shown(&call.operation, history.outcome(id)),
        sequential: match why.nearest.0.iter().any(|(own, _)| *own == id) {
            true => shown(&call.operation, why.nearest.outcome(id)),
            false => "not made".to_owned(),
        },
        span: [began, ended],
        differs: why.differs == Some(id),
    }
}

fn shown(operation: &Operation, outcome: Option<&Outcome>) -> String {
    match outcome {
        None => "waits".to_owned(),
        Some(Outcome::Returned(_)) if operation.is_void() => String::new(),
        Some(outcome) => outcome.to_string(),
    }
}
