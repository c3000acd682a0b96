//! Is a visible effect due to the interruption? Undo it, and see.
//!
//! **Idea:** Lewis, *Causation*, Journal of Philosophy 70(17), 1973: an effect is due to what it would not be without. The
//! run is made again, the same up to where the block begins, and then the block runs as a whole: once before the other
//! thread, once after it. The rest is as free as it was.
//!
//! **What we changed, and why.** A run by a policy has an order of its own behind the interruption. So it is first made
//! again by a plan that says no more than the two others say: only what shows there can be compared. A run by a plan is
//! repeated, too: a line that is another one each time, as one with the number of the process is, tells nothing.
//!
//! **Promise:** an effect that is attributed showed in two runs with the interruption, and in none of the runs without
//! it, at least one. A run counts as one without it only if its trace has no instance of the violation, nor of another
//! candidate about its variables, whatever the plan wanted.

use untorn_frontend::{ExitKind, RunResult};
use untorn_schedule::Plan;

use super::Exploration;
use crate::effects::Effect;
use crate::instance::{Accesses, Instance};
use crate::judge::Judgement;
use crate::run::Run;
use crate::steer::{self, UndoScope};
use crate::target::Key;

/// Violations of one run whose interruptions are undone. Each takes two runs or three.
pub(super) const MAX_UNDONE: u32 = 6;

/// So often the effects of a candidate may show anyway before they are not held against it any more.
const MAX_ANYWAY: u32 = 3;

/// Runs that undoing may take at least.
const FREE_TRIALS: u32 = 12;

/// Effects of one violation that are kept.
const MAX_SHOWN: usize = 3;

/// Other candidates that a run without the interruption must not show.
const MAX_RELATED: usize = 200;

/// What came of undoing an interruption.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Counterfactual {
    /// Effects that are due to the interruption.
    due: Vec<Effect>,
    /// Effects that show without it as well.
    shown_without_interruption: Vec<Effect>,
    /// Effects that show again, but no run without the interruption could be made.
    untested: Vec<Effect>,
    /// Effects of which nothing is known: the interruption could not be repeated.
    not_reproduced: Vec<Effect>,
    /// Effects that do not show when the run is repeated.
    unsteady: Vec<Effect>,
    /// Runs without the interruption.
    runs: u32,
}

/// The same violation, if nothing is known of the reason of its effects.
pub(super) fn untested(run: &Run, key: &Key, instance: &Instance, judged: Judgement) -> Judgement {
    let effects = judged.effects.clone();
    let judged = judged.with_effects(run, key, instance, Vec::new());
    Judgement { untested: effects.clone(), is_unclear: !effects.is_empty(), effects, ..judged }
}

