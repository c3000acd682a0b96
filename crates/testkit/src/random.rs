//! Random well-formed traces for differential tests.
//!
//! Every kind of event occurs. Each trace first draws a *profile*: how many threads, variables and
//! locks there are, how often threads are switched, how likely each kind of step is, and how
//! strictly a lock is taken before an access and kept until the block ends. Without that last one
//! nearly every longer trace would be a violation, and a checker that always answers "violation"
//! would look good.
//!
//! The same seed gives the same trace for ever; a test pins that down.

mod world;

use std::ops::RangeInclusive;

use untorn_trace::{Event, LabelId, Op, SiteId, Tables, Value, VarFacts};

use crate::rng::Rng;
use world::World;

/// Which kinds of events occur.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kinds {
    /// All that the model knows.
    #[default]
    All,
    /// Plain reads and writes without values, exclusive locks, fork, join, begin, end: what
    /// RAPID's text format can express.
    Core,
}

/// Between which bounds the size of a trace is drawn.
#[derive(Clone, Debug)]
pub struct Knobs {
    pub threads: RangeInclusive<u32>,
    pub vars: RangeInclusive<u32>,
    pub locks: RangeInclusive<u32>,
    /// Distinct labels of blocks; with 0 all blocks are unnamed.
    pub labels: RangeInclusive<u32>,
    /// Upper bound of the number of events; a trace in which all threads block is shorter.
    pub events: RangeInclusive<u32>,
    pub kinds: Kinds,
}

impl Knobs {
    /// Small enough for millions of traces, large enough for every trap known so far.
    pub fn small() -> Self {
        Self {
            threads: 1..=5,
            vars: 1..=4,
            locks: 0..=3,
            labels: 0..=4,
            events: 6..=36,
            kinds: Kinds::All,
        }
    }

    /// As [`Knobs::small`], but only what every format can express.
    pub fn core() -> Self {
        Self { kinds: Kinds::Core, ..Self::small() }
    }

    /// Few events and few values: every reordering can be tried.
    pub fn planning() -> Self {
        Self {
            threads: 2..=4,
            vars: 1..=3,
            locks: 0..=3,
            labels: 0..=2,
            events: 5..=16,
            kinds: Kinds::All,
        }
    }

    /// A few hundred events: long enough for collected and reused state to matter.
    pub fn medium() -> Self {
        Self {
            threads: 2..=8,
            vars: 2..=24,
            locks: 0..=8,
            labels: 0..=8,
            events: 60..=400,
            kinds: Kinds::All,
        }
    }

    /// Up to 128 threads: more than one machine word of them.
    pub fn wide() -> Self {
        Self {
            threads: 60..=128,
            vars: 40..=800,
            locks: 1..=40,
            labels: 0..=20,
            events: 400..=1500,
            kinds: Kinds::All,
        }
    }
}

/// Generates traces; keeps its buffers from one to the next.
#[derive(Debug)]
pub struct TraceGen {
    knobs: Knobs,
    world: World,
}

impl TraceGen {
    pub fn new(knobs: Knobs) -> Self {
        Self { knobs, world: World::default() }
    }

    /// The trace of a seed.
    pub fn generate(&mut self, seed: u64) -> &[Event] {
        let mut rng = Rng::new(seed);
        let profile = Profile::draw(&self.knobs, &mut rng);
        self.world.run(&profile, &mut rng)
    }
}

/// How likely each kind of step is, in proportion to the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Access,
    Begin,
    End,
    Acquire,
    Release,
    Wait,
    Notify,
    Fork,
    Join,
    Other,
}

const STEPS: [Step; 10] = [
    Step::Access,
    Step::Begin,
    Step::End,
    Step::Acquire,
    Step::Release,
    Step::Wait,
    Step::Notify,
    Step::Fork,
    Step::Join,
    Step::Other,
];

/// The character of one trace. Shares are of 256.
#[derive(Debug)]
struct Profile {
    threads: u32,
    vars: u32,
    locks: u32,
    labels: u32,
    events: u32,
    kinds: Kinds,
    /// `until[i]`: a number below it, and not below its predecessor, means step `i`.
    until: [u32; STEPS.len()],
    /// To continue with the same thread.
    stay: u32,
    /// Of the accesses, to be a write.
    writes: u32,
    /// To take the variable's lock before an access, and to keep locks until the block ends.
    discipline: u32,
    /// Of the threads but the first, to need a fork before they can run.
    forked: u32,
    /// Of the locks taken, to be taken shared.
    shared: u32,
    /// Of the acquires, to be announced by a request.
    requests: u32,
    /// Of the values, to be recorded.
    known: u32,
    /// How many of the variables are volatile.
    volatile: u32,
    /// Of the ends, those without the label of their block.
    bare_ends: u32,
    /// Distinct places in the source; 0 for unknown places.
    sites: u32,
}

