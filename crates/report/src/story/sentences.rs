//! One sentence for each step, with the names and values of that step.

use super::course::Update;
use super::{StoryInput, composition, headline, short_value, short_variable, split_block};
use crate::claim::{self, Claim, Statement};
use crate::model::SceneStep;
use crate::operation::{Action, Operation};
use crate::text::ellipsis;

pub fn sentence(plot: &StoryInput<'_>, steps: &[SceneStep], index: usize) -> Statement {
    let operation = &steps[index].operation;
    let who = ellipsis(&operation.thread, 40);
    let method = split_block(&operation.target).1;
    let key = plot.keys.iter().position(|&key| plot.finding.operations[key].at == operation.at);
    match operation.action {
        Action::Begin => {
            Statement::new(format!("{who} enters {method}."), vec![boundary(operation, true)])
        }
        Action::End => leaves(plot, steps, index, &who, method),
        Action::Read | Action::Write => match (of_call(plot, operation, key), plot.three(), key) {
            (Some(text), three, _) => {
                let tear = three.map(|[first, second, third]| claim::between(first, second, third));
                Statement::new(text, tear.into_iter().collect())
            }
            (_, Some(three), Some(place)) => of_key(plot, three, place, &who),
            _ => plot
                .pair()
                .and_then(|pair| pair.sentence(plot, operation))
                .unwrap_or_else(|| plain(plot, steps, index, &who)),
        },
        Action::Wait | Action::Request if plot.finding.transactions.is_empty() => {
            let language = plot.finding.language();
            Statement::plain(format!("{}.", super::deadlock::waits(&steps[index], language)))
        }
        Action::Acquire | Action::Request if plot.finding.is_deadlock() => {
            let text = super::deadlock::sentence(plot, operation, key.is_some());
            Statement::plain(text.unwrap_or_default())
        }
        action => {
            let target = short_variable(&operation.target);
            let tail = match (key, action) {
                (Some(_), Action::Release) if is_torn(plot, operation) => {
                    ": from here on others can get in"
                }
                (Some(_), Action::Acquire) if !is_torn(plot, operation) => {
                    ": in the middle of the other block"
                }
                _ => "",
            };
            Statement::plain(format!("{who} {} {target}{tail}.", present(action)))
        }
    }
}

/// Where a thread enters a block, or leaves it.
fn boundary(operation: &Operation, enters: bool) -> Claim {
    Claim::Boundary {
        thread: operation.thread.clone(),
        block: operation.target.clone(),
        at: operation.at,
        enters,
    }
}

/// An access that one of the calls of a composition makes.
fn of_call(plot: &StoryInput<'_>, operation: &Operation, key: Option<usize>) -> Option<String> {
    composition::find(plot)?.sentence(operation, key?, plot.keys.len())
}

fn is_torn(plot: &StoryInput<'_>, operation: &Operation) -> bool {
    operation.transaction == Some(0)
        && plot.finding.transactions.first().is_some_and(|own| own.blamed)
}

fn leaves(
    plot: &StoryInput<'_>,
    steps: &[SceneStep],
    index: usize,
    who: &str,
    method: &str,
) -> Statement {
    let operation = &steps[index].operation;
    let mut claims = vec![boundary(operation, false)];
    // The last write of the block, if nobody has written the variable since.
    let own = steps[..index]
        .iter()
        .rev()
        .map(|step| &step.operation)
        .find(|op| op.action == Action::Write && op.transaction == operation.transaction)
        .filter(|op| {
            let latest = plot.course.latest_write(&op.target, operation.at);
            is_torn(plot, operation) && latest.is_some_and(|latest| latest.at == op.at)
        });
    match own.and_then(|op| Some((op, short_value(op.value.as_deref())?))) {
        Some((op, value)) => {
            claims.push(Claim::HasNow {
                variable: op.target.clone(),
                value: op.value.clone().unwrap_or_default(),
                thread: op.thread.clone(),
                at: operation.at,
            });
            let x = short_variable(&op.target);
            Statement::new(format!("{who} leaves {method}; {x} is {value} now."), claims)
        }
        None => Statement::new(format!("{who} leaves {method}."), claims),
    }
}

