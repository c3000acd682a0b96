//! Reads from the trace of a finding what happened around it: see [`Scene`].
//!
//! Positions of a finding are those of its trace, also where events were hidden when the run was judged. So this needs
//! nothing but the finding and the file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use untorn_report::model::{Finding, Scene, SceneStep, SceneVariable};
use untorn_report::{Action, Operation};
use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::{BATCH, Event, EventIdx, LabelId, LockId, Op, Tables, ThreadId, VarId};

/// Steps kept of one scene; operations of the cycle come on top.
const MAX_STEPS: usize = 240;

/// Calls kept of one step, the innermost ones.
const MAX_CALLS: usize = 6;

/// Calls kept where a block begins: the way from the start of the thread to it.
const MAX_PATH: usize = 40;

/// The scene of a finding that accesses these variables. `None` if the trace cannot be read.
pub fn read(finding: &Finding, vars: &[VarId], trace: &Path) -> Option<Scene> {
    let stage = SceneBuilder { vars: vars.to_vec(), ..SceneBuilder::new(finding) };
    play(vec![stage], &[finding], trace)?.pop()
}

/// The positions that the scene of a finding has to show: the operations, and where the outermost blocks begin and end.
pub fn positions(finding: &Finding) -> BTreeSet<u64> {
    let outer = finding.transactions.iter().filter_map(|own| own.blocks.first());
    let ends = outer.flat_map(|block| [Some(block.begin), block.end]).flatten();
    finding.operations.iter().map(|op| op.at).chain(ends).collect()
}

/// Adds the scene to each finding that has none and whose trace lies in the folder. A trace that cannot be read again
/// leaves its findings as they are: the report is poorer, not wrong.
pub fn fill(findings: &mut [Finding], folder: &Path) {
    let mut by_trace: BTreeMap<String, Vec<&mut Finding>> = BTreeMap::new();
    for finding in findings {
        let Some(evidence) = finding.evidence.as_ref().filter(|_| finding.scene.is_none()) else {
            continue;
        };
        by_trace.entry(evidence.trace.clone()).or_default().push(finding);
    }
    for (trace, mut findings) in by_trace {
        // The name comes from a file: it must not lead out of the folder.
        let inside = Path::new(&trace).file_name().is_some_and(|name| name == trace.as_str());
        if inside {
            let _ = fill_from(&mut findings, &folder.join(trace));
        }
    }
}

fn fill_from(findings: &mut [&mut Finding], trace: &Path) -> Option<()> {
    let shown: Vec<&Finding> = findings.iter().map(|finding| &**finding).collect();
    let mut stages: Vec<SceneBuilder> =
        shown.iter().map(|finding| SceneBuilder::new(finding)).collect();
    let end = stages.iter().map(|stage| stage.to).max()?;
    // A report names variables, but not by their ids: they are found at the positions of the operations.
    each(trace, end, &mut |at, event, _| {
        for stage in &mut stages {
            stage.add_variable(at, event);
        }
    })?;
    let scenes = play(stages, &shown, trace)?;
    for (scene, finding) in scenes.into_iter().zip(findings) {
        finding.scene = Some(scene);
    }
    Some(())
}

/// Shows the trace to all stages.
fn play(mut stages: Vec<SceneBuilder>, findings: &[&Finding], trace: &Path) -> Option<Vec<Scene>> {
    let end = stages.iter().map(|stage| stage.to).max()?;
    let mut threads: HashMap<ThreadId, Thread> = HashMap::new();
    let count = each(trace, end, &mut |at, event, tables| {
        let thread = threads.entry(event.thread).or_default();
        thread.before(event);
        for (stage, finding) in stages.iter_mut().zip(findings.iter()) {
            stage.add_event(at, event, thread, tables, finding);
        }
        thread.after(event);
    })?;
    Some(stages.into_iter().map(|stage| stage.finish(count)).collect())
}

/// Hands out the events up to `end`. Gives the number of threads that the trace names.
fn each(trace: &Path, end: u64, visit: &mut dyn FnMut(u64, &Event, &Tables)) -> Option<u64> {
    let mut source = open(&Input::new(trace), &OpenOptions::default()).ok()?;
    let mut batch = Vec::with_capacity(BATCH);
    let mut at = 0;
    while at <= end {
        source.read(&mut batch).ok()?;
        if batch.is_empty() {
            break;
        }
        for event in &batch {
            if at <= end {
                visit(at, event, source.tables());
            }
            at += 1;
        }
    }
    Some(source.tables().threads.len() as u64)
}

/// What a thread holds and where it is.
#[derive(Default)]
struct Thread {
    locks: Vec<(LockId, u32)>,
    calls: Vec<LabelId>,
}

impl Thread {
    /// A lock counts from its acquire on.
    fn before(&mut self, event: &Event) {
        match event.op {
            Op::Acquire { lock, .. } => match self.held(lock) {
                Some(depth) => *depth += 1,
                None => self.locks.push((lock, 1)),
            },
            Op::Call { method: label, .. } | Op::Begin { label, .. } => self.calls.push(label),
            _ => {}
        }
    }

    fn after(&mut self, event: &Event) {
        match event.op {
            Op::Release { lock, .. } => {
                if let Some(depth) = self.held(lock) {
                    *depth -= 1;
                }
                self.locks.retain(|&(_, depth)| depth > 0);
            }
            Op::Return { .. } | Op::End { .. } => {
                self.calls.pop();
            }
            _ => {}
        }
    }

