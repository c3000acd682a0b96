//! What did not happen: predictions that were not reached, and questions without an answer. They
//! must never look like something that was seen.

use super::rows::{Kind, Row, number, rips_of};
use super::{
    Card, Lane, Link, Node, Notice, Span, Status, Story, Variable, headline, short_variable,
    split_block,
};
use crate::model::{CheckFacts, Fault, TraceReport, Unreached};
use crate::scene::split_place;
use crate::text::ellipsis;
use crate::words;

const TORN: &str = "One thread";
const OTHER: &str = "Another thread";

pub fn story(unreached: &Unreached, number: u32, check: Option<&CheckFacts>) -> Story {
    let x = short_variable(&unreached.variable).to_owned();
    let (class, method) = split_block(&unreached.block);
    let letters: Vec<char> = unreached.pattern.chars().collect();
    let verb = |index: usize| if letters.get(index) == Some(&'W') { "write" } else { "read" };
    let file = |index: usize| {
        let place = unreached.places.get(index).and_then(|place| split_place(place));
        place.map_or_else(String::new, |(file, _)| file.to_owned())
    };
    let (rows, rips) = picture(unreached, &x);
    let command = check.map_or_else(Vec::new, |check| check.command.clone());
    Story {
        number,
        fault: Fault::Torn,
        status: Status::Predicted,
        pattern: unreached.pattern.clone(),
        kind: headline::name_of(&unreached.pattern),
        block: unreached.block.clone(),
        class: class.to_owned(),
        labels: Vec::new(),
        headline: vec![
            Span { text: OTHER.to_owned(), lane: Some(1) },
            Span { text: format!(" might {} {} between two accesses of ", verb(1), ellipsis(&x, 40)), lane: None },
            Span { text: ellipsis(method, 40), lane: Some(0) },
            Span { text: ": possible on paper, but no run has reached it.".to_owned(), lane: None },
        ],
        dek: format!(
            "A {} and a {} of {x} in {method} belong together; a {} by another thread would come between \
             them. It has not been observed.",
            verb(0),
            verb(2),
            verb(1)
        ),
        gist: unreached.why.clone(),
        replay: harder(&command),
        notice: Some(Notice {
            title: "Why it was not reached".to_owned(),
            text: format!("{}. This may be impossible; it is neither a violation nor a pass.", capital(&unreached.why)),
        }),
        lanes: vec![
            Lane { name: TORN.to_owned(), block: method.to_owned(), file: file(0) },
            Lane { name: OTHER.to_owned(), block: String::new(), file: file(1) },
        ],
        variables: vec![Variable { name: x, full: unreached.variable.clone(), before: None }],
        nodes: vec![
            Node { name: TORN.to_owned(), block: method.to_owned(), lane: 0 },
            Node { name: OTHER.to_owned(), block: String::new(), lane: 1 },
        ],
        links: links(&rows, &letters),
        rows,
        rips,
        orders: None,
        proof: vec![
            "If it happened in this order, the block would have to run before the other access and after it: \
             a conflict cycle. Whether the values would show it is open."
                .to_owned(),
        ],
        fixes: Vec::new(),
        evidence: vec![
            ("Seen in".to_owned(), "no run".to_owned()),
            ("Places".to_owned(), unreached.places.join(", ")),
            ("Variable".to_owned(), unreached.variable.clone()),
            ("Block".to_owned(), unreached.block.clone()),
        ],
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(char::to_uppercase).into_iter().flatten().chain(letters).collect()
}

fn harder(command: &[String]) -> Card {
    let command = command.iter().map(|word| shell(word)).collect::<Vec<_>>().join(" ");
    Card {
        title: "Try harder to reach it".to_owned(),
        command: format!("untorn check --time 10m --per-candidate 40 -- {command}"),
        note: "Nothing to replay yet: no run contains this order".to_owned(),
    }
}

/// A word as a shell takes it.
pub fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn picture(unreached: &Unreached, x: &str) -> (Vec<Row>, Vec<super::Rip>) {
    let method = split_block(&unreached.block).1;
    let access = |index: usize| {
        let write = unreached.pattern.chars().nth(index) == Some('W');
        let lane = usize::from(index == 1);
        let mut row = Row::new(if write { Kind::Write } else { Kind::Read }, lane);
        row.key = true;
        row.node = Some(lane);
        row.variable = Some(0);
        row.place = unreached.places.get(index).cloned().unwrap_or_default();
        let who = if lane == 0 { TORN } else { OTHER };
        row.text = format!("{who} would {} {x}.", if write { "write" } else { "read" });
        row
    };
    let mut begin = Row::new(Kind::Begin, 0);
    begin.node = Some(0);
    begin.label = method.to_owned();
    begin.text = format!("{TORN} enters {method}.");
    let switch = |lane: usize, to: &str| {
        let mut row = Row::new(Kind::Switch, lane);
        row.label = format!("switch to {to}");
        row
    };
    let mut rows =
        vec![begin, access(0), switch(1, "another"), access(1), switch(0, "the first"), access(2)];
    number(&mut rows);
    let mut rips = rips_of(&rows, &[x.to_owned()]);
    for rip in &mut rips {
        rip.belief = format!("relies on {}", ellipsis(x, 14));
    }
    (rows, rips)
}

fn links(rows: &[Row], letters: &[char]) -> Vec<Link> {
    let keys: Vec<usize> = (0..rows.len()).filter(|&index| rows[index].key).collect();
    let verb = |index: usize| if letters.get(index) == Some(&'W') { "write" } else { "read" };
    let link = |from: usize, because: &str| Link {
        kind: format!("{} → {}", verb(from), verb(from + 1)),
        because: because.to_owned(),
        rows: keys.get(from).copied().zip(keys.get(from + 1).copied()).map(|(a, b)| [a, b]),
    };
    vec![
        link(0, "first access before the other thread’s"),
        link(1, "and that before the second access"),
    ]
}

/// A trace that no checker decided.
pub fn undecided(trace: &TraceReport, number: u32) -> Story {
    let names: Vec<&str> = trace.checkers.iter().map(|checker| checker.name.as_str()).collect();
    Story {
        number,
        fault: Fault::Torn,
        status: Status::Undecided,
        pattern: String::new(),
        kind: "No verdict",
        block: trace.facts.file.clone(),
        class: String::new(),
        labels: Vec::new(),
        headline: vec![Span {
            text: "No verdict: no checker that decides has read this trace to its end.".to_owned(),
            lane: None,
        }],
        dek: format!(
            "The trace has {} of {}.",
            words::count(trace.facts.events, "event"),
            words::count(trace.facts.threads, "thread")
        ),
        gist: format!("read by {}", words::list(&names, 3)),
        replay: Card {
            title: "Decide it".to_owned(),
            command: format!("untorn analyze {}", shell(&trace.facts.file)),
            note: "The default checkers decide exactly".to_owned(),
        },
        notice: Some(Notice {
            title: "How to get a verdict".to_owned(),
            text: "Run a checker that decides. Until then, read this as unknown, not as safe."
                .to_owned(),
        }),
        lanes: Vec::new(),
        variables: Vec::new(),
        rows: Vec::new(),
        rips: Vec::new(),
        nodes: Vec::new(),
        links: Vec::new(),
        orders: None,
        proof: Vec::new(),
        fixes: Vec::new(),
        evidence: trace.notes.iter().map(|note| ("Note".to_owned(), note.text.clone())).collect(),
    }
}
