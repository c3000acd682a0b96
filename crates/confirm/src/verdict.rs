//! The answer and its evidence, as plain data.

use untorn_trace::{EventIdx, Value, VarId};

use crate::blocks::Block;
use crate::values::Contradiction;

/// Whether the trace is atomic by values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueVerdict {
    Atomic(SerialOrder),
    NotAtomic(Reason),
    Undecided(UndecidedReason),
}

/// All transactions that access something, in an order in which every read returns what it did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SerialOrder {
    pub blocks: Vec<Block>,
}

/// A participant: a transaction, or (`None`) the initial values.
pub type Party = Option<Block>;

/// An access and its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    pub at: EventIdx,
    pub value: Option<Value>,
}

/// Why there is no serial order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A block read something else than its own access before had left or found.
    OwnRead { block: Block, var: VarId, access: Point, wrote: bool, read: Point },
    /// A read that no block can have served.
    NoSource(NoSource),
    /// Blocks that read a variable and then wrote it: more of them than blocks they can have read
    /// from.
    LostUpdate { var: VarId, updates: Vec<Update>, sources: Vec<Party> },
    /// Orders that follow from the values, and contradict each other.
    Cycle(Vec<Forced>),
    /// A search found none: so many states, these blocks and variables.
    Exhausted { states: u64, blocks: Vec<Block>, vars: Vec<VarId> },
    /// A condition of the AtomChase paper holds, which is no proof: see
    /// [`printed`](crate::printed).
    Printed { pattern: &'static str, var: VarId, block: Block, instance: [Point; 3] },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoSource {
    pub block: Block,
    pub var: VarId,
    pub read: Point,
    /// Orders that hold, from which the rest follows.
    pub orders: Vec<Forced>,
    /// The blocks that left that value, and why it cannot have been read from there.
    pub excluded: Vec<(Party, Excluded)>,
    /// If no block left that value: the blocks that wrote it and replaced it before they ended.
    pub passing: Option<(Block, EventIdx)>,
}

/// Why a block that left the right value did not serve a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Excluded {
    /// It runs after the reader.
    Later,
    /// Another block overwrote the value before the reader ran.
    Overwritten(Block),
    /// Taking it leads to a contradiction.
    Contradiction,
}

/// A block that reads a variable and then writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Update {
    pub block: Block,
    pub read: Point,
    pub write: Point,
}

