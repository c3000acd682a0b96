//! The findings for an issue: everything a reader needs, in a form that every forge shows.
//!
//! Names are put into code spans or escaped: they must neither become markup nor mention a user.

use crate::coverage;
use crate::failure::Failure;
use crate::groups;
use crate::model::{FindingKind, Report};
use crate::scene::split_place;
use crate::story::{Kind, Status, Story, stories};
use crate::text::plain;

pub fn render(report: &Report) -> String {
    let all = stories(report);
    let mut out = overview(report);
    let confirmed = all.iter().filter(|story| story.status == Status::Confirmed);
    for story in confirmed {
        out.push_str(&finding(story));
    }
    out.extend(report.failures.iter().map(failed));
    let open: Vec<&Story> = all.iter().filter(|story| story.status != Status::Confirmed).collect();
    if !open.is_empty() {
        out.push_str("## Not reached\n\nPredicted or undecided; none of these was observed.\n\n");
        for story in open {
            out.push_str(&format!(
                "- {} ({}): {}\n",
                code(&story.block),
                escape(story.kind),
                escape(&story.gist)
            ));
        }
        out.push('\n');
    }
    if !report.folded.is_empty() {
        out.push_str("## Not counted\n\n");
        for folded in &report.folded {
            out.push_str(&format!("- {}\n", escape(&folded.line())));
        }
        out.push('\n');
    }
    if out.is_empty() {
        let gaps = report.check.as_ref().map_or(&[][..], |check| &check.gaps);
        out.push_str(&match coverage::why(gaps) {
            why if why.is_empty() => {
                "No torn block was found. That is evidence, not proof.\n".to_owned()
            }
            why => format!("**Inconclusive**: no torn block was found, but {why}.\n"),
        });
    }
    out
}

/// The blocks with several findings, each with its variables and places.
fn overview(report: &Report) -> String {
    let groups = groups::by_block(report.findings());
    let mut out = String::new();
    for group in groups.iter().filter(|group| group.len() > 1) {
        out.push_str(&format!("**{}**\n\n", escape(&group.headline())));
        for line in group.lines() {
            out.push_str(&format!("- {}\n", escape(&line)));
        }
        out.push('\n');
    }
    out
}

/// A way in which runs failed.
fn failed(failure: &Failure) -> String {
    let mut out = format!("## Failure {}: {}\n\n", failure.number, escape(&failure.headline));
    for sentence in failure.sentences() {
        out.push_str(&format!("- {}\n", escape(&sentence)));
    }
    if !failure.evidence.inputs.is_empty() {
        out.push_str(&format!("- With {}.\n", code(&failure.evidence.inputs)));
    }
    out.push_str(&format!("\nSee it again: {}\n\n", code(&failure.evidence.replay)));
    out
}

fn finding(story: &Story) -> String {
    let mut out = format!("## {}\n\n{}\n\n", escape(&story.title()), escape(&story.dek));
    out.push_str("| | thread | place | step |\n| ---: | --- | --- | --- |\n");
    for row in story.rows.iter().filter(|row| row.step.is_some() && row.kind != Kind::Effect) {
        let bold = if row.key { "**" } else { "" };
        let place = if row.place.is_empty() { String::new() } else { code(&row.place) };
        out.push_str(&format!(
            "| {} | {} | {place} | {bold}{}{bold} |\n",
            row.step.unwrap_or_default(),
            escape(&story.lanes[row.lane].name),
            escape(&row.text),
        ));
    }
    out.push_str(match story.fault {
        FindingKind::Torn => "\n### Why this is not atomic\n\n",
        FindingKind::Deadlock => "\n### Why no thread can continue\n\n",
    });
    for sentence in &story.proof {
        out.push_str(&format!("- {}\n", escape(sentence)));
    }
    if let Some(orders) = &story.orders {
        out.push_str(&format!("- {}\n", escape(&orders.verdict)));
    }
    if !story.fixes.is_empty() {
        out.push_str("\n### How to fix it\n\n");
        for fix in &story.fixes {
            out.push_str(&format!("- **{}.** {}\n", escape(&fix.title), escape(&fix.text)));
            if !fix.added.is_empty() {
                out.push_str("\n  ```diff\n");
                for (sign, line) in
                    fix.removed.iter().map(|l| ('-', l)).chain(fix.added.iter().map(|l| ('+', l)))
                {
                    out.push_str(&format!(
                        "  {sign} {}\n",
                        plain(line.trim()).replace("```", "`\u{2060}``")
                    ));
                }
                out.push_str("  ```\n\n");
            }
        }
    }
    if !story.replay.command.is_empty() {
        out.push_str(&format!("\nSee it again: {}\n", code(&story.replay.command)));
    }
    out + "\n"
}

/// A place as a link target is of no use outside of the machine: it stays text.
fn code(text: &str) -> String {
    let text = plain(text).replace('|', "\\|");
    // A fence one longer than any run of backticks inside.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    debug_assert!(split_place(&text).is_none() || !text.contains('\n'));
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Text in which nothing is markup and no user is mentioned.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in plain(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '|' | '!' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // Account#1 and @name would become links.
            '#' => out.push_str("&#35;"),
            '@' => out.push_str("&#64;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_becomes_markup() {
        assert_eq!(escape("<b> @all #1 *x*"), "&lt;b&gt; &#64;all &#35;1 \\*x\\*");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
    }
}
