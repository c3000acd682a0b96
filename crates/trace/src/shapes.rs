//! Large synthetic traces, streamed: for `untorn trace generate`, benchmarks and soak tests.
//!
//! Every shape is serializable *by construction* while its transactions overlap heavily; a cycle
//! is put in on demand, late in the trace, where a checker that forgets too much misses it.
//!
//! All shapes but `pipe` run a small made-up program under strict two-phase locking: a block takes
//! the locks of the objects it touches in ascending order (so there are no deadlocks) and takes none
//! after it gave one back. Order the transactions by the moment at which they hold all their locks:
//! two conflicting ones meet at a lock, the earlier gave it back after its own moment, the later
//! took it before its own. So every edge leads forward in that order, and there is no cycle.
//! `hold` adds a block that only gives and never takes; `pipe` has an order of its own.
//!
//! Memory does not depend on the number of events.

mod machine;
mod pipe;
mod program;
mod rng;

use std::fmt;
use std::str::FromStr;

use crate::{
    BATCH, Event, LabelId, Notes, Op, SiteId, Source, Tables, ThreadId, TraceError, VarId,
};

use machine::Machine;
use pipe::Pipe;
pub use rng::Rng;

/// The shape of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// A realistic mixture: long, short and nested blocks, shared, read-shared and local variables.
    Mix,
    /// Blocks of one to three accesses.
    Small,
    /// Blocks of about two hundred accesses.
    Large,
    /// Almost all accesses are to variables of the own thread.
    Local,
    /// As `mix`, with a first thread whose one block lasts for the whole trace and on which every
    /// other transaction depends.
    Hold,
    /// A million variables, most of them touched a few times.
    ManyVars,
    /// A rotating pipeline: every transaction reads what the still open ones before it wrote.
    Pipe,
}

impl Shape {
    pub const ALL: [Self; 7] =
        [Self::Mix, Self::Small, Self::Large, Self::Local, Self::Hold, Self::ManyVars, Self::Pipe];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Mix => "mix",
            Self::Small => "small",
            Self::Large => "large",
            Self::Local => "local",
            Self::Hold => "hold",
            Self::ManyVars => "manyvars",
            Self::Pipe => "pipe",
        }
    }

    /// The default number of threads of the shape.
    pub const fn default_threads(self) -> u32 {
        if matches!(self, Self::Pipe) { 64 } else { 8 }
    }
}

impl FromStr for Shape {
    type Err = ShapeError;

    fn from_str(name: &str) -> Result<Self, ShapeError> {
        Self::ALL.into_iter().find(|s| s.name() == name).ok_or(ShapeError::UnknownShape)
    }
}

/// Whether a cycle is put in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tear {
    /// The trace is serializable.
    #[default]
    Never,
    /// A lost update after 95 % of the events.
    Late,
    /// A lost update at this position, or a few events later.
    At(u64),
}

/// Everything a large trace depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShapeSpec {
    pub shape: Shape,
    pub threads: u32,
    pub events: u64,
    pub seed: u64,
    pub tear: Tear,
}

impl ShapeSpec {
    /// A serializable trace with the shape's own number of threads, from seed 0.
    pub const fn new(shape: Shape, events: u64) -> Self {
        Self { shape, threads: shape.default_threads(), events, seed: 0, tear: Tear::Never }
    }
}

/// Why a trace cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShapeError {
    UnknownShape,
    NoThreads,
    TooManyThreads,
    /// One thread alone is always serializable.
    LonelyTear,
    /// There is no room for the cycle before the trace ends.
    TooShort {
        needed: u64,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownShape => {
                let names = Shape::ALL.map(Shape::name).join(", ");
                write!(f, "unknown shape; there are {names}")
            }
            Self::NoThreads => f.write_str("a trace needs a thread"),
            Self::TooManyThreads => write!(f, "more than {MAX_THREADS} threads"),
            Self::LonelyTear => f.write_str("a violation needs two threads"),
            Self::TooShort { needed } => {
                write!(f, "a violation at this place needs a trace of {needed} events")
            }
        }
    }
}

impl std::error::Error for ShapeError {}

const MAX_THREADS: u32 = 1 << 16;

/// Room kept after the tear: its own events, and those of one step of the engine before it.
pub const TEAR_ROOM: u64 = 32;

/// Where the events of a shape come from.
#[derive(Debug)]
enum Engine {
    Machine(Box<Machine>),
    Pipe(Pipe),
}

/// A large synthetic trace.
#[derive(Debug)]
pub struct ShapeSource {
    engine: Engine,
    tables: Tables,
    notes: Notes,
    /// Made but not yet handed out: `ready[taken..]`.
    ready: Vec<Event>,
    taken: usize,
    /// Events still to be made.
    left: u64,
    /// Position of the next event to be made.
    position: u64,
    tear: Option<u64>,
    torn: TornPair,
}

