//! The stages one after the other, cheapest first, until one decides.

use untorn_trace::{Event, Tables};

use crate::blocks::Extract;
use crate::core::{Core, Reading, relevant};
use crate::exact::{self, SearchResult};
use crate::ids::{BlockId, Node, Slot};
use crate::order::Order;
use crate::own_read::Nets;
use crate::reduce::Tangle;
use crate::saturation::{self, Probed, Saturation, probe};
use crate::structure::complete;
use crate::values::{Contradiction, SymbolicValue};
use crate::verdict::{SerialOrder, UndecidedReason, ValueVerdict};
use crate::{
    Confirmation, Method, Options, Stage, TraceFacts, cases, printed, reasons, serialiser,
};

/// Problems with more nodes are first refuted on the tangled variables alone.
const LARGE: usize = 256;

/// Steps of the serialiser before probing, beside one a block.
const GREEDY: u64 = 64;

/// States to search before probing.
const FEW: u64 = 2_000;

/// The question and what is known about it.
pub struct Stages<'a> {
    events: &'a [Event],
    options: &'a Options,
    extract: Extract,
    nets: Nets,
    /// A variable that was written unseen: nothing can be called atomic.
    inconsistent: Option<Contradiction>,
}

type Decision = (ValueVerdict, Stage);

impl<'a> Stages<'a> {
    pub fn new(events: &'a [Event], tables: &Tables, options: &'a Options) -> Self {
        let extract = Extract::new(events, tables, options.window);
        let nets = Nets::new(&extract);
        let inconsistent = extract.memory.variables.iter().find_map(|var| var.contradiction);
        Self { events, options, extract, nets, inconsistent }
    }

    pub fn run(self) -> Confirmation {
        let mut facts = self.facts();
        let (verdict, stage) = match self.options.method {
            Method::Printed => self.printed(),
            Method::OwnRead => {
                self.own_read().unwrap_or_else(|| self.undecided(UndecidedReason::Method))
            }
            _ => self.own_read().unwrap_or_else(|| self.decide(&mut facts)),
        };
        Confirmation { verdict, stage, facts }
    }

    fn facts(&self) -> TraceFacts {
        let with_access = || self.extract.blocks.iter().filter(|block| block.accesses);
        TraceFacts {
            transactions: with_access().count(),
            blocks: with_access().filter(|block| block.label.is_some()).count(),
            open: self.extract.open,
            cuts: self.extract.cuts,
            ..TraceFacts::default()
        }
    }

    fn undecided(&self, why: UndecidedReason) -> Decision {
        let why = match self.inconsistent {
            Some(found) => UndecidedReason::Inconsistent(found),
            None => why,
        };
        (ValueVerdict::Undecided(why), Stage::Undecided)
    }

    fn own_read(&self) -> Option<Decision> {
        let torn = self.nets.torn.as_ref()?;
        let applies = !matches!(self.options.method, Method::Serialiser);
        applies.then(|| {
            (ValueVerdict::NotAtomic(reasons::own_read(&self.extract, torn)), Stage::OwnRead)
        })
    }

    fn printed(&self) -> Decision {
        match printed::find(self.events, &self.extract, self.options.budget) {
            printed::Printed::Holds(reason) => (ValueVerdict::NotAtomic(reason), Stage::Printed),
            printed::Printed::Fails => self.undecided(UndecidedReason::Method),
            printed::Printed::Spent(spent) => self.undecided(UndecidedReason::Budget { spent }),
        }
    }

    /// Whether a serial order may be claimed if one is found.
    fn may_be_atomic(&self) -> bool {
        self.inconsistent.is_none() && !self.nets.doubtful && self.nets.torn.is_none()
    }

    /// The stages after own-read.
    fn decide(&self, facts: &mut TraceFacts) -> Decision {
        let method = self.options.method;
        let counts = relevant(&self.extract, &self.nets, Reading::Strict);
        let tangle = Tangle::new(&self.extract, &counts);
        (facts.relevant, facts.variables) = self.relevance(&counts);
        let proves = matches!(method, Method::All | Method::Serialiser) && self.may_be_atomic();
        if proves && self.is_serial(&tangle.order) {
            return self.atomic(&tangle.order, Stage::Conflicts);
        }
        if method == Method::All && facts.relevant > LARGE {
            let tangled = |slot: Slot| tangle.tangled[slot.index()];
            if facts.variables > (0..counts.len()).filter(|&slot| tangled(Slot::new(slot))).count()
                && let Some(found) = self.refute_part(&counts, tangled)
            {
                return found;
            }
        }
        if facts.relevant > self.options.max_blocks {
            return self.undecided(UndecidedReason::TooLarge { blocks: facts.relevant });
        }
        match method {
            Method::Serialiser => self.serialise_alone(&tangle.order),
            Method::Exact => self.search_alone(&tangle.order),
            _ => self.all(&tangle.order),
        }
    }

