//! The projection of a run to what is shared: candidates, verdicts and reorderings are those of the whole run.

use crate::common::{STRENGTHS, goals};
use untorn_predict::candidates::{self, BlockScope, Candidates, Limits, Objects};
use untorn_predict::closure::{Closure, ClosureAnswer};
use untorn_predict::lock_valid::{LockValid, LockValidAnswer};
use untorn_predict::precise::{Decision, Precise};
use untorn_predict::projection::{Projector, Sharing, Steering};
use untorn_predict::sat::Budget;
use untorn_predict::simulation::{Knowledge, Simulation};
use untorn_predict::{At, Goal, History, HistoryIndex, Lifted, Outline};
use untorn_testkit::{Knobs, ReorderingOracle, Rng, check_reordering, for_random_traces, show};
use untorn_testkit::{ReorderingRule, name_tables};
use untorn_trace::{Event, EventIdx, LabelId, Op, Tables, ThreadId, Value, VarId};

/// Which variables a thread alone uses, or nobody writes; calls around them; branches; values that fit.
fn enriched(events: &[Event], rng: &mut Rng) -> Vec<Event> {
    let local: u32 = rng.below(16);
    let read_only: u32 = rng.below(8);
    let mut all = Vec::new();
    let mut calls = [0_u32; 256];
    for event in events {
        let mut event = *event;
        let renamed = |var: VarId| match local >> (var.0 % 4) & 1 {
            1 => VarId(10 + var.0 % 4 + 4 * event.thread.0),
            _ => var,
        };
        match &mut event.op {
            Op::Read { var, .. } => *var = renamed(*var),
            Op::Write { var, known, access, value } if read_only >> (var.0 % 3) & 1 == 1 => {
                event.op = Op::Read {
                    var: VarId(4 + var.0 % 3),
                    known: *known,
                    access: *access,
                    value: *value,
                };
            }
            Op::Write { var, .. } => *var = renamed(*var),
            _ => {}
        }
        let own = |op: Op| Event { op, ..event };
        let open = &mut calls[event.thread.index() % 256];
        let is_half = |e: Option<&Event>| {
            e.is_some_and(|e| matches!(e.op, Op::Read { access: untorn_trace::Access::Update, .. }))
        };
        if !is_half(all.last()) {
            match rng.below(8) {
                0 => all.push(own(Op::Branch { count: rng.below(3) })),
                1 => {
                    *open += 1;
                    let method = LabelId(rng.below(2));
                    all.push(own(Op::Call { method, known: false, value: Value(0) }));
                }
                2 if *open > 0 || rng.below(4) == 0 => {
                    *open = open.saturating_sub(1);
                    let (method, outcome) = (LabelId(0), untorn_trace::CallOutcome::Returned);
                    all.push(own(Op::Return { method, outcome, known: false, value: Value(0) }));
                }
                _ => {}
            }
        }
        all.push(event);
    }
    // Most reads return what was written.
    let mut memory = std::collections::HashMap::new();
    for event in &mut all {
        match &mut event.op {
            Op::Read { var, value, known, .. } if *known && rng.below(30) > 0 => {
                *value = memory.get(var).copied().unwrap_or(Value(0));
            }
            Op::Write { var, value, known, .. } => {
                *known = true;
                memory.insert(*var, *value);
            }
            _ => {}
        }
    }
    all
}

struct Sides<'a> {
    events: &'a [Event],
    whole: &'a History,
    part: &'a History,
    knowledge: Knowledge,
}

fn zero(_: VarId) -> Option<Value> {
    Some(Value(0))
}

fn projection(events: &[Event], tables: &Tables, knowledge: &Knowledge) -> History {
    let mut sharing = Sharing::default();
    events.chunks(7).for_each(|part| sharing.add(part));
    let is = |list: &[bool], var: VarId| list.get(var.index()).copied().unwrap_or(false);
    let (steers, elements) = (|var| is(&knowledge.steers, var), |var| is(&knowledge.elements, var));
    let steering = Steering { steers: &steers, elements: &elements };
    let mut projector = Projector::new(&sharing, steering);
    events.chunks(5).for_each(|part| projector.add(part));
    let projected = projector.finish().expect("a short trace");
    History::of_projection(projected, tables).expect("a short trace")
}

