//! The interleavings in the Trace Event format, which ui.perfetto.dev and chrome://tracing show. A
//! finding is a process, a thread is a thread, and one event of the trace takes one microsecond.

use serde_json::{Value, json};

use crate::model::Report;
use crate::story::{Kind, Row, Status, Story, stories};
use crate::text::plain;

pub fn render(report: &Report) -> String {
    let mut events: Vec<Value> = Vec::new();
    for story in stories(report).iter().filter(|story| story.status == Status::Confirmed) {
        of_story(story, &mut events);
    }
    let all = json!({ "displayTimeUnit": "ns", "otherData": { "tool": report.tool }, "traceEvents": events });
    all.to_string().replace('<', "\\u003c") + "\n"
}

fn of_story(story: &Story, events: &mut Vec<Value>) {
    let pid = story.number;
    let name = format!("{}: {}", story.number, plain(&story.title()));
    events.push(json!({ "ph": "M", "name": "process_name", "pid": pid, "args": { "name": name } }));
    for (lane, info) in story.lanes.iter().enumerate() {
        let args = json!({ "name": plain(&info.name) });
        events.push(
            json!({ "ph": "M", "name": "thread_name", "pid": pid, "tid": lane, "args": args }),
        );
        events.push(json!({ "ph": "M", "name": "thread_sort_index", "pid": pid, "tid": lane, "args": { "sort_index": lane } }));
    }
    let steps: Vec<&Row> = story.rows.iter().filter(|row| row.at.is_some()).collect();
    for row in &steps {
        let (ts, tid) = (row.at.unwrap_or(0), row.lane);
        let args = json!({
            "step": plain(&row.text),
            "place": plain(&row.place),
            "locks": row.locks.iter().map(|lock| plain(lock)).collect::<Vec<_>>(),
        });
        match row.kind {
            Kind::Begin | Kind::End => {
                let ph = if row.kind == Kind::Begin { "B" } else { "E" };
                events.push(json!({ "ph": ph, "cat": "block", "name": plain(&row.label), "pid": pid, "tid": tid, "ts": ts, "args": args }));
            }
            _ => {
                let variable = row.variable.and_then(|index| story.variables.get(index));
                let what = variable
                    .map_or_else(|| row.label.clone(), |v| format!("{} {}", row.label, v.name));
                let name = match &row.value {
                    Some(value) => format!("{what} {value}"),
                    None => what,
                };
                events.push(json!({ "ph": "X", "cat": "access", "name": plain(&name), "pid": pid, "tid": tid, "ts": ts, "dur": 0.8, "args": args }));
            }
        }
    }
    flows(story, events);
    counters(story, &steps, events);
}

/// The edges of the cycle as arrows.
fn flows(story: &Story, events: &mut Vec<Value>) {
    for (index, link) in story.links.iter().enumerate() {
        let Some(rows) = link.rows else { continue };
        let id = u64::from(story.number) * 1000 + index as u64;
        for (ph, row) in [("s", &story.rows[rows[0]]), ("f", &story.rows[rows[1]])] {
            let mut event = json!({ "ph": ph, "cat": "conflict", "name": link.kind, "id": id, "pid": story.number, "tid": row.lane, "ts": row.at.unwrap_or(0) as f64 + 0.4 });
            if ph == "f" {
                event["bp"] = json!("e");
            }
            events.push(event);
        }
    }
}

/// Shared memory as counters, where the values are numbers.
fn counters(story: &Story, steps: &[&Row], events: &mut Vec<Value>) {
    for (index, variable) in story.variables.iter().enumerate() {
        let mut add = |ts: u64, value: Option<&str>| {
            let Some(number) = value.and_then(|value| value.parse::<f64>().ok()) else { return };
            if number.is_finite() {
                events.push(json!({ "ph": "C", "name": plain(&variable.full), "pid": story.number, "ts": ts, "args": { "value": number } }));
            }
        };
        let first = steps.first().and_then(|row| row.at).unwrap_or(0);
        add(first, variable.before.as_deref());
        for row in steps.iter().filter(|row| row.kind == Kind::Write && row.variable == Some(index))
        {
            add(row.at.unwrap_or(0), row.value.as_deref());
        }
    }
}
