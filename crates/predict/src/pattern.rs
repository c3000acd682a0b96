//! Goals by pattern: `r(x)@A < w(x)@B < r(x)@A` asks for two reads of one thread with another thread's
//! write of the same variable between them, wherever a history has such events.
//!
//! # Grammar
//!
//! ```text
//! pattern   = step , { "<" , step } ;
//! step      = event , [ "@" , thread , [ "." , block ] ] , [ "at" , site ] ;
//! event     = "#" , number                        (* that event of the history *)
//!           | operation , [ "(" , target , ")" ]
//!           | name ;                              (* any read or write *)
//! operation = "r" | "w" | "acq" | "rel" | "wait" | "resume" | "notify" | "fork" | "join" ;
//! thread    = name | text ;
//! target    = name | text ;                       (* a variable, a lock, a thread *)
//! block     = name ;
//! site      = text ;                              (* Account.java:12, with or without its folder *)
//! name      = letter , { letter | digit | "_" } ;
//! text      = '"' , { any character but '"' } , '"' ;
//! ```
//!
//! A **name** stands for any thread, target or block: the same name for the same one everywhere in the pattern,
//! different names for different ones. A **text** is what the trace calls it. A target belongs to its
//! kind of operation: `x` in `r(x)` and in `acq(x)` have nothing to do with each other. Steps with the
//! same block, as in `r(x)@A.b < w(x)@B < w(x)@A.b`, are in one outermost block of their thread.
//! Steps without a thread may be of any. A name as an event (`e1@A`) only requires an
//! access; the same name twice in that place means nothing.
//!
//! Steps are events in the order of the *goal*, which the history need not have followed: that is the question.
//! Events of one thread keep its order, no event is taken twice.

mod parse;

use rustc_hash::FxHashMap;
use untorn_trace::{Op, Tables};

use crate::goal::Goal;
use crate::history::{At, BlockId, History, Origin};

pub use parse::PatternError;

/// A name that stands for anything, or the thing itself by its name in the trace.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Term {
    Name(String),
    Text(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Access,
    Read,
    Write,
    Acquire,
    Release,
    Wait,
    Resume,
    Notify,
    Fork,
    Join,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    kind: Option<Kind>,
    number: Option<u32>,
    target: Option<Term>,
    thread: Option<Term>,
    block: Option<String>,
    site: Option<String>,
}

/// A pattern of events in an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventPattern {
    steps: Vec<Step>,
}

/// The goals that a pattern has in a history.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matches {
    pub goals: Vec<Goal>,
    /// Events that were tried.
    pub tried: u64,
    /// `false` if there are more than were asked for, or looking for them took too long.
    pub is_complete: bool,
}

/// Events tried for each goal that is asked for, before the search is given up.
const TRIES: u64 = 1000;

impl EventPattern {
    /// Reads a pattern; see the [module](self) for the syntax.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        parse::pattern(text).map(|steps| Self { steps })
    }

    /// At most `most` goals.
    pub fn goals(&self, history: &History, tables: &Tables, most: usize) -> Matches {
        let mut search = Search {
            history,
            tables,
            steps: &self.steps,
            by_kind: by_kind(history),
            chosen: Vec::new(),
            bound: FxHashMap::default(),
            most,
            matches: Matches { is_complete: true, ..Matches::default() },
        };
        search.run();
        search.matches
    }
}

/// Which name of which sort.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Slot {
    Thread(String),
    /// With the sort of target: a variable, a lock or a thread.
    Target(String, u8),
    Block(String),
}

struct Search<'a> {
    history: &'a History,
    tables: &'a Tables,
    steps: &'a [Step],
    by_kind: FxHashMap<Kind, Vec<At>>,
    chosen: Vec<At>,
    bound: FxHashMap<Slot, u32>,
    most: usize,
    matches: Matches,
}

