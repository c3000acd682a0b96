//! Compositions: the story shows the calls, not the accesses that they make.

use super::fixes::Fix;
use super::headline::as_sentence;
use super::{Span, StoryInput};
use crate::language::Problem;
use crate::model::{CallMade, Composition};
use crate::operation::Operation;
use crate::text::ellipsis;

pub const KIND: &str = "Torn composition";

/// The calls of a finding.
#[derive(Clone, Copy, Debug)]
pub struct Calls<'a> {
    composition: &'a Composition,
    first: &'a CallMade,
    between: Option<&'a CallMade>,
    last: &'a CallMade,
}

pub fn find<'a>(plot: &StoryInput<'a>) -> Option<Calls<'a>> {
    let composition = plot.finding.evidence.as_ref()?.composition.as_ref()?;
    let [first, last] = composition.own()?;
    Some(Calls { composition, first, between: composition.between(), last })
}

/// `, which gave true`
fn gave(call: &CallMade) -> String {
    call.answer.as_ref().map_or_else(String::new, |answer| format!(", which gave {answer}"))
}

/// `containsKey`; with the class where the name alone is too short.
fn name(call: &CallMade) -> &str {
    let method = call.method();
    if method.len() < 4 { call.short_name() } else { method }
}

impl Calls<'_> {
    fn other<'p>(&self, plot: &'p StoryInput<'_>) -> Option<&'p str> {
        let own = |name: &&str| *name != self.first.thread;
        plot.lanes.iter().map(|lane| lane.name.as_str()).find(own)
    }

    fn did(&self) -> String {
        match self.between {
            Some(call) => format!("called {}", name(call)),
            None => format!("changed {}", ellipsis(&self.composition.receiver, 40)),
        }
    }

    pub fn headline(&self, plot: &StoryInput<'_>) -> Vec<Span> {
        let lane = |thread: &str| Span { text: ellipsis(thread, 40), lane: plot.lane(thread) };
        let text = |text: String| Span { text, lane: None };
        let other = self.other(plot).unwrap_or("another thread");
        vec![
            lane(&self.first.thread),
            text(format!(" called {}{}; ", name(self.first), gave(self.first))),
            lane(other),
            text(format!(" {} before ", self.did())),
            lane(&self.first.thread),
            text(format!(" called {}{}.", name(self.last), gave(self.last))),
        ]
    }

    pub fn dek(&self, plot: &StoryInput<'_>) -> String {
        let effects = plot.finding.evidence.iter().flat_map(|evidence| &evidence.effects);
        let mut text: Vec<String> = effects.take(2).map(|effect| as_sentence(effect)).collect();
        text.extend(self.composition.surprise.as_deref().map(as_sentence));
        text.push(
            "Each call is atomic by itself; the two look meant to be one step, and nothing makes them one."
                .to_owned(),
        );
        text.join(" ")
    }

    /// Why the calls look like one step, and their results.
    pub fn proof(&self) -> Vec<String> {
        let (first, last) = (name(self.first), name(self.last));
        let Composition { receiver, why, surprise, .. } = self.composition;
        let calls = if first == last {
            format!("Two calls of {first}")
        } else {
            format!("{first} and {last}")
        };
        let mut out = vec![format!("{calls} on {receiver} look meant to be one step: {why}.")];
        out.extend(surprise.as_deref().map(as_sentence));
        out
    }

    /// The calls in a line.
    pub fn line(&self) -> String {
        let call = |call: &CallMade| {
            let answer =
                call.answer.as_ref().map_or_else(String::new, |answer| format!(" → {answer}"));
            format!("{}: {}{answer}", call.thread, call.short_name())
        };
        self.composition.calls.iter().map(call).collect::<Vec<_>>().join(" · ")
    }

    /// The sentence for an access that is made by one of the calls: `place` is its part in the pattern.
    pub fn sentence(&self, operation: &Operation, place: usize, count: usize) -> Option<String> {
        let who = ellipsis(&operation.thread, 40);
        let is_own = operation.thread == self.first.thread;
        let call = match (is_own, place) {
            (true, 0) => self.first,
            (true, place) if place + 1 == count => self.last,
            (false, _) => self.between?,
            _ => return None,
        };
        let answer = call.answer.as_ref().map_or_else(String::new, |answer| format!(": {answer}"));
        let tail = match is_own {
            true if place > 0 => {
                let before = name(self.first);
                format!(". What {before} said does not hold any more")
            }
            true => String::new(),
            false => format!(", between the two calls of {}", ellipsis(&self.first.thread, 40)),
        };
        Some(format!("{who} calls {}{answer}{tail}.", name(call)))
    }

    pub fn fixes(&self, plot: &StoryInput<'_>) -> Vec<Fix> {
        let receiver = ellipsis(&self.composition.receiver, 40);
        let problem = Problem::TwoCalls { first: self.first.method(), last: self.last.method() };
        let mut fixes: Vec<Fix> = plot.finding.language().fix(&problem).into_iter().collect();
        let class = self.first.short_name().split('.').next().unwrap_or_default();
        fixes.push(Fix::new(
            format!("{} both calls under one lock", if fixes.is_empty() { "Put" } else { "Or put" }),
            format!(
                "Whoever changes {receiver} has to take the same lock. The lock of a single call of {class} is free \
                 between the two."
            ),
        ));
        fixes
    }
}