/// `from` must run before `to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forced {
    pub from: Party,
    pub to: Party,
    pub because: OrderReason,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderReason {
    /// The order of a thread, or of fork and join; or because initial values come first.
    Kept,
    /// `to` read what `from` left: there is no other source.
    /// `write` is `None` for an initial value.
    Read { var: VarId, write: Option<Point>, read: Point },
    /// `from` runs before `reader`, which read what `to` left; `from` wrote, too, and must not come
    /// between.
    NotBetweenEarly { var: VarId, reader: Block, read: Point },
    /// `to` runs after `source`, which left what `from` read; `to` wrote, too, and must not come
    /// between.
    NotBetweenLate { var: VarId, source: Party, read: Point },
    /// Whichever block was the source of this read of `to`, `from` was it or preceded it.
    EverySource { var: VarId, read: Point },
    /// Whichever block was the source of this read of `from`, `to` wrote something else after it.
    AfterEverySource { var: VarId, read: Point },
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UndecidedReason {
    /// The budget is used up.
    Budget { spent: u64 },
    /// More blocks matter than can be compared with each other.
    TooLarge { blocks: usize },
    /// With some values for what was not recorded it is atomic, or may be, and with others not.
    UnknownValues,
    /// The trace contradicts itself: a write was not recorded. Leaving this variable out, it is atomic or
    /// may be.
    Inconsistent(Contradiction),
    /// The chosen method alone cannot decide.
    Method,
}

impl Reason {
    /// The transactions that take part, each once.
    pub fn blocks(&self) -> Vec<Block> {
        let mut found: Vec<Block> = Vec::new();
        let mut add = |party: Party| match party {
            Some(block) if !found.contains(&block) => found.push(block),
            _ => {}
        };
        match self {
            Self::OwnRead { block, .. } | Self::Printed { block, .. } => add(Some(*block)),
            Self::NoSource(no) => {
                add(Some(no.block));
                add(no.passing.map(|(block, _)| block));
                for order in &no.orders {
                    add(order.from);
                    add(order.to);
                }
                for &(party, excluded) in &no.excluded {
                    add(party);
                    if let Excluded::Overwritten(block) = excluded {
                        add(Some(block));
                    }
                }
            }
            Self::LostUpdate { updates, sources, .. } => {
                updates.iter().for_each(|update| add(Some(update.block)));
                sources.iter().for_each(|&source| add(source));
            }
            Self::Cycle(orders) => orders.iter().for_each(|order| {
                add(order.from);
                add(order.to);
            }),
            Self::Exhausted { blocks, .. } => blocks.iter().for_each(|&block| add(Some(block))),
        }
        found
    }

    /// The variables that matter, each once.
    pub fn vars(&self) -> Vec<VarId> {
        let mut found = match self {
            Self::OwnRead { var, .. } | Self::Printed { var, .. } => vec![*var],
            Self::LostUpdate { var, .. } => vec![*var],
            Self::NoSource(no) => {
                no.orders.iter().filter_map(|order| order.because.var()).chain([no.var]).collect()
            }
            Self::Cycle(orders) => orders.iter().filter_map(|order| order.because.var()).collect(),
            Self::Exhausted { vars, .. } => vars.clone(),
        };
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The accesses that matter, in trace order.
    pub fn events(&self) -> Vec<EventIdx> {
        let mut found = match self {
            Self::OwnRead { access, read, .. } => vec![access.at, read.at],
            Self::Printed { instance, .. } => instance.iter().map(|point| point.at).collect(),
            Self::LostUpdate { updates, .. } => {
                updates.iter().flat_map(|update| [update.read.at, update.write.at]).collect()
            }
            Self::NoSource(no) => {
                let orders = no.orders.iter().flat_map(|order| order.because.events());
                orders.chain(no.passing.map(|(_, at)| at)).chain([no.read.at]).collect()
            }
            Self::Cycle(orders) => orders.iter().flat_map(|order| order.because.events()).collect(),
            Self::Exhausted { .. } => Vec::new(),
        };
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The same with other positions of events: what was confirmed may be a part of a trace.
    pub fn relocate(&mut self, place: &dyn Fn(EventIdx) -> EventIdx) {
        match self {
            Self::OwnRead { block, access, read, .. } => {
                block.relocate(place);
                access.relocate(place);
                read.relocate(place);
            }
            Self::NoSource(no) => no.relocate(place),
            Self::LostUpdate { updates, sources, .. } => {
                for update in updates {
                    update.block.relocate(place);
                    update.read.relocate(place);
                    update.write.relocate(place);
                }
                sources.iter_mut().flatten().for_each(|block| block.relocate(place));
            }
            Self::Cycle(orders) => orders.iter_mut().for_each(|order| order.relocate(place)),
            Self::Exhausted { blocks, .. } => {
                blocks.iter_mut().for_each(|block| block.relocate(place));
            }
            Self::Printed { block, instance, .. } => {
                block.relocate(place);
                instance.iter_mut().for_each(|point| point.relocate(place));
            }
        }
    }

    /// One word for the kind of reason, for reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OwnRead { .. } => "own-read",
            Self::NoSource(_) => "no-source",
            Self::LostUpdate { .. } => "lost-update",
            Self::Cycle(_) => "cycle",
            Self::Exhausted { .. } => "exhausted",
            Self::Printed { .. } => "printed",
        }
    }
}

impl Point {
    fn relocate(&mut self, place: &dyn Fn(EventIdx) -> EventIdx) {
        self.at = place(self.at);
    }
}

impl NoSource {
    fn relocate(&mut self, place: &dyn Fn(EventIdx) -> EventIdx) {
        self.block.relocate(place);
        self.read.relocate(place);
        self.orders.iter_mut().for_each(|order| order.relocate(place));
        for (party, excluded) in &mut self.excluded {
            party.iter_mut().for_each(|block| block.relocate(place));
            if let Excluded::Overwritten(block) = excluded {
                block.relocate(place);
            }
        }
        if let Some((block, at)) = &mut self.passing {
            block.relocate(place);
            *at = place(*at);
        }
    }
}

impl Forced {
    fn relocate(&mut self, place: &dyn Fn(EventIdx) -> EventIdx) {
        self.from.iter_mut().for_each(|block| block.relocate(place));
        self.to.iter_mut().for_each(|block| block.relocate(place));
        match &mut self.because {
            OrderReason::Kept => {}
            OrderReason::Read { write, read, .. } => {
                write.iter_mut().for_each(|write| write.relocate(place));
                read.relocate(place);
            }
            OrderReason::NotBetweenEarly { reader, read, .. } => {
                reader.relocate(place);
                read.relocate(place);
            }
            OrderReason::NotBetweenLate { source, read, .. } => {
                source.iter_mut().for_each(|block| block.relocate(place));
                read.relocate(place);
            }
            OrderReason::EverySource { read, .. } | OrderReason::AfterEverySource { read, .. } => {
                read.relocate(place);
            }
        }
    }
}

impl OrderReason {
    fn var(&self) -> Option<VarId> {
        match *self {
            Self::Kept => None,
            Self::Read { var, .. }
            | Self::NotBetweenEarly { var, .. }
            | Self::NotBetweenLate { var, .. }
            | Self::EverySource { var, .. }
            | Self::AfterEverySource { var, .. } => Some(var),
        }
    }

    fn events(&self) -> impl Iterator<Item = EventIdx> {
        let (write, read) = match *self {
            Self::Kept => (None, None),
            Self::Read { write, read, .. } => (write.map(|write| write.at), Some(read.at)),
            Self::NotBetweenEarly { read, .. }
            | Self::NotBetweenLate { read, .. }
            | Self::EverySource { read, .. }
            | Self::AfterEverySource { read, .. } => (None, Some(read.at)),
        };
        write.into_iter().chain(read)
    }
}

impl UndecidedReason {
    /// One word for the reason, for reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Budget { .. } => "budget",
            Self::TooLarge { .. } => "too-large",
            Self::UnknownValues => "unknown-values",
            Self::Inconsistent(_) => "inconsistent",
            Self::Method => "method",
        }
    }
}
