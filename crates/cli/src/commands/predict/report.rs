//! What was predicted, and as JSON.

use serde_json::{Value, json};
use untorn_predict::candidates::{Candidates, SkippedCandidates};
use untorn_predict::{At, Goal, History, Lifted, Origin, Outline};
use untorn_report::operation::{Action, place};
use untorn_trace::tables::show_value;
use untorn_trace::{Op, Tables, ValueKind};

use super::config::Certainty;
use super::decide::Decided;
use super::question::Question;

/// The results for the candidates.
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
    fn add(&mut self, question: &Question, decided: &Decided) {
        self.candidates += 1;
        match decided {
            Decided::Feasible { sure, .. } => {
                self.feasible += 1;
                self.unsure += u64::from(!question.is_sure(*sure));
            }
            Decided::Infeasible => self.infeasible += 1,
            Decided::Undecided => self.undecided += 1,
        }
    }

    fn json(&self) -> Value {
        json!({
            "candidates": self.candidates,
            "can_happen": self.feasible - self.unsure,
            "may_happen": self.unsure,
            "infeasible": self.infeasible,
            "undecided": self.undecided,
            "guarded": self.guarded,
            "ordered": self.ordered,
            "left_out": self.left_out,
        })
    }
}

/// The results for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Of one variable, or of the user's pattern.
    pub one: Counts,
    /// Of two variables.
    pub pairs: Counts,
}

impl Tally {
    pub fn of(found: &Candidates, questions: &[Question], decided: &[Decided]) -> Self {
        let Candidates { guarded, ordered, left_out, .. } = *found;
        let one = Counts { guarded, ordered, left_out, ..Counts::default() };
        let SkippedCandidates { guarded, ordered, left_out, .. } = found.skipped_pairs;
        let pairs = Counts { guarded, ordered, left_out, ..Counts::default() };
        let mut tally = Self { one, pairs };
        for (question, decided) in questions.iter().zip(decided) {
            match question {
                Question::Pair(_) => tally.pairs.add(question, decided),
                Question::One(_) | Question::Events(_) => tally.one.add(question, decided),
            }
        }
        tally
    }

    pub fn feasible(&self) -> u64 {
        self.one.feasible + self.pairs.feasible
    }
}

pub struct Prediction {
    pub question: Question,
    /// What the reordering leads to.
    pub goal: Goal,
    /// What follows by itself.
    pub pending: Option<At>,
    pub sure: Certainty,
    pub outline: Outline,
}

pub struct Predictions {
    pub tally: Tally,
    pub list: Vec<Prediction>,
}

impl Prediction {
    /// What to call the block that is torn.
    pub fn name(&self, history: &History, tables: &Tables) -> String {
        let Some((block, _)) = self.question.block() else { return "the pattern".to_owned() };
        let block = history.block(block);
        tables.block_name(block.label, history.event(block.begin).site)
    }

    /// The events in their order, the one that follows included.
    pub fn events(&self) -> Vec<At> {
        self.goal.events.iter().copied().chain(self.pending).collect()
    }

    fn json(&self, history: &History, tables: &Tables) -> Value {
        let event = |at: At| {
            let (position, event) = (history.position(at), history.event(at));
            let kind = match event.op {
                Op::Read { var, .. } | Op::Write { var, .. } => tables.var_facts(var).values,
                _ => ValueKind::default(),
            };
            json!({
                "event": position,
                "thread": tables.thread_name(event.thread),
                "op": Action::of(event.op).verb(),
                "value": event.value().map(|value| show_value(value, kind)),
                "at": place(event.site, tables),
            })
        };
        let origin = self.question.block().map(|(_, origin)| match origin {
            Origin::Declared => "declared",
            Origin::Inferred => "inferred",
        });
        let vars = self.question.vars(history, &self.goal);
        let vars: Vec<String> = vars.into_iter().map(|var| tables.var_name(var)).collect();
        let Lifted { kept, then } = history.lift(&self.outline);
        let then: Vec<[u32; 2]> = then.into_iter().map(|part| [part.start, part.end - 1]).collect();
        json!({
            "block": self.question.block().map(|_| self.name(history, tables)),
            "origin": origin,
            "label": self.question.label(self.sure),
            "known_by": self.sure.name(),
            "pattern": self.question.letters(),
            "seen": self.question.is_seen(),
            "variable": vars.first(),
            "variables": vars,
            "instances": self.question.instances(),
            "events": self.events().into_iter().map(event).collect::<Vec<_>>(),
            "plan": { "keep": kept, "then": then },
        })
    }
}

impl Predictions {
    /// Everything, as described in docs/prediction.md.
    pub fn json(&self, file: &str, history: &History, tables: &Tables) -> String {
        let list: Vec<Value> =
            self.list.iter().map(|prediction| prediction.json(history, tables)).collect();
        let text = json!({
            "format": "untorn-predictions",
            "version": 2,
            "file": file,
            "counts": self.tally.one.json(),
            "pairs": self.tally.pairs.json(),
            "predictions": list,
        });
        // `<` is escaped so that the text may stand in a page as it is.
        format!("{text:#}\n").replace('<', "\\u003c")
    }
}
