//! One goal as a file for other tools: PDDL for planners, SMT-LIB for solvers.
//!
//! PDDL writes down the problem of our own planner ([`crate::planner`]), one action an event (and one
//! more for each way in which a read can be satisfied). SMT-LIB is written from the definition of
//! a reordering, event by event and over integers, and shares nothing with our own formula: that
//! another solver agrees is a check of both.
//!
//! Promise: if [`Exported::is_whole`] is true, the problem has a solution iff the goal has a reordering;
//! otherwise a solution is still a reordering, but none proves nothing.

mod smt;

use std::fmt::Write as _;

use crate::answer::Strength;
use crate::goal::Goal;
use crate::history::{At, History};
use crate::index::Index;
use crate::strips::{Content, Proposition, Task};
use crate::zone::Zone;

/// A goal, ready to be asked elsewhere.
#[derive(Debug)]
pub struct Exported<'a> {
    index: Index<'a>,
    goal: Goal,
    zone: Zone,
}

/// A PDDL domain and problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pddl {
    pub domain: String,
    pub problem: String,
}

impl<'a> Exported<'a> {
    /// With at most so many events; beyond that, with the part of the history right before the goal.
    /// `None` if not even that can be cut out.
    pub fn new(history: &'a History, strength: Strength, goal: &Goal, most: u32) -> Option<Self> {
        let index = Index::new(history, strength);
        let zone =
            Zone::whole(&index, goal, most).or_else(|| Zone::late(&index, goal, most / 8, most))?;
        Some(Self { index, goal: goal.clone(), zone })
    }

    pub const fn is_whole(&self) -> bool {
        self.zone.is_whole
    }

    /// The problem as integers and differences between them (QF_IDL): `o7` is when event 7 happens, `in7`
    /// whether it does.
    pub fn smt_lib(&self) -> String {
        smt::write(&self.index, &self.goal, &self.zone)
    }

    pub fn pddl(&self) -> Pddl {
        let task = Task::new(&self.index, &self.goal, &self.zone);
        let name = |fact: &u32| fact_name(&task, task.facts[*fact as usize]);
        let list =
            |facts: &[u32]| facts.iter().map(|f| format!(" ({})", name(f))).collect::<String>();
        let mut domain = String::from("(define (domain untorn)\n  (:requirements :strips)\n");
        domain.push_str("  (:predicates (unreachable)");
        for &fact in &task.facts {
            let _ = write!(domain, " ({})", fact_name(&task, fact));
        }
        domain.push_str(")\n");
        for action in &task.actions {
            let at = task.nodes.list[action.node as usize].at;
            let deletes = action.deletes.iter().map(|f| format!(" (not ({}))", name(f)));
            let _ = write!(
                domain,
                "  (:action e{}-{}\n    :parameters ()\n    :precondition (and{})\n    :effect (and{}{}))\n",
                at.0,
                action.variant,
                list(&action.needs),
                list(&action.adds),
                deletes.collect::<String>(),
            );
        }
        domain.push_str(")\n");
        let goal = task.goal.map_or_else(|| "unreachable".to_owned(), |fact| name(&fact));
        let problem = format!(
            "(define (problem goal)\n  (:domain untorn)\n  (:init{})\n  (:goal (and ({goal}))))\n",
            list(&task.start),
        );
        Pddl { domain, problem }
    }

    /// The events of a plan, from the names of its actions (`e7-0`), one after the other. `None` if a
    /// name was not exported by us.
    pub fn read_plan<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<Vec<At>> {
        let task = Task::new(&self.index, &self.goal, &self.zone);
        let mut order = Vec::new();
        for name in names {
            let number = name.strip_prefix('e')?.split_once('-')?.0.parse().ok()?;
            let node = task.nodes.of(At(number))?;
            order.push(task.nodes.list[node as usize]);
        }
        let tail = crate::nodes::spell_out(&self.index, &self.zone.base, &order);
        let mut steps = crate::outline::Outline::new(self.zone.base.clone(), tail)
            .reordering(self.index.history)
            .steps;
        let last = self.goal.events.last()?;
        steps.truncate(steps.iter().position(|at| at == last)? + 1);
        Some(steps)
    }
}

fn fact_name(task: &Task, fact: Proposition) -> String {
    let event = |node: u32| task.nodes.list[node as usize].at.0;
    match fact {
        Proposition::At(thread, count) => format!("at-t{}-{count}", thread.0),
        Proposition::Done(node) => format!("done-e{}", event(node)),
        Proposition::Without(lock, shared, thread) => {
            let side = if shared { "shared" } else { "exclusive" };
            format!("without-{side}-l{}-t{}", lock.0, thread.0)
        }
        Proposition::Holds(var, content) => match content {
            Content::First => format!("holds-x{}-first", var.0),
            Content::Of(at) => format!("holds-x{}-e{}", var.0, at.0),
            Content::Value(Some(value)) => format!("holds-x{}-v{}", var.0, value.0),
            Content::Value(None) => format!("holds-x{}-unknown", var.0),
        },
        Proposition::Waited(node) => format!("waited-e{}", event(node)),
        Proposition::Fresh(node) => format!("fresh-e{}", event(node)),
    }
}
