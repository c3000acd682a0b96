//! One finding in plain words, for readers who have never seen one.

use crate::model::{CheckSummary, Finding};
use crate::story::{CALLED_THROUGH, Kind, Row, STALE_CHECK, Story, story};
use crate::terminal::{Look, paint};
use crate::text::{plain, wrap};
use anstyle::{AnsiColor, Style};

const TITLE: Style = Style::new().bold();
const KEY: Style = AnsiColor::Red.on_default().bold();
const FAINT: Style = Style::new().dimmed();

pub fn render(finding: &Finding, check: Option<&CheckSummary>, look: &Look) -> String {
    let story = story(finding, check);
    let mut page = Page { out: String::new(), look: *look };
    page.title(&story.title());
    page.text(&story.dek);
    page.title("What happened");
    for (_, path) in story.evidence.iter().filter(|(name, _)| name == CALLED_THROUGH) {
        page.text(&format!("called through {path}"));
    }
    for row in story.rows.iter().filter(|row| row.step.is_some()) {
        page.step(row);
    }
    if finding.is_deadlock() {
        page.title("Why no thread can continue");
    } else {
        page.title("Why that is not atomic");
        page.text(&crate::story::meaning(finding).unwrap_or_else(|| meaning(&story)));
    }
    for sentence in &story.proof {
        page.text(sentence);
    }
    if let Some(orders) = &story.orders {
        page.text(&orders.verdict);
    }
    if !story.fixes.is_empty() {
        page.title("What to do about it");
    }
    for fix in &story.fixes {
        page.item(&format!("{}. {}", fix.title, fix.text));
        for (sign, line) in fix
            .removed
            .iter()
            .map(|line| ('-', line))
            .chain(fix.added.iter().map(|line| ('+', line)))
        {
            page.code(&format!("{sign} {}", line.trim()));
        }
    }
    if !story.replay.command.is_empty() {
        page.title("See it happen");
        page.code(&story.replay.command);
    }
    page.out
}

/// What is broken, in the words of this block and this variable.
fn meaning(story: &Story) -> String {
    let block = crate::story::method(&story.block);
    let x = story.variables.first().map_or("it", |variable| variable.name.as_str());
    let torn = story.lanes.first().map_or("", |lane| lane.name.as_str());
    let other = story.rows.iter().find(|row| row.key && row.lane != 0);
    let other = other
        .and_then(|row| story.lanes.get(row.lane))
        .map_or("another", |lane| lane.name.as_str());
    match story.pattern.as_str() {
        _ if story.kind == STALE_CHECK => format!(
            "{block} looks at {x} and later writes it. Between the two, {other} wrote {x}: what {torn} had seen was no \
             longer true when it wrote. It had read {x} again by then, so no write is lost; what it decided by the \
             first look was out of date."
        ),
        "RWW" => format!(
            "{block} reads {x} and then writes it. Between the two, {other} wrote {x}: what {torn} had read was no \
             longer true."
        ),
        "RWR" => format!(
            "{block} reads {x} twice and needs both to tell the same story. Between the two, {other} wrote {x}."
        ),
        "WWR" => format!(
            "{block} writes {x} and reads it back. Between the two, {other} wrote something else."
        ),
        "WRW" => format!(
            "{block} writes {x} twice; the first value is only a step on the way. {other} read it before the second."
        ),
        "WWW" => format!("{block} writes {x} twice, and {other} wrote it in between."),
        _ => format!("The steps of {block} belong together, and others came between them."),
    }
}

struct Page {
    out: String,
    look: Look,
}

impl Page {
    fn title(&mut self, text: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        for line in wrap(&plain(text), self.look.width) {
            self.out.push_str(&format!("{}\n", paint(&line, TITLE, &self.look)));
        }
    }

    fn text(&mut self, text: &str) {
        self.lines(text, "  ", "  ");
    }

    fn item(&mut self, text: &str) {
        self.lines(text, "  * ", "    ");
    }

    fn code(&mut self, text: &str) {
        self.out.push_str(&format!("      {}\n", plain(text)));
    }

    fn lines(&mut self, text: &str, first: &str, next: &str) {
        let room = self.look.width.saturating_sub(first.len()).max(20);
        for (index, line) in wrap(&plain(text), room).iter().enumerate() {
            let start = if index == 0 { first } else { next };
            self.out.push_str(&format!("{start}{line}\n"));
        }
    }

    fn step(&mut self, row: &Row) {
        let number = format!("{:>3}. ", row.step.unwrap_or_default());
        let place =
            if row.place.is_empty() { String::new() } else { format!("  ({})", plain(&row.place)) };
        let room = self.look.width.saturating_sub(6).max(20);
        let lines = wrap(&plain(&row.text), room);
        let last = lines.len().saturating_sub(1);
        for (index, line) in lines.iter().enumerate() {
            let start = if index == 0 { number.as_str() } else { "     " };
            let key = row.key || row.kind == Kind::Effect;
            let line = if key { paint(line, KEY, &self.look) } else { line.clone() };
            let tail = if index == last { paint(&place, FAINT, &self.look) } else { String::new() };
            self.out.push_str(&format!(" {start}{line}{tail}\n"));
        }
    }
}
