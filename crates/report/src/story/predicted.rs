//! What did not happen: predictions that were not reached, and questions without an answer. They
//! must never look like something that was observed.

use super::rows::{Kind, Row, number, rips_of};
use super::{
    Card, Lane, Link, Node, Notice, Span, Status, Story, Variable, headline, short_variable,
    split_block,
};
use crate::model::{CheckSummary, FindingKind, NoFinding, TraceReport};
use crate::phrasing;
use crate::scene::split_place;
use crate::text::ellipsis;

const TORN: &str = "One thread";
const OTHER: &str = "Another thread";

/// A prediction, and what its accesses are called.
struct Guess<'a> {
    unreached: &'a NoFinding,
    method: &'a str,
    /// Three accesses of one variable, or four of two.
    letters: Vec<char>,
    variables: Vec<Variable>,
    /// All variables in a sentence.
    x: String,
}

impl<'a> Guess<'a> {
    fn new(unreached: &'a NoFinding) -> Self {
        let letters: Vec<char> = unreached.pattern.chars().collect();
        let full: Vec<&str> = match letters.len() {
            4 => unreached.variable.split(" and ").collect(),
            _ => vec![&unreached.variable],
        };
        let variable = |full: &&str| Variable {
            name: short_variable(full).to_owned(),
            full: (*full).to_owned(),
            before: None,
        };
        let variables: Vec<Variable> = full.iter().map(variable).collect();
        let names: Vec<String> = variables.iter().map(|v| ellipsis(&v.name, 40)).collect();
        let x = match (names.as_slice(), letters.len()) {
            ([one], 4) => format!("two elements of {one}"),
            (names, _) => phrasing::list(names, 2),
        };
        Self { unreached, method: split_block(&unreached.block).1, letters, variables, x }
    }

    fn verb(&self, index: usize) -> &'static str {
        if self.letters.get(index) == Some(&'W') { "write" } else { "read" }
    }

    /// The first and the last access are those of the block.
    fn lane(&self, index: usize) -> usize {
        usize::from(index != 0 && index + 1 != self.count())
    }

    fn count(&self) -> usize {
        self.letters.len().clamp(3, 4)
    }

    /// Which variable an access is of, where the prediction contains it.
    fn variable(&self, index: usize) -> Option<usize> {
        match self.count() {
            4 if self.lane(index) == 1 => None,
            4 if index > 0 => Some(self.variables.len() - 1),
            _ => Some(0),
        }
    }

    fn file(&self, index: usize) -> String {
        let place = self.unreached.places.get(index).and_then(|place| split_place(place));
        place.map_or_else(String::new, |(file, _)| file.to_owned())
    }

    fn dek(&self) -> String {
        let (x, method) = (&self.x, self.method);
        match self.count() {
            4 => format!(
                "{method} accesses {x} one after the other, and they belong together; another thread would access both \
                 in between. It has not been observed."
            ),
            _ => format!(
                "A {} and a {} of {x} in {method} belong together; a {} by another thread would come between \
                 them. It has not been observed.",
                self.verb(0),
                self.verb(2),
                self.verb(1)
            ),
        }
    }
}

pub fn story(unreached: &NoFinding, number: u32, check: Option<&CheckSummary>) -> Story {
    let guess = Guess::new(unreached);
    let (class, method) = split_block(&unreached.block);
    let verb = if guess.count() == 4 { "access" } else { guess.verb(1) };
    let (rows, rips) = picture(&guess);
    let command = check.map_or_else(Vec::new, |check| check.command.clone());
    let might = format!(" might {verb} {} between two accesses of ", guess.x);
    let plain = |text: String| Span { text, lane: None };
    Story {
        number,
        fault: FindingKind::Torn,
        status: Status::Predicted,
        pattern: unreached.pattern.clone(),
        kind: headline::name_of(&unreached.pattern),
        block: unreached.block.clone(),
        class: class.to_owned(),
        labels: Vec::new(),
        headline: vec![
            Span { text: OTHER.to_owned(), lane: Some(1) },
            plain(might),
            Span { text: ellipsis(method, 40), lane: Some(0) },
            plain(": possible on paper, but no run has reached it.".to_owned()),
        ],
        dek: guess.dek(),
        gist: unreached.why.clone(),
        replay: harder(&command),
        notice: Some(Notice {
            title: "Why it was not reached".to_owned(),
            text: format!(
                "{}. This may be impossible; it is neither a violation nor a pass.",
                capital(&unreached.why)
            ),
        }),
        lanes: vec![
            Lane { name: TORN.to_owned(), block: method.to_owned(), file: guess.file(0) },
            Lane { name: OTHER.to_owned(), block: String::new(), file: guess.file(1) },
        ],
        nodes: vec![
            Node { name: TORN.to_owned(), block: method.to_owned(), lane: 0 },
            Node { name: OTHER.to_owned(), block: String::new(), lane: 1 },
        ],
        links: links(&guess, &rows),
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
        variables: guess.variables,
        claims: Vec::new(),
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

/// A word quoted for a shell.
pub fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn picture(guess: &Guess<'_>) -> (Vec<Row>, Vec<super::Rip>) {
    let method = guess.method;
    let access = |index: usize| {
        let (verb, lane) = (guess.verb(index), guess.lane(index));
        let mut row = Row::new(if verb == "write" { Kind::Write } else { Kind::Read }, lane);
        row.key = true;
        row.node = Some(lane);
        row.variable = guess.variable(index);
        row.place = guess.unreached.places.get(index).cloned().unwrap_or_default();
        let who = if lane == 0 { TORN } else { OTHER };
        let x = row.variable.map_or("one of the two", |index| &guess.variables[index].name);
        row.text = format!("{who} would {verb} {x}.");
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
    let last = guess.count() - 1;
    let mut rows = vec![begin, access(0), switch(1, "another")];
    rows.extend((1..last).map(access));
    rows.extend([switch(0, "the first"), access(last)]);
    number(&mut rows);
    let names: Vec<String> = guess.variables.iter().map(|variable| variable.name.clone()).collect();
    let mut rips = rips_of(&rows, &names, None);
    for rip in &mut rips {
        rip.belief = format!("relies on {}", ellipsis(&names[0], 14));
    }
    (rows, rips)
}

fn links(guess: &Guess<'_>, rows: &[Row]) -> Vec<Link> {
    let keys: Vec<usize> = (0..rows.len()).filter(|&index| rows[index].key).collect();
    let last = guess.count() - 1;
    let link = |from: usize, to: usize, because: &str| Link {
        kind: format!("{} → {}", guess.verb(from), guess.verb(to)),
        because: because.to_owned(),
        rows: keys.get(from).copied().zip(keys.get(to).copied()).map(|(a, b)| [a, b]),
        claims: Vec::new(),
    };
    vec![
        link(0, 1, "first access before the other thread’s"),
        link(last - 1, last, "and that before the second access"),
    ]
}

/// A trace that no checker decided.
pub fn undecided(trace: &TraceReport, number: u32) -> Story {
    let names: Vec<&str> = trace.checkers.iter().map(|checker| checker.name.as_str()).collect();
    Story {
        number,
        fault: FindingKind::Torn,
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
            phrasing::count(trace.facts.events, "event"),
            phrasing::count(trace.facts.threads, "thread")
        ),
        gist: format!("read by {}", phrasing::list(&names, 3)),
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
        claims: Vec::new(),
    }
}