impl Profile {
    fn draw(knobs: &Knobs, rng: &mut Rng) -> Self {
        let within = |rng: &mut Rng, r: &RangeInclusive<u32>| rng.between(*r.start(), *r.end());
        let all = knobs.kinds == Kinds::All;
        let rarely =
            |rng: &mut Rng, most: u32| if rng.chance(96) { rng.below(most + 1) } else { 0 };
        let weights = [
            rng.between(6, 20),                   // Access
            rng.between(2, 9),                    // Begin
            rng.between(1, 3),                    // End
            rng.below(4),                         // Acquire
            rng.between(1, 6),                    // Release
            if all { rarely(rng, 3) } else { 0 }, // Wait
            if all { rarely(rng, 1) } else { 0 }, // Notify
            rng.between(1, 5),                    // Fork
            rng.below(2),                         // Join
            if all { rarely(rng, 4) } else { 0 }, // Other
        ];
        // The longer a trace, the surer one careless step makes it a violation.
        let events = within(rng, &knobs.events);
        let calm = if events < 50 { 40 } else { 128 };
        let mut sum = 0;
        let until = weights.map(|weight| {
            sum += weight;
            sum
        });
        let vars = within(rng, &knobs.vars);
        // A lonely thread is always serializable: few such traces are enough.
        let threads = within(rng, &knobs.threads).max(1);
        let threads = if threads == 1 { within(rng, &knobs.threads).max(1) } else { threads };
        Self {
            threads,
            vars: vars.max(1),
            locks: within(rng, &knobs.locks),
            labels: within(rng, &knobs.labels),
            events,
            kinds: knobs.kinds,
            until,
            stay: rng.pick(&[0, 60, 128, 200]),
            writes: rng.pick(&[30, 90, 128, 200]),
            discipline: if rng.chance(calm) { 256 } else { rng.pick(&[0, 0, 128]) },
            forked: rng.pick(&[0, 0, 80, 200]),
            shared: if all { rng.pick(&[0, 0, 80, 160]) } else { 0 },
            requests: if all { rng.pick(&[0, 0, 0, 200]) } else { 0 },
            known: if all { rng.pick(&[0, 256, 200]) } else { 0 },
            volatile: if all { rng.pick(&[0, 0, 1, 2]).min(vars) } else { 0 },
            bare_ends: rng.pick(&[0, 0, 128, 256]),
            sites: rng.pick(&[0, 3, 12]),
        }
    }

    fn step(&self, rng: &mut Rng) -> Step {
        let number = rng.below(self.until[STEPS.len() - 1]);
        STEPS[self.until.iter().position(|&end| number < end).unwrap_or(0)]
    }
}

/// Tables that name every id of the events: T0, x0, L0, B0 and places 0, 1, … All variables start
/// as 0, as they do in random traces.
pub fn name_tables(events: &[Event]) -> Tables {
    let mut counts = [0_u32; 5]; // threads, variables, locks, labels, sites
    let mut see = |kind: usize, id: u32| counts[kind] = counts[kind].max(id + 1);
    for event in events {
        see(0, event.thread.0);
        if event.site != SiteId::NONE {
            see(4, event.site.0);
        }
        match event.op {
            Op::Read { var, .. } | Op::Write { var, .. } => see(1, var.0),
            Op::Acquire { lock, .. }
            | Op::Release { lock, .. }
            | Op::Request { lock }
            | Op::Wait { lock }
            | Op::Resume { lock }
            | Op::Notify { lock, .. } => see(2, lock.0),
            Op::Fork { child } | Op::Join { child } => see(0, child.0),
            Op::Begin { label, .. }
            | Op::End { label }
            | Op::Call { method: label, .. }
            | Op::Return { method: label, .. }
            | Op::Argument { method: label, .. }
            | Op::Input { source: label, .. } => {
                if label != LabelId::NONE {
                    see(3, label.0);
                }
            }
            Op::Branch { .. } | Op::Allocate { .. } | Op::Deallocate { .. } => {}
        }
    }
    let mut tables = Tables::default();
    (0..counts[0]).for_each(|i| _ = tables.threads.push(&format!("T{i}")));
    for i in 0..counts[1] {
        let var = tables.vars.push(&format!("x{i}"));
        let initial = Some(Value::int(0));
        tables.set_var_facts(var, VarFacts::default().with_initial(initial));
    }
    (0..counts[2]).for_each(|i| _ = tables.locks.push(&format!("L{i}")));
    (0..counts[3]).for_each(|i| _ = tables.labels.push(&format!("B{i}")));
    (0..counts[4]).for_each(|i| _ = tables.sites.intern_loc(&i.to_string()));
    tables
}

#[cfg(test)]
mod tests;
