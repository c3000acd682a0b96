//! The report as one web page that needs nothing else: no network, no other file.
//!
//! Names come from the program under test and are never trusted. They travel in a JSON block in which
//! `<` is escaped, the script builds the page from text nodes only, and the policy of the page allows
//! exactly this script and this style, by their hashes, and no connection at all.

use std::collections::HashMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::calls::CallTable;
use crate::coverage;
use crate::failure::Failure;
use crate::model::{CheckSummary, Excerpt, Finding, Report};
use crate::phrasing::{count, number};
use crate::story::{Story, stories};
use crate::text::{plain, xml};

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = concat!(include_str!("html/style.css"), include_str!("html/narrow.css"));
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("html/base.js"),
    include_str!("html/source.js"),
    include_str!("html/diagram.js"),
    include_str!("html/stage.js"),
    include_str!("html/below.js"),
    include_str!("html/rail.js"),
    include_str!("html/page.js"),
    "})();\n"
);

/// Longer names and values are cut: they would fill the page.
const MAX_TEXT: usize = 2_000;

/// What the script reads.
#[derive(Serialize)]
struct Data<'a> {
    tool: &'a str,
    title: String,
    /// What was checked, in a word.
    name: String,
    command: String,
    /// How much was analysed.
    line: String,
    /// What was not analysed, a sentence each.
    unseen: Vec<String>,
    empty: Empty,
    excerpts: Vec<&'a Excerpt>,
    stories: Vec<Entry>,
    failures: Vec<FailedRun>,
    /// What is not counted, a line each.
    folded: Vec<String>,
}

/// A way in which runs failed.
#[derive(Serialize)]
struct FailedRun {
    title: String,
    calls: Option<CallTable>,
    sentences: Vec<String>,
    replay: String,
}

#[derive(Serialize)]
struct Empty {
    title: &'static str,
    text: String,
    command: String,
}

#[derive(Serialize)]
struct Entry {
    #[serde(flatten)]
    story: Story,
    /// Its excerpts, by index.
    sources: Vec<usize>,
}

/// The page.
///
/// # Panics
/// Never: the data has text keys and finite numbers only.
pub fn render(report: &Report) -> String {
    let data = data(report);
    let mut value = serde_json::to_value(&data).expect("the data is always valid JSON");
    tame(&mut value);
    let json = serde_json::to_string(&value).expect("a value is always valid JSON");
    // Neither an end tag nor a comment can begin in it.
    let json = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    // Each piece is put in where the page names it, in order, so that no piece can name another.
    let mut out = String::with_capacity(PAGE.len() + STYLE.len() + SCRIPT.len() + json.len() + 512);
    let mut rest = PAGE;
    let title = xml(&data.title);
    for (mark, text) in [
        ("{csp}", policy.as_str()),
        ("{title}", title.as_str()),
        ("{style}", STYLE),
        ("{data}", json.as_str()),
        ("{script}", SCRIPT),
    ] {
        let (before, after) = rest.split_once(mark).expect("the page names each piece once");
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out + rest
}

fn hash(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

/// Written here because the hash of the page's policy is all that needs it: a crate would be longer than this.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

/// Cuts what is far too long, and writes out what reorders or hides text.
fn tame(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => {
            if text.len() > MAX_TEXT {
                *text = text.chars().take(MAX_TEXT).collect::<String>() + "…";
            }
            // Tabs are part of source lines.
            *text = text.split('\t').map(plain).collect::<Vec<_>>().join("\t");
        }
        serde_json::Value::Array(all) => all.iter_mut().for_each(tame),
        serde_json::Value::Object(all) => all.values_mut().for_each(tame),
        _ => {}
    }
}

fn data(report: &Report) -> Data<'_> {
    let (mut excerpts, mut known) = (Vec::new(), HashMap::new());
    let mut index = |excerpt| {
        *known.entry(excerpt).or_insert_with(|| {
            excerpts.push(excerpt);
            excerpts.len() - 1
        })
    };
    let found = report.findings().map(|finding: &Finding| &finding.sources);
    let unreached = report.check.iter().flat_map(|check| &check.unreached);
    let mut sources = found.chain(unreached.map(|prediction| &prediction.sources));
    let stories = stories(report)
        .into_iter()
        .map(|story| {
            let own = sources.next().map_or(&[][..], Vec::as_slice);
            Entry { story, sources: own.iter().map(&mut index).collect() }
        })
        .collect();
    let name = name(report);
    Data {
        tool: &report.tool,
        title: format!("Untorn report: {name}"),
        name,
        command: command(report),
        line: line(report),
        unseen: unseen(report),
        empty: empty(report),
        excerpts,
        stories,
        failures: report.failures.iter().map(failed_run).collect(),
        folded: report.folded.iter().map(crate::folded::FoldedFinding::line).collect(),
    }
}

