//! The cycle as a Graphviz graph: a box for each transaction with the operations involved, an edge
//! for each conflict with its two operations, the closing edge dashed, the blamed box bold.

use std::fmt::Write;

use crate::model::{Edge, Finding};
use crate::operation::Operation;
use crate::text::{middle_ellipsis, plain, tail_ellipsis};

const NAME_COLUMNS: usize = 60;

/// All findings, one graph each: `dot -Tsvg -O` draws every graph of the file.
pub fn render<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> String {
    let mut out = String::new();
    for finding in findings {
        graph(&mut out, finding);
    }
    if out.is_empty() {
        out.push_str("// no violation\ndigraph none {\n}\n");
    }
    out
}

fn graph(out: &mut String, finding: &Finding) {
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!("digraph violation_{} {{", finding.number));
    line(format!("  label={};", quote(&format!("Warning: {}", finding.headline))));
    line("  labelloc=t; fontname=\"Helvetica\"; rankdir=TB;".to_owned());
    line("  node [shape=box, fontname=\"Courier\", fontsize=11];".to_owned());
    line("  edge [fontname=\"Courier\", fontsize=10];".to_owned());
    for index in 0..finding.transactions.len() {
        line(node(finding, index));
    }
    for (index, edge) in finding.edges.iter().enumerate() {
        line(arrow(finding, index, edge));
    }
    line("}".to_owned());
}

fn node(finding: &Finding, index: usize) -> String {
    let transaction = &finding.transactions[index];
    let name = match transaction.blocks.first() {
        Some(block) => middle_ellipsis(&plain(&block.name), NAME_COLUMNS),
        None => "outside of every block".to_owned(),
    };
    let thread = middle_ellipsis(&plain(&transaction.thread), NAME_COLUMNS);
    let mut label = format!("{}\\n{}\\n", escape(&thread), escape(&name));
    for (i, operation) in finding.operations.iter().enumerate() {
        if operation.transaction == Some(index) && finding.is_on_edge(i) {
            let _ = write!(label, "{}\\l", escape(&short(operation, true)));
        }
    }
    let bold = if transaction.blamed { ", penwidth=3" } else { "" };
    format!("  t{index} [label=\"{label}\"{bold}];")
}

fn arrow(finding: &Finding, index: usize, edge: &Edge) -> String {
    let next = (index + 1) % finding.transactions.len();
    let (from, to) = (&finding.operations[edge.from], &finding.operations[edge.to]);
    let label = format!("{}\\n→ {}", escape(&short(from, false)), escape(&short(to, false)));
    let dashed = if edge.closing { ", style=dashed" } else { "" };
    format!("  t{index} -> t{next} [label=\"{label}\"{dashed}];")
}

fn short(operation: &Operation, with_place: bool) -> String {
    let text = format!("{} {}", operation.action.verb(), operation.short_object(NAME_COLUMNS));
    match operation.place.as_str() {
        place if with_place && !place.is_empty() => {
            format!("{text}  {}", tail_ellipsis(&plain(place), NAME_COLUMNS))
        }
        _ => text,
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", escape(&plain(text)))
}

/// Inside a quoted string of DOT only the quote and the backslash (which starts escapes such as
/// `\n` and `\N`) are special.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