    /// How many transactions and variables matter.
    fn relevance(&self, counts: &[bool]) -> (usize, usize) {
        let relevant = self.nets.nets.iter().filter(|net| counts[net.slot.index()]);
        let mut last = None;
        let blocks = relevant.filter(|net| last.replace(net.block) != Some(net.block)).count();
        (blocks, counts.iter().filter(|&&counts| counts).count())
    }

    /// Whether the order keeps what must be kept, and every read gets its value.
    fn is_serial(&self, order: &[BlockId]) -> bool {
        let mut place = vec![0_u32; order.len()];
        for (i, block) in order.iter().enumerate() {
            place[block.index()] = i as u32;
        }
        if self.extract.edges.iter().any(|(a, b)| place[a.index()] > place[b.index()]) {
            return false;
        }
        let memory = &self.extract.memory;
        let initial = memory.variables.iter().map(|variable| memory.resolve(variable.initial));
        let mut now: Vec<SymbolicValue> = initial.collect();
        let mut first = vec![u32::MAX; self.extract.blocks.len()];
        for (i, net) in self.nets.nets.iter().enumerate().rev() {
            first[net.block.index()] = i as u32;
        }
        order.iter().all(|&block| {
            let nets = self.nets.nets.get(first[block.index()] as usize..).unwrap_or(&[]);
            nets.iter().take_while(|net| net.block == block).all(|net| {
                let slot = net.slot.index();
                let right = net.ext.is_none_or(|(val, _)| val == now[slot]);
                now[slot] = net.fin.map_or(now[slot], |(val, _)| val);
                right
            })
        })
    }

    fn atomic(&self, order: &[BlockId], stage: Stage) -> Decision {
        let blocks = order.iter().map(|block| self.extract.blocks[block.index()]);
        let blocks = blocks.filter(|block| block.accesses).collect();
        (ValueVerdict::Atomic(SerialOrder { blocks }), stage)
    }

    fn atomic_nodes(&self, core: &Core, nodes: &[Node], stage: Stage) -> Decision {
        let chosen: Vec<BlockId> = nodes.iter().map(|node| core.blocks[node.index()]).collect();
        let all = complete(self.extract.blocks.len(), &self.extract.edges, &chosen);
        debug_assert!(self.is_serial(&all), "a serial order lets every read return what it did");
        self.atomic(&all, stage)
    }

    /// How unknown values are read for refuting.
    fn loose(&self) -> Reading {
        if self.nets.symbols { Reading::Loose } else { Reading::Strict }
    }

    /// Tries to refute by some of the variables that matter.
    fn refute_part(&self, counts: &[bool], part: impl Fn(Slot) -> bool) -> Option<Decision> {
        let both: Vec<bool> =
            counts.iter().enumerate().map(|(i, &counts)| counts && part(Slot::new(i))).collect();
        if self.relevance(&both).0 > self.options.max_blocks {
            return None;
        }
        let core = Core::new(&self.extract, &self.nets, self.loose(), |slot| both[slot.index()]);
        let mut known = Saturation::new(&core);
        let contradiction = known.saturate(&core).err()?;
        Some(self.not_atomic(&core, &known, &contradiction, Stage::Saturation))
    }

    fn not_atomic(
        &self,
        core: &Core,
        known: &Saturation,
        contradiction: &saturation::Contradiction,
        stage: Stage,
    ) -> Decision {
        let reason = reasons::reason(&self.extract, core, known, contradiction);
        (ValueVerdict::NotAtomic(reason), stage)
    }

    fn core(&self, reading: Reading, guess: &[BlockId]) -> Core {
        let mut core = Core::new(&self.extract, &self.nets, reading, |_| true);
        core.guess(guess);
        core
    }

    fn serialise_alone(&self, guess: &[BlockId]) -> Decision {
        if !self.may_be_atomic() {
            return self.undecided(UndecidedReason::Method);
        }
        let core = self.core(Reading::Strict, guess);
        match serialiser::serialise(&core, &core.order, self.options.budget) {
            Some(nodes) => self.atomic_nodes(&core, &nodes, Stage::Serialiser),
            None => self.undecided(UndecidedReason::Method),
        }
    }

