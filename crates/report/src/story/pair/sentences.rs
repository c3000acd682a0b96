//! The sentences about two variables. Which of them are true depends on what lies between the accesses: when the other
//! thread accesses the second variable is not part of the pattern.

use super::{Pair, aside, letter, value};
use crate::claim::{self, Claim, Statement};
use crate::operation::Operation;
use crate::story::{Span, StoryInput};
use crate::text::ellipsis;

/// A conflict in which the second access got, or replaced, just what the first one left.
fn is_immediate<'a>(plot: &StoryInput<'a>, first: &'a Operation, second: &'a Operation) -> bool {
    match (letter(first), letter(second)) {
        ('W', 'R') => plot.course.is_source(first, second),
        ('W', _) => plot.course.is_direct(first, second),
        _ => true,
    }
}

/// The same as a claim.
fn immediate(first: &Operation, second: &Operation) -> Claim {
    match (letter(first), letter(second)) {
        ('W', 'R') => claim::read_from(second, first),
        ('W', _) => claim::overwritten(first, second),
        _ => claim::ordered(first, second),
    }
}

impl<'a> Pair<'a> {
    /// Both accesses of the other thread lie between those of the block.
    fn is_inside(&self) -> bool {
        let ([a1, a2], [b1, b2]) = (self.torn, self.other);
        [b1, b2].iter().all(|op| a1.at < op.at && op.at < a2.at)
    }

    /// The block has not written the second variable when the other thread reads it.
    fn is_old(&self, plot: &StoryInput<'a>) -> bool {
        let ([a1, a2], [_, b2]) = (self.torn, self.other);
        plot.course.is_unwritten(&a1.thread, &a2.target, begin(plot), b2.at)
    }

    fn old(&self, plot: &StoryInput<'a>) -> Claim {
        let ([a1, a2], [_, b2]) = (self.torn, self.other);
        let (thread, variable) = (a1.thread.clone(), a2.target.clone());
        Claim::NotWritten { thread, variable, from: begin(plot), until: b2.at }
    }

    pub fn headline(&self, plot: &StoryInput<'a>) -> (Vec<Span>, Vec<Claim>) {
        let ([a1, a2], [b1, b2]) = (self.torn, self.other);
        let mut claims = vec![claim::ordered(a1, b1), claim::ordered(b2, a2)];
        let are_immediate = is_immediate(plot, a1, b1) && is_immediate(plot, b2, a2);
        if !are_immediate {
            return (self.conflicts(plot), claims);
        }
        claims.extend([immediate(a1, b1), immediate(b2, a2)]);
        match self.known(plot) {
            Some((spans, more)) => (spans, claims.into_iter().chain(more).collect()),
            None => (self.halves(plot), claims),
        }
    }

    /// The patterns that have a name, where what the name says is true.
    fn known(&self, plot: &StoryInput<'a>) -> Option<(Vec<Span>, Vec<Claim>)> {
        let ([a, a2], [b, b2]) = (self.torn, self.other);
        let lane = |operation: &Operation| lane(plot, operation);
        let [x, y] = self.names();
        let method = ellipsis(plot.lanes.first().map_or("", |lane| &lane.block), 40);
        let inside = || vec![claim::between(a, b, a2), claim::between(a, b2, a2)];
        Some(match self.letters().as_str() {
            "WRRW" if self.is_inside() && self.is_old(plot) => (
                vec![
                    lane(b),
                    text(format!(" saw the new {x}{} and the old {y}{}: ", aside(b), aside(b2))),
                    lane(a),
                    text(format!(" was only half done with {method}.")),
                ],
                inside().into_iter().chain([self.old(plot)]).collect(),
            ),
            "RWWR" if self.is_inside() => (
                vec![
                    lane(a),
                    text(format!(" saw the old {x}{} and the new {y}{}: ", aside(a), aside(a2))),
                    lane(b),
                    text(" wrote both in between.".to_owned()),
                ],
                inside(),
            ),
            "RWRW" => (
                vec![
                    lane(a),
                    text(" and ".to_owned()),
                    lane(b),
                    text(format!(
                        " each checked what the other was about to change ({x}, {y}), and both went ahead."
                    )),
                ],
                Vec::new(),
            ),
            "WRWR" => (
                vec![
                    lane(a),
                    text(" and ".to_owned()),
                    lane(b),
                    text(format!(
                        " each saw what the other had done ({x}, {y}): neither can have come first."
                    )),
                ],
                Vec::new(),
            ),
            "WWWW" => (
                vec![
                    lane(b),
                    text(format!(" overwrote {x} of ")),
                    lane(a),
                    text(format!(", which overwrote {y} of ")),
                    lane(b),
                    text(": no order of the two explains both.".to_owned()),
                ],
                Vec::new(),
            ),
            _ => return None,
        })
    }

