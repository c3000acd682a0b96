//! How far an exploration goes, and what it looks for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use untorn_predict::Origin;
use untorn_predict::candidates::BlockScope;

use crate::compositions::Compositions;
use crate::loading::MAX_WHOLE;
use crate::strategy::Strategy;
use crate::target::{Identity, Key};
use untorn_schedule::{Inputs, PolicyKind, RunSpec};

/// How far to go.
#[derive(Clone, Debug)]
pub struct Options {
    pub time: Duration,
    pub runs: u32,
    /// Directed runs for one candidate.
    pub per_candidate: u32,
    /// The runs to start with.
    pub initial: Vec<RunSpec>,
    /// Undirected runs beside the initial ones; `None` for as many as may show something new.
    pub explore: Option<u32>,
    /// Of everything random.
    pub seed: u64,
    pub sources: BlockScope,
    /// Nobody looks at events of a run behind so many.
    pub max_events: u64,
    /// Of a run with more events only what threads share is looked at: nothing else can be torn. It takes less memory.
    pub max_whole: usize,
    pub strategy: Strategy,
    /// Blocks whose names match are left alone.
    pub not_atomic: Vec<String>,
    /// Candidates are looked for in this code only, if there are any patterns: of classes, or of methods with their classes.
    pub only_code: Vec<String>,
    /// Every method is said to be atomic. One that is refuted is not any more, so that those inside of it and
    /// around it are judged by themselves: Velodrome's way to evaluate.
    pub all_methods: bool,
    /// Calls that look meant to be one step.
    pub compositions: Arc<Compositions>,
    /// Nothing else is looked for.
    pub only: Option<Focus>,
    pub shard: Shard,
    /// Runs that may be made at once.
    pub jobs: usize,
    /// Triples of places are counted, and each is tried, even if its block is known to be torn: see
    /// [`Triples`](super::Triples).
    pub counts_triples: bool,
    /// Runs for one finding that look for a schedule with fewer preemptions.
    pub minimise: u32,
    /// Torn blocks direct runs and are no findings: whoever runs the program judges its results. It ends with the first
    /// run that fails or gets stuck.
    pub judged_by_results: bool,
    /// Inputs that all runs have.
    pub inputs: Inputs,
    /// Inputs are looked for that lead where no run came with these.
    pub searches_inputs: bool,
    /// What explorations of the same program with other inputs have found.
    pub earlier: EarlierExplorations,
}

/// What was there before an exploration began.
#[derive(Clone, Debug, Default)]
pub struct EarlierExplorations {
    pub(crate) runs: u32,
    /// The inputs of this exploration, if they are not the user's.
    pub(crate) inputs: Inputs,
    pub(crate) findings: u32,
    /// Violations that are not looked for again.
    pub(crate) known: BTreeSet<Identity>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            runs: u32::MAX,
            per_candidate: 4,
            initial: vec![
                RunSpec::policy(PolicyKind::RunToBlock, 0),
                RunSpec::policy(PolicyKind::Random, 1),
                RunSpec::policy(PolicyKind::PCT, 2),
            ],
            explore: None,
            seed: 0,
            sources: BlockScope::All,
            max_events: u64::MAX,
            max_whole: MAX_WHOLE,
            strategy: Strategy::Loop,
            not_atomic: Vec::new(),
            only_code: Vec::new(),
            all_methods: false,
            compositions: Arc::default(),
            only: None,
            shard: Shard::default(),
            jobs: 1,
            counts_triples: false,
            minimise: 12,
            judged_by_results: false,
            inputs: Inputs::none(),
            searches_inputs: false,
            earlier: EarlierExplorations::default(),
        }
    }
}

/// One violation: what is torn, and of what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Focus {
    /// The method that the block is, or is in; empty if any will do.
    pub method: String,
    /// The variable, or both; empty if any will do.
    pub field: String,
}

impl Focus {
    /// Whether a target is about the same. A block that was inferred may have been declared since: then any
    /// variable counts, if it is the same method.
    pub(crate) fn is(&self, key: &Key) -> bool {
        let is_field = self.field.is_empty() || key.field == self.field;
        match self.method.is_empty() {
            true => is_field,
            false => {
                let is_any = key.facts.is_library || key.origin == Origin::Declared;
                self.is_method(&key.method) && (is_field || is_any)
            }
        }
    }

    /// A method with a synchronized statement in it and the same method synchronized as a whole are
    /// the same to who mended it.
    pub(crate) fn is_method(&self, method: &str) -> bool {
        self.method == method
    }

    /// Whether it is about this variable, among others.
    pub(crate) fn is_variable(&self, member: &str) -> bool {
        self.field.split(" and ").any(|field| field == member)
    }
}

/// The part of the work that is done here: part `index`, from 0, of `count`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    pub index: u32,
    pub count: u32,
}

impl Default for Shard {
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

impl Shard {
    /// Whether a target is tried here. All that may be one finding are tried at the same place.
    pub(crate) fn has(self, key: &Key) -> bool {
        let (origin, block, field) = key.block_and_variable();
        let origin = if origin == Origin::Declared { "declared" } else { "inferred" };
        // FNV-1a: the same on every machine and in every version.
        let bytes = [origin, block, field].into_iter().flat_map(|text| text.bytes().chain([0]));
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        hash % u64::from(self.count.max(1)) == u64::from(self.index)
    }

    /// Whether the n-th of some runs is made here.
    pub(crate) fn has_nth(self, n: u32) -> bool {
        n % self.count.max(1) == self.index
    }
}