fn present(action: Action) -> &'static str {
    match action {
        Action::Acquire => "takes",
        Action::Release => "gives back",
        Action::Wait => "waits and gives up",
        Action::Resume => "has back",
        Action::Fork => "starts",
        Action::Join => "has seen the end of",
        Action::Call => "calls",
        Action::Return => "returns from",
        Action::Notify | Action::NotifyAll => "notifies",
        Action::Request => "asks for",
        other => other.verb(),
    }
}

/// The value in a sentence.
fn value(operation: &Operation) -> Option<String> {
    short_value(operation.value.as_deref())
}

/// An access that is not part of the pattern.
fn plain(plot: &StoryInput<'_>, steps: &[SceneStep], index: usize, who: &str) -> Statement {
    let operation = &steps[index].operation;
    let x = short_variable(&operation.target);
    let foreign = operation.transaction.is_none();
    let aside =
        if foreign && plot.finding.scene.is_some() { ", outside of these blocks" } else { "" };
    let mut claims = vec![claim::access(operation)];
    if let Some(check @ [saw, _, now, acted]) =
        plot.stale_check().filter(|check| check[3].at == operation.at)
    {
        claims.push(headline::stale(check));
        return Statement::new(acts_late(who, x, saw, now, acted), claims);
    }
    let text = match (operation.action, value(operation)) {
        (Action::Read, Some(value)) => {
            let same =
                plot.three().map(|[first, second, _]| (first, second)).filter(|(first, second)| {
                    first.action == Action::Read
                        && first.value == operation.value
                        && first.target == operation.target
                        && second.thread == operation.thread
                        && first.at < operation.at
                        && operation.at < second.at
                });
            claims.extend(same.map(|(first, _)| claim::ordered(first, operation)));
            let too = if same.is_some() { ", too" } else { "" };
            format!("{who} reads {x}: {value}{too}{aside}.")
        }
        (Action::Read, None) => format!("{who} reads {x}{aside}."),
        (_, Some(value)) => format!("{who} writes {value} to {x}{aside}."),
        (_, None) => format!("{who} writes {x}{aside}."),
    };
    Statement::new(text, claims)
}

/// The act after a check that was outdated by then.
fn acts_late(who: &str, x: &str, saw: &Operation, now: &Operation, acted: &Operation) -> String {
    format!(
        "{who} writes {} to {x}, which was {} by then. It was {} when {who} looked first.",
        shown(acted),
        shown(now),
        shown(saw)
    )
}

/// What is said of three accesses that make a violation.
struct Scene<'p, 'a> {
    plot: &'p StoryInput<'a>,
    three: [&'a Operation; 3],
    x: String,
    torn: String,
    other: String,
    block: String,
}

/// One of the three accesses that make the violation.
fn of_key<'a>(
    plot: &StoryInput<'a>,
    three: [&'a Operation; 3],
    place: usize,
    who: &str,
) -> Statement {
    let block = match plot.lanes.first().map(|lane| lane.block.as_str()) {
        None | Some("") => "the block".to_owned(),
        Some(name) => ellipsis(name, 40),
    };
    let scene = Scene {
        plot,
        three,
        x: plot.key_variable(),
        torn: ellipsis(&three[0].thread, 40),
        other: ellipsis(&three[1].thread, 40),
        block,
    };
    let mut told = match place {
        _ if three[0].is_of_contents() => scene.of_contents(place, who),
        0 => scene.first(who),
        1 => scene.second(who),
        _ => scene.third(who),
    };
    told.claims.push(claim::access(three[place.min(2)]));
    told
}

/// A value as sentences have it.
fn shown(operation: &Operation) -> String {
    value(operation).unwrap_or_else(|| "a value".to_owned())
}

impl Scene<'_, '_> {
    fn first(&self, who: &str) -> Statement {
        let ([first, ..], x) = (self.three, &self.x);
        Statement::plain(match first.action {
            Action::Read => format!("{who} reads {x}: {}, and goes on with it.", shown(first)),
            _ => format!("{who} writes {} to {x}; {} is not done yet.", shown(first), self.block),
        })
    }

