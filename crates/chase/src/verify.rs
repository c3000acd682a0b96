//! Is an instance that happened a violation, and by which measure?
//!
//! Only the blocks at stake count as blocks: those of the target's name and, if that proves nothing,
//! those of the intruder's as well. All other events stand for themselves. So what is proved is proved of
//! these blocks, and not of something else that happened in the same run.

use untorn_check::{Block, Cycle, Edge, Step, Transaction, Violation, Why};
use untorn_confirm::{Options, Reason, Verdict, Window, confirm};
use untorn_predict::{At, BlockId, Origin, Pattern};
use untorn_trace::{Event, EventIdx, LabelId, Op, VarId};

use crate::effects::{Effect, Normal};
use crate::evidence::Run;
use crate::runner::Ended;
use crate::target::Key;

/// Traces longer than this are judged by the window around the instance.
const MOST_EVENTS: usize = 4_000_000;

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
pub struct Judged {
    pub values: Values,
    pub effects: Vec<Effect>,
    /// How the run ended.
    pub ended: Ended,
    /// The run with the blocks at stake as its only blocks.
    pub events: Vec<Event>,
    /// The conflict cycle that the instance makes.
    pub cycle: Violation,
}

impl Judged {
    /// Whether it is called a violation. A declared block that was torn is one. That other code was meant to be
    /// atomic is only inferred: then the values must prove the harm. Of a lost update they do. Reading twice,
    /// or showing others a value and then another one, is what polling, flags and hand-made locks do
    /// on purpose: there something must be visible as well.
    pub fn is_violation(&self, key: &Key) -> bool {
        let by_values = matches!(self.values, Values::NotAtomic { .. });
        match (key.origin, key.pattern) {
            (Origin::Declared, _) => true,
            (Origin::Inferred, Pattern::ReadWriteWrite) => by_values,
            (Origin::Inferred, _) => by_values && !self.effects.is_empty(),
        }
    }

    /// How much it proves: more is better.
    pub fn weight(&self) -> u8 {
        let by_values = matches!(self.values, Values::NotAtomic { .. });
        2 * u8::from(by_values) + u8::from(!self.effects.is_empty())
    }
}

pub(crate) fn judge(run: &Run, key: &Key, instance: [At; 3], normal: &Normal) -> Judged {
    let mut names = vec![key.block.as_str()];
    let mut events = with_blocks(run, key.origin, &names);
    let var = VarId(run.history.event(instance[0]).op.target());
    let mut values = by_values(run, key, &events, instance, var);
    let intruder = run.block_around(instance[1], key.origin);
    if let Some(intruder) = intruder.filter(|_| !matches!(values, Values::NotAtomic { .. })) {
        names.push(intruder);
        let more = with_blocks(run, key.origin, &names);
        let again = by_values(run, key, &more, instance, var);
        if matches!(again, Values::NotAtomic { .. }) {
            (events, values) = (more, again);
        }
    }
    let cycle = cycle(run, key, &events, instance);
    Judged { values, effects: normal.compare(&run.ran), ended: run.ran.ended, events, cycle }
}

/// The events of the run with the blocks of these names, and no others.
fn with_blocks(run: &Run, origin: Origin, names: &[&str]) -> Vec<Event> {
    let tables = &run.tables;
    let counts: Vec<bool> = tables.labels.iter().map(|name| names.contains(&name)).collect();
    let counts = |label: LabelId| counts.get(label.index()).copied().unwrap_or(false);
    let shown = |event: &Event| {
        let op = match (origin, event.op) {
            (Origin::Declared, Op::Begin { label } | Op::End { label }) if counts(label) => {
                event.op
            }
            (Origin::Inferred, Op::Call { method: label, .. }) if counts(label) => {
                Op::Begin { label }
            }
            (Origin::Inferred, Op::Return { method: label, .. }) if counts(label) => {
                Op::End { label }
            }
            (_, Op::Begin { .. } | Op::End { .. } | Op::Call { .. } | Op::Return { .. }) => {
                Op::Branch { count: 0 }
            }
            (_, op) => op,
        };
        Event { op, ..*event }
    };
    run.history.events().iter().map(shown).collect()
}

/// Whether the values of this variable alone refute a serial order: then it is this instance, or another
/// one of the same kind, that does it. A declared block is judged by all variables as well.
fn by_values(run: &Run, key: &Key, events: &[Event], instance: [At; 3], var: VarId) -> Values {
    let only = |event: &Event| match event.op {
        Op::Read { var: other, .. } | Op::Write { var: other, .. } if other != var => {
            Event { op: Op::Branch { count: 0 }, ..*event }
        }
        _ => *event,
    };
    let projected: Vec<Event> = events.iter().map(only).collect();
    let found = confirmed(run, &projected, instance);
    match (key.origin, found) {
        (_, found @ Values::NotAtomic { .. }) | (Origin::Inferred, found) => found,
        (Origin::Declared, _) => confirmed(run, events, instance),
    }
}

fn confirmed(run: &Run, events: &[Event], instance: [At; 3]) -> Values {
    let whole = events.len() <= MOST_EVENTS;
    let window = if whole { None } else { Window::around(events, &instance.map(EventIdx::from)) };
    let options = Options { window, ..Options::default() };
    match confirm(events, &run.tables, &options).verdict {
        Verdict::NotAtomic(reason) => Values::NotAtomic { reason, whole },
        Verdict::Atomic(_) => Values::Atomic,
        Verdict::Undecided(doubt) => {
            Values::Undecided(untorn_confirm::words::doubt(&doubt, &run.tables))
        }
    }
}

/// The torn block, then the intruder's transaction, and the two conflicts between them.
fn cycle(run: &Run, key: &Key, events: &[Event], instance: [At; 3]) -> Violation {
    let [first, second, third] =
        instance.map(|at| Step { at: at.into(), event: events[at.index()] });
    let var = VarId(first.event.op.target());
    let torn = block(run, key.origin, instance[0], &key.block, events);
    let intruder = run.block_around(instance[1], key.origin).unwrap_or_default().to_owned();
    let own = |step: Step, block| Transaction { thread: step.event.thread, block };
    let edge = |from, to| Edge { from, to, why: Why::Variable(var) };
    let intruding = block(run, key.origin, instance[1], &intruder, events);
    Violation {
        cycle: Cycle {
            transactions: vec![own(first, torn), own(second, intruding)],
            edges: vec![edge(first, second), edge(second, third)],
        },
        refuted: torn.into_iter().collect(),
        occurrences: 1,
    }
}

/// The outermost block of that name around an event that counts in `events`.
fn block(run: &Run, origin: Origin, at: At, name: &str, events: &[Event]) -> Option<Block> {
    let chain = std::iter::successors(run.history.block_of(at), |&id: &BlockId| {
        run.history.block(id).outer
    });
    let named = chain.filter(|&id| {
        let block = run.history.block(id);
        let begins = matches!(events[block.begin.index()].op, Op::Begin { .. });
        begins && block.origin == origin && run.tables.labels.get(block.label) == Some(name)
    });
    let block = run.history.block(named.last()?);
    let site = run.history.event(block.begin).site;
    Some(Block { label: block.label, site, begin: block.begin.into() })
}