impl Sides<'_> {
    fn in_whole(&self, goal: &Goal) -> Goal {
        let events: Vec<At> = goal.events.iter().map(|&at| At(self.part.position(at))).collect();
        Goal::new(&events)
    }

    /// A simulated thread that stops between the halves of an update lets nobody else go on. If the update is left out,
    /// the thread stops before it, and others do.
    fn leaves_out_updates(&self) -> bool {
        let updates = |history: &History| {
            let is_update = |event: &&Event| {
                matches!(event.op, Op::Read { access: untorn_trace::Access::Update, .. })
            };
            history.events().iter().filter(is_update).count()
        };
        updates(self.whole) > updates(self.part)
    }

    /// A reordering of the part, lifted, against the definition.
    fn lifts(&self, goal: &Goal, outline: &Outline, rule: ReorderingRule) -> Result<(), String> {
        let Lifted { kept, then } = self.part.lift(outline);
        let steps: Vec<EventIdx> = (0..kept)
            .chain(then.iter().cloned().flatten())
            .map(|at| EventIdx(u64::from(at)))
            .collect();
        if then.first().is_some_and(|first| first.start == kept) {
            return Err(format!("more is kept than {kept}: {then:?}"));
        }
        let wanted: Vec<EventIdx> =
            self.in_whole(goal).events.iter().map(|&at| at.into()).collect();
        check_reordering(self.events, &zero, &wanted, &steps, rule)
            .map_err(|fault| format!("{rule:?}: {fault:?} for {wanted:?} in {steps:?}"))
    }
}

/// Candidates with positions of the run.
fn told(history: &History, found: &Candidates) -> String {
    let goals = |goals: &[Goal]| -> Vec<Vec<u32>> {
        let of = |goal: &Goal| goal.events.iter().map(|&at| history.position(at)).collect();
        goals.iter().map(of).collect()
    };
    let begin = |block| history.position(history.block(block).begin);
    let mut text = format!(
        "{} {} {} {} {:?}\n",
        found.guarded, found.ordered, found.left_out, found.unseen_vars, found.skipped_pairs
    );
    for one in &found.candidates {
        text += &format!(
            "{:?} {:?} {:?} {} {:?} {} {} {} {:?}\n",
            one.points,
            one.pattern,
            one.origin,
            begin(one.block),
            one.var,
            one.is_seen,
            one.is_dependent,
            one.instances,
            goals(&one.goals)
        );
    }
    for pair in &found.pairs {
        text += &format!(
            "{:?} {:?} {} {} {} {:?} {} {} {:?} {} {:?}\n",
            pair.points,
            pair.writes,
            pair.same_order,
            pair.is_one_object,
            pair.is_seen,
            pair.origin,
            begin(pair.block),
            begin(pair.other),
            pair.vars,
            pair.instances,
            goals(&pair.goals)
        );
    }
    text
}

#[derive(Default, Debug)]
struct Tally {
    left_out: u64,
    candidates: u64,
    feasible: u64,
    simulated: u64,
    refuted: u64,
    /// Decided only without what is left out.
    more: u64,
}

fn find(facts: &HistoryIndex<'_>) -> Candidates {
    let owners = (0..400).map(|var| Some(var % 3)).collect();
    candidates::find_in(facts, BlockScope::All, Limits::default(), &Objects::new(owners))
}

fn check(events: &[Event], rng: &mut Rng, tally: &mut Tally, small: bool) -> Result<(), String> {
    if events.is_empty() {
        return Ok(());
    }
    let events = enriched(events, rng);
    let tables = name_tables(&events);
    let whole = History::new(events.clone(), &tables).map_err(|error| error.to_string())?;
    let mut list = || (0..400).map(|_| rng.below(3) == 0).collect::<Vec<bool>>();
    let (steers, elements) = (list(), list());
    let knowledge = Knowledge { steers, elements, ..Knowledge::of(&whole) };
    let part = projection(&events, &tables, &knowledge);
    let sides = Sides { events: &events, whole: &whole, part: &part, knowledge };
    tally.left_out += (whole.len() - part.len()) as u64;
    compare(&sides, rng, tally, small)
        .map_err(|error| format!("{error}\n{}\n{}", show(&events), show(part.events())))
}

