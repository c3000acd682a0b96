//! How good the filters of `predict` are, measured on random programs, of which all interleavings are known:
//! for `./dev bench predict`, and for the tests below, which define how good they must be.

#[cfg(test)]
mod tests;

use untorn_predict::avfilter::{AvFilter, Reading};
use untorn_predict::lock_valid::{LockValid, LockValidAnswer};
use untorn_predict::simulation::{Knowledge, Simulation};
use untorn_predict::{At, Goal, History, HistoryIndex, Pattern};
use untorn_testkit::programs::{Explored, ProgramKnobs, Recording, random_program};
use untorn_testkit::reorderings::{ReorderingOracle, ReorderingRule, check_reordering};
use untorn_testkit::{Rng, abstraction, name_tables, show};
use untorn_trace::{EventIdx, VarId};

/// The filters, in the order of the table.
pub const NAMES: [&str; 7] = [
    "lock-valid",
    "AVFilter, printed",
    "AVFilter, best reading",
    "under-approximate (same source)",
    "same value (precise)",
    "simulation",
    "exhaustive in the same abstraction",
];

pub const SIMULATION: usize = 5;

/// The results of the predictions.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub predictions: u64,
    pub feasible: u64,
    /// By filter: kept though infeasible, kept and feasible, asked and feasible. The slow filters
    /// are asked about a part only.
    pub wrong: [u64; 7],
    pub kept: [u64; 7],
    pub asked: [u64; 7],
}

impl Tally {
    pub fn recall(&self, filter: usize) -> f64 {
        self.kept[filter] as f64 / self.asked[filter].max(1) as f64
    }
}

/// Random programs with at least `predictions` lock-valid predictions that did not happen as they
/// are. `slow` of 256 programs are shown to the filters that search, too.
pub fn measure(
    knobs: &ProgramKnobs,
    predictions: u64,
    seed: u64,
    slow: u32,
) -> Result<Tally, String> {
    let mut rng = Rng::new(seed);
    let mut tally = Tally::default();
    while tally.predictions < predictions {
        let program = random_program(knobs, &mut rng);
        let Some(explored) = Explored::new(&program, 4_000) else { continue };
        let recording = program.record(&mut rng);
        let search = rng.chance(slow);
        one(&recording, &explored, search, &mut tally)
            .map_err(|error| format!("{error}\n{}\n{program:?}", show(&recording.events)))?;
    }
    Ok(tally)
}

fn one(
    recording: &Recording,
    explored: &Explored,
    search: bool,
    tally: &mut Tally,
) -> Result<(), String> {
    let events = &recording.events;
    let tables = name_tables(events);
    let initial = |var: VarId| tables.var_facts(var).initial();
    let history = History::new(events.clone(), &tables).map_err(|error| error.to_string())?;
    let facts = HistoryIndex::new(&history);
    let knowledge = Knowledge { branches: true, ..Knowledge::default() };
    let mut simulation = Simulation::new(&facts, &knowledge);
    let filters = [Reading::Printed, Reading::Best].map(|reading| AvFilter::new(&facts, reading));
    let mut locks = LockValid::new(&facts);
    let mut oracle = None;
    for triple in predictions(&history) {
        let goal = Goal::new(&triple);
        let LockValidAnswer::Feasible(_) = locks.verdict(&goal) else { continue };
        let places = triple.map(|at| recording.places[at.index()]);
        let truth = explored.is_feasible(&places);
        tally.predictions += 1;
        tally.feasible += u64::from(truth);
        let indices = triple.map(EventIdx::from);
        let reordered = simulation.reordering(&goal);
        if let Some(reordered) = &reordered {
            let reordering: Vec<EventIdx> =
                reordered.reordering().steps.into_iter().map(Into::into).collect();
            check_reordering(events, &initial, &indices, &reordering, ReorderingRule::Lock)
                .map_err(|fault| format!("{triple:?}: {fault:?} in {reordering:?}"))?;
        }
        let mut note = |filter: usize, kept: bool| {
            tally.asked[filter] += u64::from(truth);
            tally.kept[filter] += u64::from(kept && truth);
            tally.wrong[filter] += u64::from(kept && !truth);
        };
        note(0, true);
        note(1, filters[0].keeps(&goal));
        note(2, filters[1].keeps(&goal));
        note(SIMULATION, reordered.is_some());
        if reordered.is_some() && !truth {
            return Err(format!("{triple:?} is kept by the simulation, but infeasible"));
        }
        if search {
            let oracle = oracle.get_or_insert_with(|| ReorderingOracle::new(events, &initial));
            note(3, oracle.exists_reordering(&indices, ReorderingRule::SameSource).is_some());
            note(4, oracle.exists_reordering(&indices, ReorderingRule::SameValue).is_some());
            note(6, abstraction::reaches(events, triple.map(At::index)));
        }
    }
    Ok(())
}

/// All unserializable triples of one variable whose middle event did not happen in the middle.
fn predictions(history: &History) -> Vec<[At; 3]> {
    let mut found = Vec::new();
    for i in history.all() {
        for k in history.all().skip(i.index() + 1) {
            if history.event(k).thread != history.event(i).thread {
                continue;
            }
            for j in history.all().filter(|&j| j < i || j > k) {
                let target = |at: At| history.event(at).op.target();
                let fits = history.event(j).thread != history.event(i).thread
                    && Pattern::of(history, i, j, k).is_some()
                    && target(i) == target(k)
                    && target(i) == target(j);
                if fits {
                    found.push([i, j, k]);
                }
            }
        }
    }
    found
}
