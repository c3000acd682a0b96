//! Is an instance that happened a violation, and by which measure?
//!
//! Only the blocks at stake count as blocks: those of the target's name and, if that proves nothing,
//! those of the intruder's as well. All other events stand for themselves. So what is proved is proved of
//! these blocks, and not of something else that happened in the same run.

use untorn_confirm::{Method, Options, Reason, ValueVerdict, Window, confirm};
use untorn_predict::{At, BlockId, Origin, Pattern};
use untorn_serializability::context::{Context, Gatherer};
use untorn_serializability::{Block, Cycle, Edge, EdgeKind, Step, Transaction, Violation};
use untorn_trace::{
    Access, BlockKind, Event, EventIdx, LabelId, LockId, Op, SiteId, ThreadId, VarId,
};

use crate::compositions::CompositionId;
use crate::effects::Effect;
use crate::instance::Instance;
use crate::run::Run;
use crate::target::{Key, Shape};
use crate::tracked_calls::CallResult;
use untorn_frontend::ExitKind;

/// Traces longer than this are judged by the window around the instance.
const MAX_EVENTS: usize = 4_000_000;

/// Events before a write among which what it copies is looked for.
const NEAR: usize = 16;

/// What the values say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Values {
    /// No serial order gives these values.
    NotAtomic {
        reason: Reason,
        /// Of the whole run, or else of the part around the instance.
        whole: bool,
    },
    /// Some serial order does.
    Atomic,
    Undecided(String),
}

/// What was found out about an instance.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub values: Values,
    /// What is visible, and does not show without the interruption, as far as that could be tested.
    pub effects: Vec<Effect>,
    /// Runs in which the block ran as a whole, and none of the effects showed.
    pub undone: u32,
    /// Those of the effects that no run without the interruption could be compared with.
    pub untested: Vec<Effect>,
    /// Something was visible that may or may not be due to the interruption.
    pub(crate) is_unclear: bool,
    /// How the run ended.
    pub ended: ExitKind,
    /// The conflict cycle that the instance makes.
    pub cycle: Violation,
    /// What stands around the cycle in the run with the blocks at stake as its only blocks.
    pub context: Context,
    /// An update was lost, or something is visible.
    pub is_harmful: bool,
    /// It was torn by accesses that are made for others to come between: see [`is_open`].
    pub is_open: bool,
    /// The block around what came between, whether or not it is a block at stake.
    pub intruder: Option<LabelId>,
    /// The calls that look meant to be one step.
    pub composed: Option<TornComposition>,
    /// Only what these calls said makes it harmful.
    pub(crate) needs_control_run: bool,
}

/// A composition that was torn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TornComposition {
    pub id: CompositionId,
    /// The first call, what came between if it was a call, and the second.
    pub calls: Vec<CallMade>,
    /// The first call made the first access, and the second one the last.
    pub is_exact: bool,
    pub surprise: Option<Surprise>,
}

/// A call that was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallMade {
    pub thread: ThreadId,
    /// What is called.
    pub api: LabelId,
    pub site: SiteId,
    pub answer: Option<CallResult>,
}

/// Answers that calls do not give when nobody comes between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Surprise {
    /// Of the first call.
    pub after: CallResult,
    /// Of the second, and what it says otherwise.
    pub said: CallResult,
    pub usual: CallResult,
}

/// What may be held against an instance beside its values.
#[derive(Clone, Debug)]
pub(crate) struct Harm<'a> {
    pub effects: &'a [Effect],
    pub composed: Option<TornComposition>,
}

impl Judgement {
    /// Whether it is called a violation. A declared block that was torn is one, unless by accesses that are open to
    /// others. That other code was meant to be atomic is only inferred: then the values must prove the harm. Of a lost
    /// update they do. Reading twice, or showing others a value and then another one, is what polling, flags and
    /// hand-made locks do on purpose: there something must be visible as well, or calls that look meant to be one step must
    /// have returned a result that they do not return without the interruption. That two objects belong together is a guess, too: there the values must
    /// prove it even of a declared block.
    pub fn is_violation(&self, key: &Key) -> bool {
        let by_values = matches!(self.values, Values::NotAtomic { .. });
        let is_meant = key.origin == Origin::Declared && !self.is_open;
        (is_meant && (by_values || !key.is_wide())) || (by_values && self.is_harmful)
    }