fn compare(sides: &Sides<'_>, rng: &mut Rng, tally: &mut Tally, small: bool) -> Result<(), String> {
    let (whole, part) = (sides.whole, sides.part);
    if part.whole_len() != whole.len() || Knowledge::of(part).branches != sides.knowledge.branches {
        return Err("another length, or branches".to_owned());
    }
    let facts = [HistoryIndex::new(whole), HistoryIndex::new(part)];
    let found = facts.each_ref().map(find);
    let texts = [told(whole, &found[0]), told(part, &found[1])];
    if texts[0] != texts[1] {
        let [before, after] = texts.each_ref().map(|text| text.lines().collect::<Vec<_>>());
        let lost: Vec<_> = before.iter().filter(|line| !after.contains(line)).collect();
        let new: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
        return Err(format!("candidates: {lost:#?} became {new:#?}"));
    }
    tally.candidates += (found[1].candidates.len() + found[1].pairs.len()) as u64;
    let of_ones = found[1].candidates.iter().flat_map(|one| &one.goals);
    let of_pairs = found[1].pairs.iter().flat_map(|pair| &pair.goals);
    let mut all: Vec<Goal> = of_ones.chain(of_pairs).take(12).cloned().collect();
    // No engine is asked about an event twice, or about one that only stands for something.
    let is_proper = |goal: &Goal| {
        let events = &goal.events;
        (0..events.len()).all(|place| {
            let at = events[place];
            part.event(at).op != Op::HIDDEN && !events[..place].contains(&at)
        })
    };
    all.extend(goals(part, rng, 3).into_iter().filter(is_proper));
    locks(sides, &facts, &all, tally)?;
    simulation(sides, &facts, &all, tally)?;
    values(sides, &all, tally, small)
}

