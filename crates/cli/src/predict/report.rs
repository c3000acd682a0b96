//! What was predicted, and as JSON.

use serde_json::{Value, json};
use untorn_predict::candidates::{Candidate, Found};
use untorn_predict::{At, Goal, History, Origin, Plan};
use untorn_report::operation::place;
use untorn_trace::tables::show_value;
use untorn_trace::{Op, Tables, VarId};

use super::config::Sure;
use super::decide::Decided;

/// What became of the candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub candidates: u64,
    pub feasible: u64,
    /// Of these, the ones that only locks allow, or that passed AVFilter: may be false alarms.
    pub unsure: u64,
    pub infeasible: u64,
    pub undecided: u64,
    /// Not even tried: a lock or an order rules them out, or there were too many.
    pub guarded: u64,
    pub ordered: u64,
    pub left_out: u64,
}

impl Counts {
    pub fn of(found: &Found, decided: &[Decided]) -> Self {
        let mut counts = Self {
            candidates: decided.len() as u64,
            guarded: found.guarded,
            ordered: found.ordered,
            left_out: found.left_out,
            ..Self::default()
        };
        for decided in decided {
            match decided {
                Decided::Feasible { sure, .. } => {
                    counts.feasible += 1;
                    counts.unsure += u64::from(sure.label() != Sure::Value.label());
                }
                Decided::Infeasible => counts.infeasible += 1,
                Decided::Undecided => counts.undecided += 1,
            }
        }
        counts
    }
}

pub struct Prediction {
    pub candidate: Candidate,
    pub goal: Goal,
    pub sure: Sure,
    pub plan: Plan,
}

pub struct Predictions {
    pub counts: Counts,
    pub list: Vec<Prediction>,
}

impl Prediction {
    /// What to call the block that is torn.
    pub fn block(&self, history: &History, tables: &Tables) -> String {
        let block = history.block(self.candidate.block);
        tables.block_name(block.label, history.event(block.begin).site)
    }

    /// The variable of the instance that is shown.
    pub fn var(&self, history: &History) -> VarId {
        VarId(history.event(self.goal.events[0]).op.target())
    }

    /// How much of the plan is the history as it was.
    pub fn kept(&self) -> usize {
        self.plan.steps.iter().zip(0..).take_while(|(at, place)| at.0 == *place).count()
    }

    fn json(&self, history: &History, tables: &Tables) -> Value {
        let kept = self.kept();
        let event = |at: At| {
            let event = history.event(at);
            let kind = tables.var_facts(VarId(event.op.target())).kind;
            json!({
                "event": at.0,
                "thread": tables.thread_name(event.thread),
                "op": if matches!(event.op, Op::Write { .. }) { "write" } else { "read" },
                "value": event.value().map(|value| show_value(value, kind)),
                "at": place(event.site, tables),
            })
        };
        let origin = match self.candidate.origin {
            Origin::Declared => "declared",
            Origin::Inferred => "inferred",
        };
        let then: Vec<u32> = self.plan.steps[kept..].iter().map(|at| at.0).collect();
        json!({
            "block": self.block(history, tables),
            "origin": origin,
            "label": self.sure.label(),
            "known_by": self.sure.name(),
            "pattern": self.candidate.pattern.letters(),
            "variable": tables.var_name(self.var(history)),
            "instances": self.candidate.instances,
            "events": self.goal.events.iter().map(|&at| event(at)).collect::<Vec<_>>(),
            "plan": { "keep": kept, "then": then },
        })
    }
}

impl Predictions {
    /// Everything, as described in docs/prediction.md.
    pub fn json(&self, file: &str, history: &History, tables: &Tables) -> String {
        let list: Vec<Value> =
            self.list.iter().map(|prediction| prediction.json(history, tables)).collect();
        let counts = &self.counts;
        let text = json!({
            "format": "untorn-predictions",
            "version": 1,
            "file": file,
            "counts": {
                "candidates": counts.candidates,
                "can_happen": counts.feasible - counts.unsure,
                "may_happen": counts.unsure,
                "infeasible": counts.infeasible,
                "undecided": counts.undecided,
                "guarded": counts.guarded,
                "ordered": counts.ordered,
                "left_out": counts.left_out,
            },
            "predictions": list,
        });
        // `<` is escaped so that the text may stand in a page as it is.
        format!("{text:#}\n").replace('<', "\\u003c")
    }
}