    /// The same with other effects.
    #[must_use]
    pub(crate) fn with_effects(
        self,
        run: &Run,
        key: &Key,
        instance: &Instance,
        effects: Vec<Effect>,
    ) -> Self {
        let harm = Harm { effects: &effects, composed: self.composed.clone() };
        let is_harmful = is_harmful(run, key, instance, &harm);
        let needs_control_run = needs_control_run(run, key, instance, &harm);
        Self { effects, is_harmful, needs_control_run, ..self }
    }

    /// How much it proves: more is better.
    pub fn weight(&self) -> u8 {
        weight(self.is_proved(), !self.effects.is_empty(), self.composed.is_some())
    }

    /// Whether the values prove it.
    pub(crate) const fn is_proved(&self) -> bool {
        matches!(self.values, Values::NotAtomic { .. })
    }

    /// How much a run with these effects can prove.
    pub(crate) fn most_weight(effects: &[Effect]) -> u8 {
        weight(true, !effects.is_empty(), false)
    }
}

/// How much a finding proves, more is better: first that its values refute every serial order, then that its effects are
/// visible, then that it tears calls which look meant to be one step.
pub fn weight(is_proved: bool, is_visible: bool, is_composed: bool) -> u8 {
    4 * u8::from(is_proved) + 2 * u8::from(is_visible) + u8::from(is_composed)
}

/// A block by what it is called.
type Named<'r> = (Origin, &'r str);

/// Whether an instance can be called a violation at all, with these effects.
pub(crate) fn may_be_violation(run: &Run, key: &Key, instance: &Instance, harm: &Harm<'_>) -> bool {
    is_meant(run, key, instance) || is_harmful(run, key, instance, harm)
}

/// Whether something is held against it beside what it is.
fn is_harmful(run: &Run, key: &Key, instance: &Instance, harm: &Harm<'_>) -> bool {
    !harm.effects.is_empty()
        || is_lost_update(run, key, instance)
        || harm.composed.as_ref().is_some_and(|composed| breaks(key, composed))
}

/// Whether calls that look meant to be one step were torn in a way that their caller can tell: by what they said, or
/// because one saw the old half and the other the new half of a change.
fn breaks(key: &Key, composed: &TornComposition) -> bool {
    composed.surprise.is_some() || saw_half(key, composed)
}

fn saw_half(key: &Key, composed: &TornComposition) -> bool {
    let is_half = matches!(key.shape, Shape::Two { writes: [false, true, true, false], .. });
    is_half && composed.is_exact && !key.facts.is_collection && !key.facts.is_library
}

/// Whether nothing is held against it but what calls said.
fn needs_control_run(run: &Run, key: &Key, instance: &Instance, harm: &Harm<'_>) -> bool {
    let Some(composed) = &harm.composed else { return false };
    harm.effects.is_empty() && !saw_half(key, composed) && !is_lost_update(run, key, instance)
}

/// Whether the block is meant to be atomic as far as this instance is concerned: torn, it is a violation.
pub(crate) fn is_meant(run: &Run, key: &Key, instance: &Instance) -> bool {
    key.origin == Origin::Declared && !is_open(run, instance)
}

/// Whether every access is of a volatile variable, an atomic one or a concurrent collection. Who makes a variable
/// volatile and changes it in sections of a lock lets others look at it, and change it, without the lock: the section
/// keeps its plain variables together, not these.
fn is_open(run: &Run, instance: &Instance) -> bool {
    let is_plain = |at: At| match run.history.event(at).op {
        Op::Read { access, .. } | Op::Write { access, .. } => access == Access::Plain,
        _ => true,
    };
    !instance.all().into_iter().any(is_plain)
}

/// A write that rests on a value that was no longer there. Who looked once more before it wrote knew what it
/// overwrote: a hint that is checked again under a lock is no lost update.
fn is_lost_update(run: &Run, key: &Key, instance: &Instance) -> bool {
    let is_kind =
        matches!(key.shape, Shape::One(Pattern::ReadWriteWrite)) && !key.facts.is_collection;
    let ([_, write], [_, intruder]) = (instance.own, instance.other);
    let history = &run.history;
    let (thread, var) = (history.event(write).thread, VarId(history.event(write).op.target()));
    let reads = history.reads(var);
    let from = reads.partition_point(|&at| at < intruder);
    let mut between = reads[from..].iter().take_while(|&&at| at < write);
    let knew = between.any(|&at| history.event(at).thread == thread);
    is_kind && !knew && !is_copy(run, instance.own)
}