fn locks(
    sides: &Sides<'_>,
    facts: &[HistoryIndex<'_>; 2],
    all: &[Goal],
    tally: &mut Tally,
) -> Result<(), String> {
    let mut engines = facts.each_ref().map(LockValid::new);
    for goal in all {
        let of_whole = engines[0].verdict(&sides.in_whole(goal));
        let of_part = engines[1].verdict(goal);
        match (&of_whole, &of_part) {
            (LockValidAnswer::Feasible(_), LockValidAnswer::Feasible(suffix)) => {
                sides.lifts(goal, &suffix.outline(sides.part), ReorderingRule::Lock)?;
            }
            (LockValidAnswer::Infeasible, LockValidAnswer::Infeasible) => tally.refuted += 1,
            (LockValidAnswer::Undecided(_), _) => tally.more += 1,
            _ => return Err(format!("locks: {goal:?}: {of_whole:?} became {of_part:?}")),
        }
    }
    Ok(())
}

fn simulation(
    sides: &Sides<'_>,
    facts: &[HistoryIndex<'_>; 2],
    all: &[Goal],
    tally: &mut Tally,
) -> Result<(), String> {
    let [mut of_whole, mut of_part] =
        facts.each_ref().map(|facts| Simulation::new(facts, &sides.knowledge));
    for goal in all {
        let (whole, part) = (of_whole.reordering(&sides.in_whole(goal)), of_part.reordering(goal));
        let is_more = whole.is_none() && part.is_some() && sides.leaves_out_updates();
        tally.more += u64::from(is_more);
        if whole.is_some() != part.is_some() && !is_more {
            return Err(format!("simulation: {goal:?}: {whole:?} became {part:?}"));
        }
        if let Some(suffix) = part {
            sides.lifts(goal, &suffix.outline(sides.part), ReorderingRule::Lock)?;
            tally.simulated += 1;
        }
    }
    Ok(())
}

fn values(sides: &Sides<'_>, all: &[Goal], tally: &mut Tally, small: bool) -> Result<(), String> {
    let oracle = small.then(|| ReorderingOracle::new(sides.events, &zero));
    for (strength, rule) in STRENGTHS {
        let closures = [sides.whole, sides.part].map(|history| Closure::new(history, strength));
        let mut precise = [sides.whole, sides.part]
            .map(|history| Precise::new(history, strength, Budget::default()));
        for goal in all {
            let wanted = sides.in_whole(goal);
            let verdict = closures[1].verdict(goal);
            match (closures[0].verdict(&wanted), &verdict) {
                (ClosureAnswer::Feasible(_), ClosureAnswer::Feasible(_))
                | (ClosureAnswer::Infeasible, ClosureAnswer::Infeasible)
                | (ClosureAnswer::Unknown, _) => {}
                (before, after) => {
                    return Err(format!(
                        "closure, {rule:?}: {goal:?}: {before:?} became {after:?}"
                    ));
                }
            }
            if let ClosureAnswer::Feasible(outline) = &verdict {
                sides.lifts(goal, outline, rule)?;
            }
            let decision = precise[1].judge(goal);
            match (precise[0].judge(&wanted), &decision) {
                (Decision::Feasible(_), Decision::Feasible(_))
                | (Decision::Infeasible, Decision::Infeasible) => {}
                (Decision::Undecided(_), _) => tally.more += 1,
                (before, after) => {
                    return Err(format!("{rule:?}: {goal:?}: {before:?} became {after:?}"));
                }
            }
            let is_feasible = matches!(decision, Decision::Feasible(_));
            tally.feasible += u64::from(is_feasible);
            if let Decision::Feasible(outline) = &decision {
                sides.lifts(goal, outline, rule)?;
            }
            if let Some(oracle) = &oracle {
                let events: Vec<EventIdx> = wanted.events.iter().map(|&at| at.into()).collect();
                if oracle.exists_reordering(&events, rule).is_some() != is_feasible {
                    return Err(format!("{rule:?}: {goal:?}: the search says otherwise"));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn candidates_verdicts_and_reorderings_are_those_of_the_whole_run() {
    let mut tally = Tally::default();
    let mut rng = Rng::new(1);
    let seeds = untorn_testkit::cases(4_000, 300_000);
    for_random_traces(&Knobs::planning(), 0..seeds, |events| {
        check(events, &mut rng, &mut tally, true)
    });
    for_random_traces(&Knobs::small(), 0..seeds, |events| {
        check(events, &mut rng, &mut tally, false)
    });
    for_random_traces(&Knobs::medium(), 0..seeds / 40, |events| {
        check(events, &mut rng, &mut tally, false)
    });
    let Tally { left_out, candidates, feasible, simulated, refuted, .. } = tally;
    let enough = [left_out, candidates, feasible, simulated, refuted];
    assert!(enough.into_iter().all(|count| count > 1_000), "{tally:?}");
}

/// Nothing but what one thread does is left out, and each thread keeps its beginning and its end.
#[test]
fn what_is_kept() {
    let mut rng = Rng::new(7);
    for_random_traces(&Knobs::small(), 0..2_000, |events| {
        let events = enriched(events, &mut rng);
        let part = projection(&events, &name_tables(&events), &Knowledge::default());
        let positions: Vec<u32> = part.all().map(|at| part.position(at)).collect();
        if !positions.is_sorted_by(|one, other| one < other) {
            return Err(format!("{positions:?}"));
        }
        for thread in (0..part.thread_count() as u32).map(ThreadId) {
            let own = (0..events.len()).filter(|&index| events[index].thread == thread);
            let own: Vec<u32> = own.map(|index| index as u32).collect();
            let kept: Vec<u32> =
                part.of_thread(thread).iter().map(|&at| part.position(at)).collect();
            if kept.first() != own.first() || kept.last() != own.last() {
                return Err(format!("{thread:?}: {kept:?} of {own:?}"));
            }
        }
        Ok(())
    });
}