    fn held(&mut self, lock: LockId) -> Option<&mut u32> {
        self.locks.iter_mut().find(|(held, _)| *held == lock).map(|(_, depth)| depth)
    }
}

/// A scene in the making.
struct SceneBuilder {
    from: u64,
    to: u64,
    /// Positions of operations of the cycle, and of begins and ends of outermost blocks.
    must: BTreeSet<u64>,
    operations: BTreeSet<u64>,
    vars: Vec<VarId>,
    before: BTreeMap<VarId, Option<String>>,
    hidden: HashMap<ThreadId, u64>,
    steps: Vec<SceneStep>,
    whole: bool,
    names: Vec<String>,
}

impl SceneBuilder {
    fn new(finding: &Finding) -> Self {
        let operations: BTreeSet<u64> = finding.operations.iter().map(|op| op.at).collect();
        let must = positions(finding);
        Self {
            from: must.first().copied().unwrap_or(0),
            to: must.last().copied().unwrap_or(0),
            must,
            operations,
            vars: Vec::new(),
            before: BTreeMap::new(),
            hidden: HashMap::new(),
            steps: Vec::new(),
            whole: true,
            names: Vec::new(),
        }
    }

    /// Finds out which variables the finding is about.
    fn add_variable(&mut self, at: u64, event: &Event) {
        if let (true, Op::Read { var, .. } | Op::Write { var, .. }) =
            (self.operations.contains(&at), event.op)
            && !self.vars.contains(&var)
        {
            self.vars.push(var);
        }
    }

    /// Takes the next event of the trace.
    fn add_event(
        &mut self,
        at: u64,
        event: &Event,
        thread: &Thread,
        tables: &Tables,
        finding: &Finding,
    ) {
        let var = match event.op {
            Op::Read { var, .. } | Op::Write { var, .. } => {
                Some(var).filter(|var| self.vars.contains(var))
            }
            _ => None,
        };
        if at < self.from {
            if let (Some(var), Op::Write { .. }) = (var, event.op) {
                self.before.insert(var, shown(var, event, tables));
            }
            return;
        }
        if at > self.to {
            return;
        }
        let must = self.must.contains(&at);
        if !must && var.is_none() {
            *self.hidden.entry(event.thread).or_default() += 1;
            return;
        }
        if !must && self.steps.len() >= MAX_STEPS {
            self.whole = false;
            return;
        }
        if let (Some(var), Op::Read { .. }) = (var, event.op) {
            // The first thing seen of it is a read: that value was there before.
            self.before.entry(var).or_insert_with(|| shown(var, event, tables));
        } else if let Some(var) = var {
            let initial = tables.var_facts(var).initial();
            let shown = || initial.and_then(|value| tables.shown_value(var, value));
            self.before.entry(var).or_insert_with(shown);
        }
        let step = self.step(at, event, thread, tables, finding);
        self.steps.push(step);
        self.names = self.vars.iter().map(|&var| tables.var_name(var)).collect();
    }

    fn step(
        &mut self,
        at: u64,
        event: &Event,
        thread: &Thread,
        tables: &Tables,
        finding: &Finding,
    ) -> SceneStep {
        let mut operation = Operation::new(EventIdx(at), event, tables);
        let own = |index: &usize| {
            let own = &finding.transactions[*index];
            own.thread == operation.thread
                && own
                    .blocks
                    .first()
                    .is_some_and(|block| block.begin <= at && block.end.is_none_or(|end| at <= end))
        };
        let known = finding.operations.iter().find(|op| op.at == at).and_then(|op| op.transaction);
        operation.transaction =
            known.or_else(|| (0..finding.transactions.len()).find(|index| own(index)));
        // Inferred blocks are calls in the trace.
        let blocks = finding.transactions.iter().filter_map(|own| own.blocks.first());
        for block in blocks {
            if block.begin == at {
                operation.action = Action::Begin;
                operation.target.clone_from(&block.name);
            } else if block.end == Some(at) {
                operation.action = Action::End;
                operation.target.clone_from(&block.name);
            }
        }
        let most = if operation.action == Action::Begin { MAX_PATH } else { MAX_CALLS };
        let site = tables.sites.get(event.site).unwrap_or_default();
        let calls = thread.calls.iter().map(|&label| tables.labels.get(label).unwrap_or("?"));
        let calls: Vec<String> = calls.map(str::to_owned).collect();
        SceneStep {
            class: site.class.to_owned(),
            method: site.method.to_owned(),
            holds: thread.locks.iter().map(|&(lock, _)| tables.lock_name(lock)).collect(),
            stack: calls[calls.len().saturating_sub(most)..].to_vec(),
            hidden: self.hidden.remove(&event.thread).unwrap_or(0),
            operation,
        }
    }

    fn finish(self, threads: u64) -> Scene {
        let Self { vars, mut before, names, .. } = self;
        let variables = vars
            .iter()
            .zip(names)
            .map(|(var, name)| SceneVariable { name, before: before.remove(var).flatten() })
            .collect();
        Scene { threads, variables, steps: self.steps, whole: self.whole }
    }
}

fn shown(var: VarId, event: &Event, tables: &Tables) -> Option<String> {
    event.value().and_then(|value| tables.shown_value(var, value))
}