/// Whether a volatile variable was overwritten by what another one held: it keeps a copy of that one, and the write rests
/// on what that one held, not on the value that is no longer there.
fn is_copy(run: &Run, [first, write]: [At; 2]) -> bool {
    let history = &run.history;
    let Op::Write { var, access: Access::Volatile, .. } = history.event(write).op else {
        return false;
    };
    let value = history.event(write).value();
    let before = std::iter::successors(history.previous(write), |&at| history.previous(at));
    let accesses = before.take_while(|&at| at > first).take(NEAR);
    let mut reads = accesses.filter(|&at| {
        matches!(history.event(at).op, Op::Read { var: of, access: Access::Volatile, .. } if of != var)
    });
    value.is_some() && reads.next().is_some_and(|at| history.event(at).value() == value)
}

pub(crate) fn judge(run: &Run, key: &Key, instance: &Instance, harm: &Harm<'_>) -> Judgement {
    let mut names: Vec<Named<'_>> = vec![(key.origin, &key.block)];
    let mut events = with_blocks(run, &names);
    let mut values = by_values(run, key, &events, instance);
    let intruder = intruder(run, key, instance);
    if let Some(intruder) = intruder.filter(|_| !matches!(values, Values::NotAtomic { .. })) {
        names.push((run.history.block(intruder).origin, run.name_of(intruder)));
        let more = with_blocks(run, &names);
        let again = by_values(run, key, &more, instance);
        // Two variables in two orders: only two blocks make a cycle.
        let is_needed = matches!(key.shape, Shape::Two { same_order: false, .. });
        if is_needed || matches!(again, Values::NotAtomic { .. }) {
            (events, values) = (more, again);
        }
    }
    let cycle = cycle(run, key, &events, instance);
    let intruder = run.block_around_both(instance.other);
    Judgement {
        values,
        is_harmful: is_harmful(run, key, instance, harm),
        is_open: is_open(run, instance),
        effects: harm.effects.to_vec(),
        undone: 0,
        untested: Vec::new(),
        is_unclear: false,
        composed: harm.composed.clone(),
        needs_control_run: needs_control_run(run, key, instance, harm),
        ended: run.result.exit,
        context: context_of(run, &cycle, &events),
        cycle,
        intruder: intruder.map(|block| run.history.block(block).label),
    }
}

/// Gathered while the events are at hand: a finding does not keep the events of its run.
fn context_of(run: &Run, cycle: &Violation, events: &[Event]) -> Context {
    let mut gatherer = Gatherer::new(std::slice::from_ref(cycle));
    for (at, event) in run.history.all().zip(events) {
        if gatherer.events(run.position(at), std::slice::from_ref(event)).is_break() {
            break;
        }
    }
    gatherer.finish().pop().unwrap_or_default()
}

/// The block of the other thread.
fn intruder(run: &Run, key: &Key, instance: &Instance) -> Option<BlockId> {
    match key.shape {
        Shape::One(_) => run.block_of_origin(instance.other, key.origin),
        Shape::Two { .. } => run.block_around_both(instance.other),
    }
}

/// The events of the run with the blocks of these names, and no others.
fn with_blocks(run: &Run, names: &[Named<'_>]) -> Vec<Event> {
    let counting = |origin: Origin| -> Vec<bool> {
        run.tables.labels.iter().map(|name| names.contains(&(origin, name))).collect()
    };
    let (declared, inferred) = (counting(Origin::Declared), counting(Origin::Inferred));
    let counts = |all: &[bool], label: LabelId| all.get(label.index()).copied().unwrap_or(false);
    let shown = |event: &Event| {
        let op = match event.op {
            Op::Begin { label, .. } | Op::End { label } if counts(&declared, label) => event.op,
            Op::Call { method: label, .. } if counts(&inferred, label) => {
                Op::Begin { kind: BlockKind::Inferred, label, lock: LockId::NONE }
            }
            Op::Return { method: label, .. } if counts(&inferred, label) => Op::End { label },
            Op::Begin { .. } | Op::End { .. } | Op::Call { .. } | Op::Return { .. } => Op::HIDDEN,
            op => op,
        };
        Event { op, ..*event }
    };
    run.history.events().iter().map(shown).collect()
}

/// Whether the values of these variables alone refute a serial order: then it is this instance, or another
/// one of the same kind, that does it. A declared block is judged by all variables as well.
fn by_values(run: &Run, key: &Key, events: &[Event], instance: &Instance) -> Values {
    let vars = instance.own.map(|at| run.history.event(at).op.target());
    let projected = only_of(events, vars);
    let found = confirmed(run, &projected, instance);
    match (key.origin, found) {
        (_, found @ Values::NotAtomic { .. }) | (Origin::Inferred, found) => found,
        (Origin::Declared, _) => confirmed(run, events, instance),
    }
}

fn confirmed(run: &Run, events: &[Event], instance: &Instance) -> Values {
    let whole = events.len() <= MAX_EVENTS;
    let options = options_around(events, instance);
    match confirm(events, &run.tables, &options).verdict {
        ValueVerdict::NotAtomic(mut reason) => {
            // What was confirmed is what the history has of the run.
            reason.relocate(&|at| run.position(At(at.0 as u32)));
            Values::NotAtomic { reason, whole }
        }
        ValueVerdict::Atomic(_) => Values::Atomic,
        ValueVerdict::Undecided(uncertainty) => {
            Values::Undecided(untorn_confirm::phrasing::undecided(&uncertainty, &run.tables))
        }
    }
}

/// The same without the accesses of other variables.
fn only_of(events: &[Event], vars: [u32; 2]) -> Vec<Event> {
    let only = |event: &Event| match event.op {
        Op::Read { var, .. } | Op::Write { var, .. } if !vars.contains(&var.0) => {
            Event { op: Op::HIDDEN, ..*event }
        }
        _ => *event,
    };
    events.iter().map(only).collect()
}

fn options_around(events: &[Event], instance: &Instance) -> Options {
    let around = instance.all().map(EventIdx::from);
    let whole = events.len() <= MAX_EVENTS;
    Options {
        window: if whole { None } else { Window::around(events, &around) },
        ..Options::default()
    }
}

/// In which ways an instance is confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Confirmations {
    pub by_values: bool,
    /// By the conditions of the AtomChase paper as they are printed, which are no proof.
    pub by_printed: bool,
}

