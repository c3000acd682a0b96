//! What is asked about: places of the program, with events to try.

use std::collections::HashMap;

use untorn_predict::candidates::{Candidate, TwoVariableCandidate};
use untorn_predict::pattern::{EventPattern, Matches};
use untorn_predict::{At, BlockId, Goal, History, Origin};
use untorn_trace::{SiteId, Tables, ThreadId, VarId};

use super::config::Certainty;

/// Instances of a pattern that are looked for, and how many of those with the same places are tried.
const MATCHES: usize = 20_000;
const TRIED: usize = 6;

#[derive(Clone, Debug)]
pub enum Question {
    /// Three accesses of one variable.
    One(Candidate),
    /// Four accesses of two variables.
    Pair(TwoVariableCandidate),
    /// What the user asked about.
    Events(EventsOf),
}

/// The events of a pattern, of the same places.
#[derive(Clone, Debug, Default)]
pub struct EventsOf {
    pub instances: u64,
    pub goals: Vec<Goal>,
}

impl Question {
    pub fn goals(&self) -> &[Goal] {
        match self {
            Self::One(candidate) => &candidate.goals,
            Self::Pair(pair) => &pair.goals,
            Self::Events(events) => &events.goals,
        }
    }

    pub fn instances(&self) -> u64 {
        match self {
            Self::One(candidate) => candidate.instances,
            Self::Pair(pair) => pair.instances,
            Self::Events(events) => events.instances,
        }
    }

    /// The torn block, and why it counts as one.
    pub fn block(&self) -> Option<(BlockId, Origin)> {
        match self {
            Self::One(candidate) => Some((candidate.block, candidate.origin)),
            Self::Pair(pair) => Some((pair.block, pair.origin)),
            Self::Events(_) => None,
        }
    }

    /// The letters of its accesses.
    pub fn letters(&self) -> Option<String> {
        match self {
            Self::One(candidate) => Some(candidate.pattern.letters().to_owned()),
            Self::Pair(pair) => Some(pair.letters()),
            Self::Events(_) => None,
        }
    }

    /// Whether the run shows everything but the order. If not, a thread would have to turn elsewhere.
    pub fn is_seen(&self) -> bool {
        !matches!(self, Self::One(candidate) if !candidate.is_seen)
    }

    /// Ways to ask, from sure to unsure, if none was chosen. That two variables belong together is a
    /// guess; what only locks allow of them is not worth a line.
    pub const fn ways(&self) -> &'static [Certainty] {
        match self {
            Self::Pair(_) => &[Certainty::Value, Certainty::Simulated],
            Self::One(_) | Self::Events(_) => {
                &[Certainty::Value, Certainty::Simulated, Certainty::Locks]
            }
        }
    }

    /// How sure a yes is, in the words of a report.
    pub fn label(&self, sure: Certainty) -> &'static str {
        if self.is_seen() { sure.label() } else { "untaken branch" }
    }

    pub fn is_sure(&self, sure: Certainty) -> bool {
        self.label(sure) == Certainty::Value.label()
    }

    /// The variables of an instance.
    pub fn vars(&self, history: &History, goal: &Goal) -> Vec<VarId> {
        let target = |at: At| VarId(history.event(at).op.target());
        match self {
            Self::One(_) => vec![target(goal.events[0])],
            Self::Pair(pair) if pair.same_order => {
                vec![target(goal.events[0]), target(goal.events[2])]
            }
            Self::Pair(_) => vec![target(goal.events[0]), target(goal.events[1])],
            Self::Events(_) => Vec::new(),
        }
    }
}

/// The instances of patterns in a history, by their places; and whether there are more.
pub fn of_patterns(
    patterns: &[EventPattern],
    history: &History,
    tables: &Tables,
) -> (Vec<Question>, bool) {
    let mut questions: Vec<EventsOf> = Vec::new();
    let mut all = true;
    for pattern in patterns {
        let mut known: HashMap<Vec<(SiteId, ThreadId)>, usize> = HashMap::new();
        let Matches { goals, is_complete, .. } = pattern.goals(history, tables, MATCHES);
        all &= is_complete;
        for goal in goals {
            // Without sites, instances are distinguished by threads.
            let place = |&at: &At| match history.event(at).site {
                SiteId::NONE => (SiteId::NONE, history.event(at).thread),
                site => (site, ThreadId(0)),
            };
            let new = questions.len();
            let key = goal.events.iter().map(place).collect();
            let index = *known.entry(key).or_insert(new);
            if index == new {
                questions.push(EventsOf::default());
            }
            let events = &mut questions[index];
            events.instances += 1;
            if events.goals.len() < TRIED {
                events.goals.push(goal);
            }
        }
    }
    (questions.into_iter().map(Question::Events).collect(), all)
}