fn failed_run(failure: &Failure) -> FailedRun {
    FailedRun {
        title: format!("Failure {}: {}", failure.number, failure.headline),
        calls: failure.calls.clone(),
        // The table is shown as one.
        sentences: match &failure.calls {
            None => failure.sentences(),
            Some(table) => {
                let own = Failure { calls: None, ..failure.clone() };
                [table.verdict(), table.nearest_order()]
                    .into_iter()
                    .chain(own.sentences())
                    .collect()
            }
        },
        replay: failure.evidence.replay.clone(),
    }
}

/// The program or the trace, in a word.
fn name(report: &Report) -> String {
    let last = |text: &str| text.rsplit(['/', '\\']).next().unwrap_or(text).to_owned();
    if let Some(check) = &report.check {
        let mut words = check.command.iter().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "-cp" | "-classpath" | "--class-path" | "-p" | "--module-path" => {
                    words.next();
                }
                word if word.starts_with('-') => {}
                word => return last(word),
            }
        }
        return check.command.first().map_or_else(String::new, |word| last(word));
    }
    match report.traces.as_slice() {
        [] => "nothing".to_owned(),
        [one] => last(&one.facts.file),
        many => count(many.len() as u64, "trace"),
    }
}

fn command(report: &Report) -> String {
    match &report.check {
        Some(check) => format!("untorn check -- {}", check.command.join(" ")),
        None => {
            let files = report.traces.iter().map(|trace| trace.facts.file.as_str());
            format!("untorn analyze {}", files.collect::<Vec<_>>().join(" "))
        }
    }
}

fn line(report: &Report) -> String {
    if let Some(check) = &report.check {
        let stopped = if check.interrupted { " · interrupted" } else { "" };
        return format!(
            "{} ({} directed) · {} · up to {} · {:.1} s{stopped}",
            count(check.runs, "run"),
            number(check.directed),
            count(check.events, "event"),
            count(check.threads, "thread"),
            check.milliseconds as f64 / 1000.0
        );
    }
    let sum = |of: fn(&crate::model::TraceSummary) -> u64| -> u64 {
        report.traces.iter().map(|trace| of(&trace.facts)).sum()
    };
    format!(
        "{} · {} · {}",
        count(sum(|f| f.events), "event"),
        count(sum(|f| f.threads), "thread"),
        count(sum(|f| f.blocks), "block")
    )
}

fn unseen(report: &Report) -> Vec<String> {
    let mut out: Vec<String> = report.check.iter().flat_map(|check| check.unseen.clone()).collect();
    let left_out = report.check.as_ref().map_or(0, |check| check.left_out);
    if left_out > 0 {
        out.push(format!(
            "{} at the ends of long runs were not looked at",
            count(left_out, "event")
        ));
    }
    let notes = report.traces.iter().flat_map(|trace| &trace.notes);
    out.extend(notes.map(|note| note.text.clone()));
    out
}

fn empty(report: &Report) -> Empty {
    let seen = match &report.check {
        Some(check) => format!("{} and {}", count(check.runs, "run"), count(check.events, "event")),
        None => line(report),
    };
    let parts = unseen(report).len() as u64;
    let blind = match parts {
        0 => String::new(),
        1 => "one part of the program was not instrumented, and ".to_owned(),
        parts => format!("{} parts of the program were not instrumented, and ", number(parts)),
    };
    let harmless = report.check.as_ref().filter(|check| check.harmless > 0).map_or_else(
        String::new,
        |check: &CheckSummary| {
            format!(" {} happened without harm.", count(check.harmless, "candidate"))
        },
    );
    let gaps = report.check.as_ref().map_or(&[][..], |check| &check.gaps);
    let why = match coverage::why(gaps) {
        why if why.is_empty() => why,
        why => format!(" What is missing: {why}."),
    };
    Empty {
        title: match (report.failures.is_empty(), gaps.is_empty()) {
            (true, true) => "No torn block was found in this run.",
            (true, false) => "Inconclusive: no torn block was found, but too little was looked at.",
            (false, _) => "No torn block was found, but runs failed.",
        },
        text: format!(
            "Untorn watched {seen}.{why} That is evidence, not proof: {blind}schedules that never came up were not \
             judged.{harmless}"
        ),
        command: report.check.as_ref().map_or_else(String::new, |check| {
            format!("untorn check --time 10m --runs 5000 -- {}", check.command.join(" "))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads() {
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"f"), "Zg==");
        assert_eq!(base64(b"fo"), "Zm8=");
        assert_eq!(base64(b"foo"), "Zm9v");
        assert_eq!(base64(b"foobar"), "Zm9vYmFy");
    }
}
