//! A finding as a picture: one lane for each thread, time downwards, blocks as boxes, the blamed
//! block ripped where other threads got in, an arrow for each conflict of the cycle.
//!
//! The picture is laid out here, without Graphviz, under three rules that keep it readable: a row
//! holds one event only; text is in its lane, arrows bend only between lanes; an arrow crosses
//! foreign lanes only in the row of its first operation, where nothing else stands.
//!
//! One file serves light and dark surroundings: the colours follow the viewer's preference.

mod draw;
mod layout;
mod style;

use std::borrow::Cow;

use crate::model::Finding;
use crate::text::xml;
use layout::{Layout, MARGIN};

/// All findings below each other in one picture; a sentence if there are none.
pub fn render<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> String {
    let mut parts = String::new();
    let (mut width, mut height) = (0.0_f64, 0.0_f64);
    let mut title = String::new();
    for finding in findings {
        let finding = &*forward(finding);
        let layout = Layout::new(finding);
        let y = if height > 0.0 { height + MARGIN } else { 0.0 };
        parts.push_str(&format!("<g transform=\"translate(0 {y})\">\n"));
        parts.push_str(&draw::finding(finding, &layout));
        parts.push_str("</g>\n");
        width = width.max(layout.width);
        height = y + layout.height;
        if title.is_empty() {
            title.clone_from(&finding.headline);
        }
    }
    if parts.is_empty() {
        (width, height) = (420.0, 72.0);
        title = "No torn block in this trace".to_owned();
        parts = format!("<text class=\"title\" x=\"{MARGIN}\" y=\"42\">{title}</text>\n");
    }
    document(width, height, &title, &parts)
}

/// Arrows lead down. Those of a deadlock lead from the thread that holds a lock to the one that waits for it, which
/// comes later.
fn forward(finding: &Finding) -> Cow<'_, Finding> {
    if !finding.is_deadlock() {
        return Cow::Borrowed(finding);
    }
    let mut turned = finding.clone();
    for edge in &mut turned.edges {
        (edge.from, edge.to) = (edge.to, edge.from);
    }
    Cow::Owned(turned)
}

fn document(width: f64, height: f64, title: &str, parts: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<style>\n{}</style>\n\
         {}<rect class=\"surface\" width=\"100%\" height=\"100%\"/>\n{parts}</svg>\n",
        xml(title),
        style::css(),
        style::DEFINITIONS,
    )
}