    /// What is certain of every pair.
    fn conflicts(&self, plot: &StoryInput<'a>) -> Vec<Span> {
        let [x, y] = self.names();
        let (a, b) = (lane(plot, self.torn[0]), lane(plot, self.other[0]));
        vec![
            b,
            text(format!(" accessed {x} after ")),
            a.clone(),
            text(format!(", and {y} before ")),
            a,
            text(": no order of the two explains both.".to_owned()),
        ]
    }

    /// One half a variable, for patterns without a name of their own.
    fn halves(&self, plot: &StoryInput<'a>) -> Vec<Span> {
        let ([a, a2], [b, b2]) = (self.torn, self.other);
        let lane = |operation: &Operation| lane(plot, operation);
        let [x, y] = self.names();
        let end = text(": no order of the two explains both.".to_owned());
        let mut spans = match (letter(a), letter(b)) {
            ('R', _) => {
                vec![
                    lane(a),
                    text(format!(" read {x} before ")),
                    lane(b),
                    text(" wrote it, ".to_owned()),
                ]
            }
            (_, 'R') => vec![lane(b), text(format!(" saw the new {x}, "))],
            _ => vec![lane(b), text(format!(" overwrote {x}, "))],
        };
        spans.extend(match (letter(b2), letter(a2)) {
            ('R', _) => vec![
                text("and ".to_owned()),
                lane(b),
                text(format!(" read {y} before ")),
                lane(a),
                text(" wrote it".to_owned()),
            ],
            (_, 'R') => vec![text("and ".to_owned()), lane(a), text(format!(" saw the new {y}"))],
            _ => vec![text("and ".to_owned()), lane(a), text(format!(" overwrote {y}"))],
        });
        spans.push(end);
        spans
    }

    /// The sentence of one of the four accesses, by its position in the trace.
    pub fn sentence(&self, plot: &StoryInput<'a>, operation: &Operation) -> Option<Statement> {
        let ([a1, a2], [b1, b2]) = (self.torn, self.other);
        let is = |other: &Operation| other.at == operation.at;
        let mut told = match () {
            () if is(a1) => self.of_torn_first(plot),
            () if is(b1) => self.of_other_first(plot),
            () if is(b2) => self.of_other_second(plot),
            () if is(a2) => self.of_torn_second(plot),
            () => return None,
        };
        told.claims.push(claim::access(operation));
        Some(told)
    }

    fn of_torn_first(&self, plot: &StoryInput<'a>) -> Statement {
        let ([a1, a2], [x, y], [a, _]) = (self.torn, self.names(), self.threads());
        let method = match plot.lanes.first().map(|lane| lane.block.as_str()) {
            None | Some("") => "the block".to_owned(),
            Some(name) => ellipsis(name, 40),
        };
        let v = value(a1);
        match letter(a1) {
            'W' => Statement::new(
                format!("{a} writes {v} to {x}; {method} is not done yet: {y} comes later."),
                vec![claim::ordered(a1, a2)],
            ),
            _ => Statement::plain(format!("{a} reads {x}: {v}, and goes on with it.")),
        }
    }

    fn of_other_first(&self, plot: &StoryInput<'a>) -> Statement {
        let ([a1, _], [b1, _]) = (self.torn, self.other);
        let ([x, _], [a, b], v) = (self.names(), self.threads(), value(b1));
        match (letter(a1), letter(b1)) {
            ('W', 'R') if is_immediate(plot, a1, b1) => Statement::new(
                format!("{b} reads {x}: {v}, the new value."),
                vec![claim::read_from(b1, a1)],
            ),
            (_, 'R') => Statement::plain(format!("{b} reads {x}: {v}.")),
            ('R', _) if plot.course.knows_only(a1, b1.at) => Statement::new(
                format!("{b} writes {v} to {x}. {a} still holds {}.", value(a1)),
                vec![claim::knows_only(a1, b1.at)],
            ),
            ('W', _) if is_immediate(plot, a1, b1) => Statement::new(
                format!("{b} writes {v} to {x}, over the {} of {a}.", value(a1)),
                vec![claim::overwritten(a1, b1)],
            ),
            _ => Statement::plain(format!("{b} writes {v} to {x}.")),
        }
    }