impl Search<'_> {
    fn run(&mut self) {
        let Some(step) = self.steps.get(self.chosen.len()) else {
            self.matches.goals.push(Goal::new(&self.chosen));
            return;
        };
        let candidates = match (step.number, step.kind) {
            (Some(number), _) => vec![At(number)],
            (None, Some(kind)) => self.by_kind.get(&kind).cloned().unwrap_or_default(),
            (None, None) => Vec::new(),
        };
        for at in candidates {
            let spent = self.matches.tried >= TRIES.saturating_mul(self.most as u64);
            if self.matches.goals.len() >= self.most || spent {
                self.matches.is_complete = false;
                return;
            }
            self.matches.tried += 1;
            if let Some(new) = self.fits(step, at) {
                let slots: Vec<Slot> = new.iter().map(|(slot, _)| slot.clone()).collect();
                self.bound.extend(new);
                self.chosen.push(at);
                self.run();
                self.chosen.pop();
                slots.iter().for_each(|slot| _ = self.bound.remove(slot));
            }
        }
    }

    /// The names that `at` would give a meaning to, if it can be this step.
    fn fits(&self, step: &Step, at: At) -> Option<Vec<(Slot, u32)>> {
        let history = self.history;
        if at.index() >= history.len() || self.chosen.contains(&at) {
            return None;
        }
        let event = history.event(at);
        let in_order =
            |&earlier: &At| history.event(earlier).thread != event.thread || earlier < at;
        if !self.chosen.iter().all(in_order) || !self.is_at(step, at) {
            return None;
        }
        let mut new = Vec::new();
        if let Some(thread) = &step.thread {
            let name = self.tables.thread_name(event.thread);
            self.bind(thread, Slot::Thread, event.thread.0, &name, &mut new)?;
        }
        if let Some(target) = &step.target {
            let (sort, name) = self.target_name(&event.op)?;
            let slot = |name: String| Slot::Target(name, sort);
            self.bind(target, slot, event.op.target(), &name, &mut new)?;
        }
        if let Some(block) = &step.block {
            let id = outermost(history, at)?;
            let term = Term::Name(block.clone());
            self.bind(&term, Slot::Block, id.0, "", &mut new)?;
        }
        Some(new)
    }

    fn is_at(&self, step: &Step, at: At) -> bool {
        let Some(wanted) = &step.site else { return true };
        let text = self.tables.site_text(self.history.event(at).site);
        text == *wanted || text.strip_suffix(wanted.as_str()).is_some_and(|f| f.ends_with('/'))
    }

    fn bind(
        &self,
        term: &Term,
        slot: impl Fn(String) -> Slot,
        id: u32,
        name: &str,
        new: &mut Vec<(Slot, u32)>,
    ) -> Option<()> {
        let slot = match term {
            Term::Text(text) => return (text == name).then_some(()),
            Term::Name(name) => slot(name.clone()),
        };
        match self.bound.get(&slot) {
            Some(&known) => (known == id).then_some(()),
            None => {
                let same_sort = |other: &Slot| match (other, &slot) {
                    (Slot::Target(_, a), Slot::Target(_, b)) => a == b,
                    _ => std::mem::discriminant(other) == std::mem::discriminant(&slot),
                };
                let taken =
                    self.bound.iter().any(|(other, &known)| known == id && same_sort(other));
                new.push((slot, id));
                (!taken).then_some(())
            }
        }
    }

    fn target_name(&self, op: &Op) -> Option<(u8, String)> {
        Some(match *op {
            Op::Read { var, .. } | Op::Write { var, .. } => (0, self.tables.var_name(var)),
            Op::Acquire { lock, .. }
            | Op::Release { lock, .. }
            | Op::Wait { lock }
            | Op::Resume { lock }
            | Op::Notify { lock, .. } => (1, self.tables.lock_name(lock)),
            Op::Fork { child } | Op::Join { child } => (2, self.tables.thread_name(child)),
            _ => return None,
        })
    }
}

/// The outermost declared block around an event.
fn outermost(history: &History, at: At) -> Option<BlockId> {
    let mut block = history.block_of(at);
    let mut found = None;
    while let Some(id) = block {
        let around = history.block(id);
        if around.origin == Origin::Declared && around.contains(at) {
            found = Some(id);
        }
        block = history.block(id).outer;
    }
    found
}

fn by_kind(history: &History) -> FxHashMap<Kind, Vec<At>> {
    let mut lists: FxHashMap<Kind, Vec<At>> = FxHashMap::default();
    for at in history.all() {
        let kind = match history.event(at).op {
            Op::Read { .. } => Kind::Read,
            Op::Write { .. } => Kind::Write,
            Op::Acquire { .. } => Kind::Acquire,
            Op::Release { .. } => Kind::Release,
            Op::Wait { .. } => Kind::Wait,
            Op::Resume { .. } => Kind::Resume,
            Op::Notify { .. } => Kind::Notify,
            Op::Fork { .. } => Kind::Fork,
            Op::Join { .. } => Kind::Join,
            _ => continue,
        };
        lists.entry(kind).or_default().push(at);
        if matches!(kind, Kind::Read | Kind::Write) {
            lists.entry(Kind::Access).or_default().push(at);
        }
    }
    lists
}

#[cfg(test)]
mod tests;