impl Exploration<'_> {
    /// Whether runs may be spent on undoing: no more than half of all, but for the first ones.
    pub(super) fn may_undo(&self) -> bool {
        self.undo_runs < FREE_TRIALS + self.outcome.runs / 2
    }

    /// Whether what is visible when this happens was seen often enough without it.
    pub(super) fn shows_anyway(&self, key: &Key) -> bool {
        self.shown_without_interruption.get(key).is_some_and(|&often| often >= MAX_ANYWAY)
    }

    /// What is visible counts only as far as undoing the interruption removes it.
    pub(super) fn attribute(
        &mut self,
        run: &Run,
        key: &Key,
        instance: &Instance,
        judged: Judgement,
    ) -> Judgement {
        if judged.effects.is_empty() {
            return judged;
        }
        let undoing = self.undo(run, key, instance, &judged.effects);
        if undoing.due.is_empty() && !undoing.shown_without_interruption.is_empty() {
            *self.shown_without_interruption.entry(key.clone()).or_default() += 1;
        }
        let is_unclear = [&undoing.unsteady, &undoing.untested, &undoing.not_reproduced]
            .iter()
            .any(|unknown| !unknown.is_empty());
        // What shows whenever the block is interrupted counts, even if no run could be made in which it is not.
        let mut effects = [undoing.due, undoing.untested.clone()].concat();
        effects.truncate(MAX_SHOWN);
        let judged = judged.with_effects(run, key, instance, effects.clone());
        effects.extend(undoing.not_reproduced.iter().take(MAX_SHOWN).cloned());
        let mut untested = [undoing.untested, undoing.not_reproduced].concat();
        untested.retain(|effect| effects.contains(effect));
        Judgement { undone: undoing.runs, untested, effects, is_unclear, ..judged }
    }

    /// Undoes the interruption of a block, and compares.
    fn undo(
        &mut self,
        run: &Run,
        key: &Key,
        instance: &Instance,
        effects: &[Effect],
    ) -> Counterfactual {
        let mut undoing = Counterfactual::default();
        let Some(again) = self.repeated(run, key, instance) else {
            return Counterfactual { not_reproduced: effects.to_vec(), ..undoing };
        };
        let shows_again = |effect: &Effect| self.normal.shows(effect, &again);
        let mut due: Vec<Effect>;
        (due, undoing.unsteady) = effects.iter().cloned().partition(shows_again);
        if due.is_empty() {
            return undoing;
        }
        let related = self.related(key);
        let mut tried: Vec<Plan> = Vec::new();
        for intruder in [UndoScope::Accesses, UndoScope::Call] {
            if undoing.runs > 0 {
                break;
            }
            for plan in steer::uninterrupted(run, key, instance, intruder).into_iter().flatten() {
                if tried.contains(&plan) {
                    continue;
                }
                let control = self.trial_run(&plan);
                tried.push(plan);
                let Some(control) = control.filter(|run| is_whole(run, &related)) else { continue };
                undoing.runs += 1;
                let shows = |effect: &Effect| self.normal.shows(effect, &control.result);
                let (shown_without_interruption, rest): (Vec<_>, Vec<_>) =
                    due.into_iter().partition(shows);
                undoing.shown_without_interruption.extend(shown_without_interruption);
                due = rest;
            }
        }
        match undoing.runs {
            0 => undoing.untested.extend(due),
            _ => undoing.due = due,
        }
        undoing
    }

    /// What comes of the same interruption in another run: the replay, if that is the same run, or else a run by the
    /// same plan. A run by a policy is made again by a plan that ends with the interruption.
    fn repeated(&mut self, run: &Run, key: &Key, instance: &Instance) -> Option<RunResult> {
        let plan = match run.spec.steering.as_plan() {
            Some(plan) => {
                if let Some(same) = self.replayed_result(&run.trace) {
                    return Some(same);
                }
                plan.clone()
            }
            None => steer::interrupted(run, instance)?,
        };
        let again = self.trial_run(&plan)?;
        has_instance(&again, std::slice::from_ref(key)).then_some(again.result)
    }

    /// The candidate and all others about its variables. To undo one interruption may make another one: the other
    /// thread's block is interrupted instead.
    fn related(&self, key: &Key) -> Vec<Key> {
        let shares = |own: &&Key| own.members.iter().any(|member| key.members.contains(member));
        let others = self.targets.keys().filter(shares).filter(|own| *own != key);
        std::iter::once(key).chain(others.take(MAX_RELATED)).cloned().collect()
    }

    /// Makes a run in a process of its own, as the run was that shows the violation: in a used one, what the language
    /// does when it is used for the first time is missing, and the plan counts it. The run is of no use afterwards. What
    /// goes wrong with it is no error: then nothing is known.
    fn trial_run(&mut self, plan: &Plan) -> Option<Run> {
        self.undo_runs += 1;
        let plan = Plan { keeps_time: true, ..plan.clone() };
        let run = self.follow(&plan, true).ok().flatten()?;
        self.forget_unneeded(&run.trace);
        Some(run)
    }
}

/// Whether a run came to its end without an interruption of this kind.
fn is_whole(run: &Run, related: &[Key]) -> bool {
    let is_cut = matches!(run.result.exit, ExitKind::TimedOut | ExitKind::Deadlock);
    !is_cut && !has_instance(run, related)
}

fn has_instance(run: &Run, keys: &[Key]) -> bool {
    let accesses = Accesses::new(run, keys.iter());
    keys.iter().any(|key| accesses.find(key).is_some())
}
