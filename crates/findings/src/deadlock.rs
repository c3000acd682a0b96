//! From a deadlocked run to the finding of a report.

use std::path::Path;

use untorn_explore::{Deadlock, EventAt, WaitingThread};
use untorn_report::model::{Block, Evidence, Finding, SceneStep, Transaction};
use untorn_report::phrasing::count;
use untorn_report::{Operation, operation};
use untorn_trace::{Op, Tables};

use crate::check::{file_name, replay, replayed};

/// The finding as reports show it, but for its scene. `folder` is where the report will be.
pub fn finding(found: &Deadlock, folder: &Path) -> Finding {
    let (threads, cycle, tables) =
        (&found.stuck.threads, &found.stuck.cycle, &found.evidence.tables);
    let mut marks: Vec<(EventAt, usize)> = Vec::new();
    for (node, &index) in cycle.iter().enumerate() {
        marks.extend(threads[index].holds.iter().map(|held| (held.since, node)));
        marks.push((threads[index].on, node));
    }
    marks.sort_by_key(|(mark, _)| mark.at);
    let place_of = |mark: EventAt| marks.partition_point(|(other, _)| other.at < mark.at);
    let edges = cycle.iter().enumerate().filter_map(|(node, &index)| {
        let next = cycle[(node + 1) % cycle.len()];
        let held = threads[next].held(threads[index].wants()?)?;
        Some((place_of(threads[index].on), place_of(held.since)))
    });
    let edges = edges.collect();
    let operations = marks
        .iter()
        .map(|(mark, node)| Operation { transaction: Some(*node), ..operation_of(*mark, tables) })
        .collect();
    let transactions = cycle.iter().map(|&index| Transaction {
        thread: tables.thread_name(threads[index].thread),
        blocks: found
            .stuck
            .held_for_previous(index)
            .and_then(|held| block(held.inside?, tables))
            .into_iter()
            .collect(),
        blamed: false,
    });
    let rest = (0..threads.len()).filter(|index| !cycle.contains(index));
    let waiting = rest.map(|index| waiting(&threads[index], tables)).collect();
    let mut shown = Finding::deadlock(transactions.collect(), operations, edges, waiting);
    shown.number = found.number;
    shown.front_end.clone_from(&tables.meta.front_end);
    shown.occurrences = u64::from(found.evidence.alike) + 1;
    shown.badges.push(replayed(found.evidence.replay).label());
    shown.evidence = Some(evidence(found, folder));
    shown
}

fn evidence(found: &Deadlock, folder: &Path) -> Evidence {
    let effect = match found.stuck.threads.len() as u64 {
        0 => "deadlock: no thread can continue".to_owned(),
        1 => "deadlock: the last thread waits for ever".to_owned(),
        stuck => format!("deadlock: {} wait for ever", count(stuck, "thread")),
    };
    Evidence {
        effects: vec![effect],
        trace: file_name(&found.evidence.trace),
        run: found.evidence.run,
        replay: replay(folder, found.number),
        inputs: found.evidence.inputs.to_string(),
        replayed: replayed(found.evidence.replay),
        milliseconds: found.evidence.after.as_millis() as u64,
        preemptions: found.evidence.preemptions,
        ..Evidence::default()
    }
}

fn operation_of(mark: EventAt, tables: &Tables) -> Operation {
    Operation::new(mark.at, &mark.event, tables)
}

/// The block or call that a begin or a call opens.
fn block(begin: EventAt, tables: &Tables) -> Option<Block> {
    let (Op::Begin { label, .. } | Op::Call { method: label, .. }) = begin.event.op else {
        return None;
    };
    Some(Block {
        name: tables.block_name(label, begin.event.site),
        place: operation::place(begin.event.site, tables),
        begin: begin.at.0,
        end: None,
        depth: 0,
        refuted: false,
    })
}

fn waiting(own: &WaitingThread, tables: &Tables) -> SceneStep {
    let site = tables.sites.get(own.on.event.site).unwrap_or_default();
    SceneStep {
        operation: operation_of(own.on, tables),
        class: site.class.to_owned(),
        method: site.method.to_owned(),
        holds: own.holds.iter().map(|held| tables.lock_name(held.lock)).collect(),
        stack: own
            .inside
            .and_then(|inside| block(inside, tables))
            .map(|block| block.name)
            .into_iter()
            .collect(),
        hidden: 0,
    }
}