/// Confirms an instance in all ways, whether or not it does harm.
pub(crate) fn confirmations(run: &Run, key: &Key, instance: &Instance) -> Confirmations {
    let mut names: Vec<Named<'_>> = vec![(key.origin, &key.block)];
    let own = with_blocks(run, &names);
    let vars = instance.own.map(|at| run.history.event(at).op.target());
    let options = Options { method: Method::Printed, ..options_around(&own, instance) };
    let printed = confirm(&only_of(&own, vars), &run.tables, &options).verdict;
    let is_refuted = |events: &[Event]| {
        matches!(by_values(run, key, events, instance), Values::NotAtomic { .. })
    };
    let by_values = is_refuted(&own)
        || intruder(run, key, instance).is_some_and(|intruder| {
            names.push((run.history.block(intruder).origin, run.name_of(intruder)));
            is_refuted(&with_blocks(run, &names))
        });
    Confirmations { by_values, by_printed: matches!(printed, ValueVerdict::NotAtomic(_)) }
}

/// The torn block, then the other thread, and the conflicts between them.
fn cycle(run: &Run, key: &Key, events: &[Event], instance: &Instance) -> Violation {
    let step = |at: At| Step { at: run.position(at), event: events[at.index()] };
    let edge = |from: At, to: At, why| Edge { from: step(from), to: step(to), why };
    let conflict = |at: At| EdgeKind::Variable(VarId(run.history.event(at).op.target()));
    let own = |at: At, block| Transaction { thread: run.history.event(at).thread, block };
    let torn = counted(run, instance.own, (key.origin, &key.block), events);
    let named = intruder(run, key, instance);
    let named = named.map(|id| (run.history.block(id).origin, run.name_of(id)));
    let intruding = named.and_then(|named| counted(run, instance.other, named, events));
    let ([first, last], [one, other]) = (instance.own, instance.other);
    let mut transactions = vec![own(first, torn), own(one, intruding)];
    let mut edges = vec![edge(first, one, conflict(first)), edge(other, last, conflict(last))];
    if one != other && intruding.is_none() {
        // Nothing but the order of its thread holds them together.
        transactions.push(own(other, None));
        edges.insert(1, edge(one, other, EdgeKind::ProgramOrder));
    }
    let refuted = torn.into_iter().collect();
    Violation { cycle: Cycle { transactions, edges }, refuted, occurrences: 1 }
}

/// The outermost block of that name around both events that counts in `events`.
fn counted(run: &Run, both: [At; 2], named: Named<'_>, events: &[Event]) -> Option<Block> {
    let own = run.blocks_around_both(both).filter(|&id| {
        let block = run.history.block(id);
        let begins = matches!(events[block.begin.index()].op, Op::Begin { .. });
        begins && (block.origin, run.name_of(id)) == named
    });
    let block = run.history.block(own.last()?);
    let site = run.history.event(block.begin).site;
    Some(Block { label: block.label, site, begin: run.position(block.begin) })
}
