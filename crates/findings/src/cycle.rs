//! From the result of a checker to the model of a report.

use std::collections::HashSet;

use untorn_report as report;
use untorn_report::{Alarm, CheckerVerdict, Finding, Operation};
use untorn_serializability::{Block, EdgeKind, Outcome, Step, Verdict, Violation, Warning};
use untorn_trace::{EventIdx, Op, Tables, VarId};

use untorn_serializability::context::{Context, Extent};

/// The finding of a violation; without its context only the operations of the cycle are known.
pub fn finding(violation: &Violation, context: Option<&Context>, tables: &Tables) -> Finding {
    let cycle = &violation.cycle;
    let steps = steps(violation, context);
    let index = |step: Step| steps.partition_point(|(_, other)| other.at < step.at);
    let edges =
        cycle.edges.iter().map(|edge| (index(edge.from), index(edge.to), why(edge.why))).collect();
    let operations = steps
        .iter()
        .map(|(transaction, step)| Operation {
            transaction: Some(*transaction),
            ..Operation::new(step.at, &step.event, tables)
        })
        .collect();
    let transactions =
        (0..cycle.transactions.len()).map(|i| transaction(violation, i, context, tables)).collect();
    let mut finding = Finding::new(transactions, operations, edges, violation.occurrences);
    finding.front_end.clone_from(&tables.meta.front_end);
    finding
}

/// The operations of the cycle and those around it, in trace order, each with the index of its transaction.
fn steps(violation: &Violation, context: Option<&Context>) -> Vec<(usize, Step)> {
    let cycle = &violation.cycle;
    let mut steps: Vec<(usize, Step)> = Vec::new();
    for (i, edge) in cycle.edges.iter().enumerate() {
        steps.push((i, edge.from));
        steps.push(((i + 1) % cycle.transactions.len(), edge.to));
    }
    steps.extend(context.into_iter().flat_map(|context| &context.around));
    steps.sort_by_key(|(_, step)| step.at);
    steps.dedup_by_key(|(_, step)| step.at);
    steps
}

/// The variables that the operations of a finding access, in the order of their first access.
pub fn variables(violation: &Violation, context: Option<&Context>) -> Vec<VarId> {
    let mut vars = Vec::new();
    for (_, step) in steps(violation, context) {
        if let Op::Read { var, .. } | Op::Write { var, .. } = step.event.op
            && !vars.contains(&var)
        {
            vars.push(var);
        }
    }
    vars
}

fn transaction(
    violation: &Violation,
    index: usize,
    context: Option<&Context>,
    tables: &Tables,
) -> report::Transaction {
    let own = violation.cycle.transactions[index];
    let extents = match context {
        Some(context) => context.blocks[index].clone(),
        None => known_extents(violation, index),
    };
    let refuted: HashSet<EventIdx> = violation.refuted.iter().map(|block| block.begin).collect();
    let blocks: Vec<report::Block> = extents
        .iter()
        .map(|Extent { block, end, depth }| report::Block {
            name: tables.block_name(block.label, block.site),
            place: untorn_report::operation::place(block.site, tables),
            begin: block.begin.0,
            end: end.map(|end| end.0),
            depth: *depth,
            refuted: refuted.contains(&block.begin),
        })
        .collect();
    let blamed = blocks.iter().any(|block| block.refuted);
    report::Transaction { thread: tables.thread_name(own.thread), blocks, blamed }
}

/// The blocks that the checker itself names: the outermost one, and the refuted ones in it.
fn known_extents(violation: &Violation, index: usize) -> Vec<Extent> {
    let own = violation.cycle.transactions[index];
    let mut blocks: Vec<Block> = own.block.into_iter().collect();
    if index == 0 {
        blocks.extend(
            violation
                .refuted
                .iter()
                .filter(|block| Some(block.begin) != own.block.map(|b| b.begin)),
        );
    }
    blocks.into_iter().zip(0..).map(|(block, depth)| Extent { block, end: None, depth }).collect()
}

fn why(why: EdgeKind) -> report::EdgeKind {
    match why {
        EdgeKind::Variable(_) => report::EdgeKind::Variable,
        EdgeKind::Lock(_) => report::EdgeKind::Lock,
        EdgeKind::Fork => report::EdgeKind::Fork,
        EdgeKind::Join => report::EdgeKind::Join,
        EdgeKind::ProgramOrder => report::EdgeKind::ProgramOrder,
    }
}

/// The alarms of a checker that may be wrong.
pub fn alarm(checker: &str, warning: &Warning, tables: &Tables) -> Alarm {
    let operation = |step: &Step| Operation::new(step.at, &step.event, tables);
    match warning {
        Warning::NotReducible { block, commit, at, occurrences } => Alarm {
            checker: checker.to_owned(),
            headline: format!("{} may not be atomic", tables.block_name(block.label, block.site)),
            operations: vec![operation(commit), operation(at)],
            occurrences: *occurrences,
        },
        Warning::Unprotected { var, at } => Alarm {
            checker: checker.to_owned(),
            headline: format!("no lock protects all accesses of {}", tables.var_name(*var)),
            operations: vec![operation(at)],
            occurrences: 1,
        },
    }
}

/// The result of a checker, in one row.
pub fn checker_verdict(name: &str, outcome: &Outcome) -> CheckerVerdict {
    let (verdict, at) = match outcome.verdict {
        Verdict::Serializable => (report::TraceVerdict::Serializable, None),
        Verdict::NotSerializable { at, .. } => (report::TraceVerdict::NotSerializable, Some(at.0)),
        Verdict::Undecided => (report::TraceVerdict::Undecided, None),
    };
    CheckerVerdict { name: name.to_owned(), verdict, at, alarms: outcome.warnings.len() as u64 }
}