    /// Calls of a collection. What it holds is not known, only that it was changed.
    fn of_contents(&self, place: usize, who: &str) -> Statement {
        let Self { three: [first, second, third], x, torn, block, .. } = self;
        let own = self.three[place.min(2)];
        let verb = if own.action == Action::Read { "looks at" } else { "changes" };
        let tail = match place {
            0 => format!("; {block} is not done yet"),
            1 => format!(", while {block} of {torn} is at work"),
            _ if second.action == Action::Write => {
                format!(", which is not as before: {} has changed it", self.other)
            }
            _ => String::new(),
        };
        Statement::new(
            format!("{who} {verb} {x}{tail}."),
            vec![claim::between(first, second, third)],
        )
    }

    fn second(&self, who: &str) -> Statement {
        let Self { plot, three: [first, second, third], x, torn, .. } = self;
        let v = shown(second);
        let tear = claim::between(first, second, third);
        match self.plot.pattern.as_str() {
            "RWW" | "RWR" if plot.course.knows_only(first, second.at) => Statement::new(
                format!("{who} writes {v} to {x}. {torn} still holds {}.", shown(first)),
                vec![tear, claim::knows_only(first, second.at)],
            ),
            "WWR" | "WWW" if plot.course.is_direct(first, second) => Statement::new(
                format!("{who} writes {v} to {x}, over the {} of {torn}.", shown(first)),
                vec![tear, claim::overwritten(first, second)],
            ),
            "WRW" => Statement::new(
                format!("{who} reads {x}: {v}, while {} of {torn} is still at work.", self.block),
                vec![tear],
            ),
            _ => {
                let block = &self.block;
                let text = format!("{who} writes {v} to {x}, while {block} of {torn} is at work.");
                Statement::new(text, vec![tear])
            }
        }
    }

    fn third(&self, who: &str) -> Statement {
        let Self { plot, three, x, other, .. } = self;
        let [first, second, third] = *three;
        let v = shown(third);
        match plot.pattern.as_str() {
            "RWW" => self.update(who),
            "RWR" if first.value == third.value => {
                Statement::plain(format!("{who} reads {x} again: {v}."))
            }
            "RWR" => Statement::new(
                format!("{who} reads {x} again: {v}. A moment ago it was {}.", shown(first)),
                vec![claim::ordered(first, third)],
            ),
            "WWR" if first.value != third.value => Statement::new(
                format!("{who} reads {x}: {v}, and not the {} just written.", shown(first)),
                vec![claim::ordered(first, third)],
            ),
            "WRW" if plot.course.is_source(first, second) => Statement::new(
                format!("{who} writes {v} to {x}. What {other} saw was never meant to be seen."),
                vec![claim::read_from(second, first)],
            ),
            "WWW" if plot.course.is_direct(second, third) => Statement::new(
                format!("{who} writes {v} to {x}. {other}’s {} is overwritten.", shown(second)),
                vec![claim::overwritten(second, third)],
            ),
            _ if third.action == Action::Read => Statement::plain(format!("{who} reads {x}: {v}.")),
            _ => Statement::plain(format!("{who} writes {v} to {x}.")),
        }
    }

    /// The write of a block that had read the variable before another thread wrote it.
    fn update(&self, who: &str) -> Statement {
        let Self { plot, three, x, other, .. } = self;
        let [first, second, third] = *three;
        let (v, had, gone) = (shown(third), shown(first), shown(second));
        match plot.update() {
            Some(Update::Stale { now }) => Statement::new(
                acts_late(who, x, first, now, third),
                vec![headline::stale([first, second, now, third])],
            ),
            Some(Update::Lost) if plot.course.knows_only(first, third.at) => {
                let knew = match first.value.as_deref() {
                    Some("null") => format!(": it was null when {who} looked"),
                    _ => format!(", knowing only the {had} from before"),
                };
                Statement::new(
                    format!("{who} writes {v} to {x}{knew}. {other}’s {gone} is overwritten."),
                    vec![claim::knows_only(first, third.at), claim::lost(second, third)],
                )
            }
            _ if plot.course.is_direct(second, third) => Statement::new(
                format!("{who} writes {v} to {x}. {other}’s {gone} is overwritten."),
                vec![claim::overwritten(second, third)],
            ),
            _ => Statement::plain(format!("{who} writes {v} to {x}.")),
        }
    }
}