    fn of_other_second(&self, plot: &StoryInput<'a>) -> Statement {
        let ([_, a2], [_, b2]) = (self.torn, self.other);
        let ([_, y], [a, b], v) = (self.names(), self.threads(), value(b2));
        match (letter(b2), letter(a2)) {
            ('R', _) if self.is_old(plot) => Statement::new(
                format!("{b} reads {y}: {v}, the old value: {a} has not written it yet."),
                vec![self.old(plot), claim::ordered(b2, a2)],
            ),
            ('R', _) => Statement::plain(format!("{b} reads {y}: {v}.")),
            (_, 'W') => Statement::new(
                format!("{b} writes {v} to {y}; {a} is going to write it, too."),
                vec![claim::ordered(b2, a2)],
            ),
            _ => Statement::plain(format!("{b} writes {v} to {y}.")),
        }
    }

    fn of_torn_second(&self, plot: &StoryInput<'a>) -> Statement {
        let ([a1, a2], [_, b2]) = (self.torn, self.other);
        let ([x, y], [a, b], v) = (self.names(), self.threads(), value(a2));
        let is_next = is_immediate(plot, b2, a2);
        match (letter(b2), letter(a2)) {
            ('R', _) => Statement::new(
                format!("{a} writes {v} to {y}. {b} has read {} before.", value(b2)),
                vec![claim::ordered(b2, a2)],
            ),
            (_, 'W') if is_next => Statement::new(
                format!("{a} writes {v} to {y}. {b}’s {} is overwritten.", value(b2)),
                vec![claim::overwritten(b2, a2)],
            ),
            (_, 'W') => Statement::plain(format!("{a} writes {v} to {y}.")),
            _ if !is_next => Statement::plain(format!("{a} reads {y}: {v}.")),
            _ => {
                let claims = vec![claim::read_from(a2, b2), claim::ordered(a1, a2)];
                let tail = if letter(a1) == 'R' && plot.course.knows_only(a1, a2.at) {
                    format!(" Its {x} is from before.")
                } else {
                    String::new()
                };
                let text = format!("{a} reads {y}: {v}, which {b} has written.{tail}");
                Statement::new(text, claims)
            }
        }
    }

    /// What is broken, for readers who have never seen it.
    pub fn meaning(&self, plot: &StoryInput<'a>) -> String {
        let ([x, y], [a, b]) = (self.names(), self.threads());
        let method = ellipsis(plot.lanes.first().map_or("", |lane| &lane.block), 40);
        match self.letters().as_str() {
            "WRRW" if self.is_inside() && self.is_old(plot) => format!(
                "{method} writes {x} and {y}, which belong together. {b} read both while {a} had written only {x}: a \
                 pair of values that should not exist."
            ),
            "RWWR" if self.is_inside() => format!(
                "{method} reads {x} and {y}, which belong together. {b} wrote both after {a} had read {x} and before \
                 it read {y}: the pair that {a} works with never existed."
            ),
            "RWRW" => format!(
                "{a} reads {x} and writes {y}; {b} reads {y} and writes {x}. Each read was up to date when it was \
                 made, and no longer when both had written."
            ),
            _ => format!(
                "{method} accesses {x} and {y}, which belong together. {b} accessed {x} after {a} did, and {y} before \
                 {a} did."
            ),
        }
    }
}

fn begin(plot: &StoryInput<'_>) -> u64 {
    let own = plot.finding.transactions.first().and_then(|own| own.blocks.first());
    own.map_or(0, |block| block.begin)
}

fn lane(plot: &StoryInput<'_>, operation: &Operation) -> Span {
    Span { text: ellipsis(&operation.thread, 40), lane: plot.lane(&operation.thread) }
}

fn text(text: String) -> Span {
    Span { text, lane: None }
}