    fn search_alone(&self, guess: &[BlockId]) -> Decision {
        let mut budget = self.options.budget;
        let spent = || self.undecided(UndecidedReason::Budget { spent: self.options.budget });
        if self.may_be_atomic() {
            let core = self.core(Reading::Strict, guess);
            match exact::search(&core, &core.order, &mut budget) {
                SearchResult::Found(nodes) => {
                    return self.atomic_nodes(&core, &nodes, Stage::Exact);
                }
                SearchResult::None(states) if !self.nets.symbols => {
                    return self.exhausted(&core, states);
                }
                SearchResult::None(_) => {}
                SearchResult::Spent => return spent(),
            }
        }
        let core = self.core(self.loose(), guess);
        match exact::search(&core, &core.order, &mut budget) {
            SearchResult::Found(_) => self.undecided(UndecidedReason::UnknownValues),
            SearchResult::None(states) => self.exhausted(&core, states),
            SearchResult::Spent => spent(),
        }
    }

    /// Saturation, serialiser, probing, search.
    fn all(&self, guess: &[BlockId]) -> Decision {
        let core = self.core(self.loose(), guess);
        let mut known = Saturation::new(&core);
        if let Err(contradiction) = known.saturate(&core) {
            return self.not_atomic(&core, &known, &contradiction, Stage::Saturation);
        }
        let proves = self.options.method == Method::All && self.may_be_atomic();
        let one_reading = !self.nets.symbols;
        let strict = (proves && !one_reading).then(|| self.strict(guess)).flatten();
        if proves && one_reading {
            if let Some(found) = self.serialise(&core, &known.order) {
                return found;
            }
        } else if let Some((strict, known)) = &strict
            && let Some(found) = self.serialise(strict, &known.order)
        {
            return found;
        }
        let mut budget = self.options.budget;
        if proves
            && one_reading
            && let Some(found) = self.search_a_little(&core, &known.order, &mut budget)
        {
            return found;
        }
        if let Probed::Contradiction(contradiction) = probe(&core, &mut known, &mut budget) {
            return self.not_atomic(&core, &known, &contradiction, Stage::Probing);
        }
        if self.options.method == Method::Saturation {
            return self.undecided(UndecidedReason::Method);
        }
        if proves && one_reading {
            return self.cases(&core, &known, &mut budget, true);
        }
        if let Some((strict, known)) = &strict {
            let found = self.cases(strict, known, &mut budget, false);
            if !matches!(found.0, ValueVerdict::Undecided(UndecidedReason::Method)) {
                return found;
            }
        }
        match cases::decide(&core, &known, &mut budget) {
            SearchResult::Found(_) => self.undecided(UndecidedReason::UnknownValues),
            SearchResult::None(states) => self.exhausted(&core, states),
            SearchResult::Spent => {
                self.undecided(UndecidedReason::Budget { spent: self.options.budget })
            }
        }
    }

    fn exhausted(&self, core: &Core, states: u64) -> Decision {
        (ValueVerdict::NotAtomic(reasons::exhausted(&self.extract, core, states)), Stage::Exact)
    }

    /// Decides by cases. That there is no serial order is an answer only if the core leaves nothing
    /// open (`decides`).
    fn cases(&self, core: &Core, known: &Saturation, budget: &mut u64, decides: bool) -> Decision {
        match cases::decide(core, known, budget) {
            SearchResult::Found(nodes) => self.atomic_nodes(core, &nodes, Stage::Exact),
            SearchResult::None(states) if decides => self.exhausted(core, states),
            SearchResult::None(_) => {
                (ValueVerdict::Undecided(UndecidedReason::Method), Stage::Undecided)
            }
            SearchResult::Spent => {
                self.undecided(UndecidedReason::Budget { spent: self.options.budget })
            }
        }
    }

    /// Searches a few states only: enough for small problems, and cheaper than probing them.
    fn search_a_little(&self, core: &Core, order: &Order, budget: &mut u64) -> Option<Decision> {
        let mut few = FEW.min(*budget);
        *budget -= few;
        let found = exact::search(core, order, &mut few);
        *budget += few;
        match found {
            SearchResult::Found(nodes) => Some(self.atomic_nodes(core, &nodes, Stage::Exact)),
            // Probing may find a better reason.
            SearchResult::None(_) | SearchResult::Spent => None,
        }
    }

    /// The problem in which unknown values equal themselves only, and what must hold in it; `None` if
    /// it has no serial order.
    fn strict(&self, guess: &[BlockId]) -> Option<(Core, Saturation)> {
        let core = self.core(Reading::Strict, guess);
        let mut known = Saturation::new(&core);
        known.saturate(&core).ok().map(|()| (core, known))
    }

    fn serialise(&self, core: &Core, order: &Order) -> Option<Decision> {
        let steps = GREEDY + 4 * core.nodes() as u64;
        let nodes = serialiser::serialise(core, order, steps)?;
        Some(self.atomic_nodes(core, &nodes, Stage::Serialiser))
    }
}