impl ShapeSource {
    pub fn new(spec: ShapeSpec) -> Result<Self, ShapeError> {
        if spec.threads == 0 {
            return Err(ShapeError::NoThreads);
        }
        if spec.threads > MAX_THREADS {
            return Err(ShapeError::TooManyThreads);
        }
        let mut tables = Tables::default();
        (0..spec.threads).for_each(|i| _ = tables.threads.push(&format!("T{i}")));
        let mut ready = Vec::with_capacity(2 * BATCH);
        let engine = match spec.shape {
            Shape::Pipe => Engine::Pipe(Pipe::new(&spec, &mut tables, &mut ready)),
            _ => Engine::Machine(Box::new(Machine::new(&spec, &mut tables, &mut ready))),
        };
        let torn = TornPair::new(&spec, &mut tables);
        let tear = tear_position(&spec, ready.len() as u64)?;
        tables.meta.seed = Some(spec.seed);
        tables.meta.front_end = "generate".to_owned();
        let position = ready.len() as u64;
        ready.truncate(usize::try_from(spec.events).unwrap_or(usize::MAX));
        Ok(Self {
            engine,
            tables,
            notes: Notes::default(),
            left: spec.events.saturating_sub(position),
            ready,
            taken: 0,
            position,
            tear,
            torn,
        })
    }

    /// Makes the next events; leaves `ready` used up only at the end of the trace.
    fn refill(&mut self) {
        self.ready.clear();
        self.taken = 0;
        while self.left > 0 && self.ready.len() < BATCH {
            let before = self.ready.len();
            if self.tear.is_some_and(|at| self.position >= at) {
                self.tear = None;
                let inside = match &self.engine {
                    Engine::Machine(machine) => machine.is_inside(self.torn.first),
                    Engine::Pipe(pipe) => pipe.is_inside(self.torn.first),
                };
                self.torn.emit(inside, &mut self.ready);
            } else {
                match &mut self.engine {
                    Engine::Machine(machine) => machine.step(&mut self.ready),
                    Engine::Pipe(pipe) => pipe.step(&mut self.ready),
                }
            }
            if (self.ready.len() - before) as u64 > self.left {
                self.ready.truncate(before + self.left as usize);
            }
            let made = (self.ready.len() - before) as u64;
            self.position += made;
            self.left -= made;
        }
    }
}

impl Source for ShapeSource {
    fn read(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        batch.clear();
        if self.taken == self.ready.len() {
            self.refill();
        }
        let end = self.ready.len().min(self.taken + BATCH);
        batch.extend_from_slice(&self.ready[self.taken..end]);
        self.taken = end;
        Ok(())
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn notes(&self) -> &Notes {
        &self.notes
    }
}

impl Iterator for ShapeSource {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if self.taken == self.ready.len() {
            self.refill();
        }
        let event = *self.ready.get(self.taken)?;
        self.taken += 1;
        Some(event)
    }
}

fn tear_position(spec: &ShapeSpec, prologue: u64) -> Result<Option<u64>, ShapeError> {
    let at = match spec.tear {
        Tear::Never => return Ok(None),
        Tear::Late => spec.events - spec.events / 20,
        Tear::At(position) => position,
    };
    if spec.threads < 2 {
        return Err(ShapeError::LonelyTear);
    }
    // The last five percent of a tiny trace are less than the cycle takes.
    let at = match spec.tear {
        Tear::Late => at.min(spec.events.saturating_sub(TEAR_ROOM)),
        _ => at,
    };
    let needed = at.max(prologue).saturating_add(TEAR_ROOM);
    if needed > spec.events { Err(ShapeError::TooShort { needed }) } else { Ok(Some(at)) }
}

/// The lost update: two threads read a variable of their own, both write it.
#[derive(Debug)]
struct TornPair {
    first: ThreadId,
    second: ThreadId,
    var: VarId,
    label: LabelId,
    sites: [SiteId; 4],
}

impl TornPair {
    fn new(spec: &ShapeSpec, tables: &mut Tables) -> Self {
        let var = tables.vars.push(&format!("V{}", tables.vars.len()));
        let label = tables.labels.intern("Shop.count");
        let sites = ["900", "901", "902", "903"].map(|place| tables.sites.intern_loc(place));
        let last = spec.threads - 1;
        let second = ThreadId(last.saturating_sub(1));
        Self { first: ThreadId(last), second, var, label, sites }
    }

    /// `inside`: the first thread is in a block already.
    fn emit(&self, inside: bool, out: &mut Vec<Event>) {
        let [begin, read, write, end] = self.sites;
        if !inside {
            out.push(Event::new(self.first, Op::begin(self.label), begin));
        }
        out.push(Event::new(self.first, Op::read(self.var), read));
        out.push(Event::new(self.second, Op::read(self.var), read));
        out.push(Event::new(self.second, Op::write(self.var), write));
        out.push(Event::new(self.first, Op::write(self.var), write));
        if !inside {
            out.push(Event::new(self.first, Op::End { label: self.label }, end));
        }
    }
}
