//! Whether the words of a sentence say more than its claims.
//!
//! Strong words need the claim that they stand for, values that a claim has must be in the sentence, and a number in the
//! sentence must be the value of a claim.

use untorn_report::claim::{Claim, Statement};

use super::record::Record;
use super::rules::facts;

/// Words, and whether a claim backs them.
type Rule = (&'static str, fn(&Claim) -> bool);

const RULES: &[Rule] = &[
    (" is lost", |claim| matches!(claim, Claim::Lost { .. })),
    ("replaced the one", |claim| matches!(claim, Claim::Lost { .. })),
    ("still knowing only", |claim| matches!(claim, Claim::KnowsOnly { .. })),
    ("knowing only the", |claim| matches!(claim, Claim::KnowsOnly { .. })),
    ("still holds", |claim| matches!(claim, Claim::KnowsOnly { .. })),
    ("overwr", |claim| matches!(claim, Claim::Overwritten { .. } | Claim::Lost { .. })),
    ("in between", |claim| {
        matches!(claim, Claim::Between { .. } | Claim::StaleCheck { .. } | Claim::ReadFrom { .. })
    }),
    (" between ", |claim| {
        matches!(claim, Claim::Between { .. } | Claim::StaleCheck { .. } | Claim::ReadFrom { .. })
    }),
    (" when it was ", |claim| matches!(claim, Claim::StaleCheck { .. })),
    (" by then", |claim| matches!(claim, Claim::StaleCheck { .. })),
    ("the check saw", |claim| matches!(claim, Claim::StaleCheck { .. })),
    (" saw the new ", |claim| matches!(claim, Claim::ReadFrom { .. })),
    ("the new value", |claim| matches!(claim, Claim::ReadFrom { .. })),
    ("the old value", |claim| matches!(claim, Claim::NotWritten { .. })),
    (", too", |claim| matches!(claim, Claim::Ordered(..))),
    (" ago", |claim| matches!(claim, Claim::Ordered(..))),
    ("just written", |claim| matches!(claim, Claim::Ordered(..))),
    (" now.", |claim| matches!(claim, Claim::HasNow { .. })),
    (" order gives what was observed", |claim| matches!(claim, Claim::Serial { fits: None, .. })),
    (" gives the same values here", |claim| matches!(claim, Claim::Serial { fits: Some(_), .. })),
];

/// A value may be cut where it is long.
const KEPT: usize = 8;

pub fn are_covered(told: &Statement, record: &Record) -> Result<(), String> {
    // The proof by values has its own words.
    if told.claims.is_empty() || told.text.is_empty() {
        return Ok(());
    }
    // Calls are no accesses: what is said of them is not checked here.
    let text = without_names(told, record).replace(" between the two calls", "");
    for (words, backs) in RULES {
        if text.contains(words) && !told.claims.iter().any(backs) {
            return Err(format!("nothing backs the words {:?}", words.trim()));
        }
    }
    let values: Vec<&str> = told.claims.iter().flat_map(values_of).collect();
    for claim in &told.claims {
        let Claim::Access(fact) = claim else { continue };
        let Some(value) = &fact.value else { continue };
        let start: String = value.chars().take(KEPT).collect();
        if !told.text.contains(&start) {
            return Err(format!("the value {value} is not told"));
        }
    }
    for number in numbers(&text) {
        let counts = |claim: &Claim| matches!(claim, Claim::Serial { orders, .. } if orders.to_string() == number);
        if told.claims.iter().any(counts) {
            continue;
        }
        if !values.iter().any(|value| value.starts_with(number)) {
            return Err(format!("{number} is no value of what is told"));
        }
    }
    Ok(())
}

fn values_of(claim: &Claim) -> Vec<&str> {
    let mut all: Vec<&str> =
        facts(claim).into_iter().filter_map(|fact| fact.value.as_deref()).collect();
    if let Claim::HadBefore { value, .. } | Claim::HasNow { value, .. } = claim {
        all.push(value);
    }
    all
}

/// The sentence without names of threads, variables and blocks: they may contain any word or number.
fn without_names(told: &Statement, record: &Record) -> String {
    let mut names: Vec<String> = record.threads.iter().cloned().collect();
    for claim in &told.claims {
        for fact in facts(claim) {
            names.extend(parts_of(&fact.variable));
        }
        match claim {
            Claim::Boundary { block, .. } | Claim::Inside { block, .. } => {
                names.extend(parts_of(block));
            }
            Claim::HadBefore { variable, .. }
            | Claim::HasNow { variable, .. }
            | Claim::NotWritten { variable, .. } => names.extend(parts_of(variable)),
            _ => {}
        }
    }
    // The longest first: one may be a part of another.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.iter().fold(told.text.clone(), |text, name| text.replace(name.as_str(), "·"))
}

/// A name as a whole, and what may be left of it in a sentence.
fn parts_of(name: &str) -> Vec<String> {
    let mut all = vec![name.to_owned()];
    all.extend(name.match_indices('.').map(|(at, _)| name[at + 1..].to_owned()));
    all.retain(|part| part.len() > 2 || part == name);
    all
}

/// The numbers that stand alone in a text.
fn numbers(text: &str) -> Vec<&str> {
    let is_edge =
        |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '.' | '(' | ')' | '’');
    text.split(is_edge).filter(|word| word.parse::<i64>().is_ok()).collect()
}
