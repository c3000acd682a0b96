//! The marks of the picture, from back to front.

use std::fmt::Write;

use super::layout::{
    BlockBox, Item, LEGEND_LINE, Layout, MARGIN, PILL_HEIGHT, Row, SMALL_PILL_HEIGHT, caption,
};
use crate::model::{Edge, EdgeKind, Finding};
use crate::operation::{Action, Operation};
use crate::phrasing;
use crate::text::{ellipsis, middle_ellipsis, plain, tail_ellipsis, wrap, xml};

const TORN_LINE: f64 = 17.0;

/// The whole picture of one finding.
pub fn finding(finding: &Finding, layout: &Layout) -> String {
    let mut out = String::new();
    heading(&mut out, finding, layout);
    lane_heads(&mut out, layout);
    for block in &layout.boxes {
        block_box(&mut out, finding, layout, block);
    }
    torn_text(&mut out, finding, layout);
    for (i, edge) in finding.edges.iter().enumerate() {
        arrow(&mut out, finding, layout, i, edge);
    }
    for row in &layout.rows {
        if let Item::Operation(i) = row.item {
            pill(&mut out, finding, layout, row, i);
        }
    }
    for (i, edge) in finding.edges.iter().enumerate() {
        badge_on_arrow(&mut out, finding, layout, i, edge);
    }
    legend(&mut out, layout);
    out
}

fn heading(out: &mut String, finding: &Finding, layout: &Layout) {
    let mut y = MARGIN + 16.0;
    for line in &layout.title {
        let _ =
            writeln!(out, "<text class=\"title\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", xml(line));
        y += 26.0;
    }
    let mut facts = finding.badges.clone();
    facts.push(phrasing::count(finding.transactions.len() as u64, "transaction"));
    if finding.occurrences > 1 {
        facts.push(format!("seen {}", phrasing::times(finding.occurrences)));
    }
    let text = xml(&facts.join(" · "));
    let _ =
        writeln!(out, "<text class=\"subtitle\" x=\"{MARGIN}\" y=\"{}\">{text}</text>", y - 4.0);
}

fn class(torn: bool) -> &'static str {
    if torn { "a" } else { "b" }
}

fn lane_heads(out: &mut String, layout: &Layout) {
    for lane in &layout.lanes {
        let (x, y) = (lane.x, layout.lanes_top - 14.0);
        let _ = writeln!(
            out,
            "<path class=\"life\" d=\"M{x} {} V{}\"/>",
            layout.lanes_top - 4.0,
            layout.lanes_bottom - 8.0
        );
        let name = ellipsis(&plain(&lane.thread), layout.room.name);
        // Colour is doubled by shape: the interrupted thread is a square, the others are circles.
        let glyph = if lane.torn { "■" } else { "●" };
        let _ = writeln!(
            out,
            "<g class=\"{}\"><text class=\"thread\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}\
             <tspan class=\"glyph\">{glyph}</tspan> {}</text></g>",
            class(lane.torn),
            tooltip(&lane.thread, &name),
            xml(&name)
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"position\" x=\"{MARGIN}\" y=\"{}\">event</text>",
        layout.lanes_top - 14.0
    );
}

/// The whole text as a tooltip of a shortened one.
fn tooltip(whole: &str, shown: &str) -> String {
    if whole == shown { String::new() } else { format!("<title>{}</title>", xml(whole)) }
}

fn block_box(out: &mut String, finding: &Finding, layout: &Layout, block: &BlockBox) {
    let facts = &finding.transactions[block.transaction].blocks[block.block];
    let _ = write!(out, "<g class=\"{}\">", class(layout.lanes[block.lane].torn));
    if block.cuts.is_empty() {
        whole_box(out, block);
    } else {
        torn_box(out, block);
    }
    // The name stands in the frame; room for it is what is left inside the frame.
    let columns = ((block.right - block.left - 20.0) / 7.4) as usize;
    let name = middle_ellipsis(&plain(&facts.name), columns);
    let _ = writeln!(
        out,
        "<text class=\"name\" x=\"{}\" y=\"{}\">{}{}</text></g>",
        block.left + 10.0,
        block.top + 18.0,
        tooltip(&facts.name, &name),
        xml(&name)
    );
}

fn whole_box(out: &mut String, block: &BlockBox) {
    let BlockBox { left, top, right, bottom, .. } = *block;
    let (w, h) = (right - left, bottom - top);
    if block.open {
        // Without its end the box stays open below.
        let _ = write!(
            out,
            "<rect class=\"fill\" x=\"{left}\" y=\"{top}\" width=\"{w}\" height=\"{h}\" rx=\"6\"/>"
        );
        let _ = write!(
            out,
            "<path class=\"edge\" d=\"M{left} {bottom} V{} q0 -6 6 -6 H{} q6 0 6 6 V{bottom}\"/>",
            top + 6.0,
            right - 6.0
        );
    } else {
        let _ = write!(
            out,
            "<rect class=\"box\" x=\"{left}\" y=\"{top}\" width=\"{w}\" height=\"{h}\" rx=\"6\"/>"
        );
    }
}

/// A box in pieces: each rip is two zigzags with dashed ghosts of the sides between them.
fn torn_box(out: &mut String, block: &BlockBox) {
    let BlockBox { left, right, .. } = *block;
    let mut top = block.top;
    for (i, &(rip, mend)) in block.cuts.iter().enumerate() {
        piece(out, block, (top, i > 0), (rip, true));
        top = mend;
    }
    piece(out, block, (top, true), (block.bottom, false));
    for &(rip, mend) in &block.cuts {
        let _ = write!(
            out,
            "<path class=\"ghost\" d=\"M{left} {rip} V{mend} M{right} {rip} V{mend}\"/>"
        );
        for y in [rip, mend] {
            let _ =
                write!(out, "<path class=\"zigzag\" d=\"M{}\"/>", zigzag(left, right, y).join(" "));
        }
    }
}

/// One piece; the flags: whether its upper and lower side is torn.
fn piece(out: &mut String, block: &BlockBox, upper: (f64, bool), lower: (f64, bool)) {
    let BlockBox { left, right, .. } = *block;
    let ((top, ripped_above), (bottom, ripped_below)) = (upper, lower);
    let head = if ripped_above {
        format!("M{}", zigzag(left, right, top).join(" "))
    } else {
        format!("M{left} {} q0 -6 6 -6 H{} q6 0 6 6", top + 6.0, right - 6.0)
    };
    let foot = if ripped_below {
        let mut points = zigzag(left, right, bottom);
        points.reverse();
        format!("L{}", points.join(" "))
    } else {
        format!("V{} q0 6 -6 6 H{} q-6 0 -6 -6", bottom - 6.0, left + 6.0)
    };
    let _ = write!(out, "<path class=\"fill\" d=\"{head} {foot} Z\"/>");
    let floor = bottom - if ripped_below || block.open { 0.0 } else { 6.0 };
    let mut sides = if ripped_above {
        format!("M{left} {top} V{floor} M{right} {top} V{floor}")
    } else {
        format!("M{left} {floor} V{} q0 -6 6 -6 H{} q6 0 6 6 V{floor}", top + 6.0, right - 6.0)
    };
    if floor < bottom {
        let _ = write!(sides, " M{left} {floor} q0 6 6 6 H{} q6 0 6 -6", right - 6.0);
    }
    let _ = write!(out, "<path class=\"edge\" d=\"{sides}\"/>");
}

/// The corners of a rip from side to side: teeth of about 9 px, four up and three down. It begins
/// and ends on its line, so that the sides of the box meet it.
fn zigzag(left: f64, right: f64, y: f64) -> Vec<String> {
    let teeth = (((right - left) / 9.0).round() as usize).max(2);
    let step = (right - left) / teeth as f64;
    let mut points = vec![format!("{left} {y}")];
    for tooth in 0..teeth {
        let x = left + step * tooth as f64;
        points.push(format!("{:.1} {}", x + step / 2.0, y - 4.0));
        if tooth + 1 < teeth {
            points.push(format!("{:.1} {}", x + step, y + 3.0));
        }
    }
    points.push(format!("{right} {y}"));
    points
}

fn torn_text(out: &mut String, finding: &Finding, layout: &Layout) {
    let (Some(tear), Some(lane)) = (finding.tear(), layout.lanes.first()) else { return };
    let mut names: Vec<String> = Vec::new();
    for &i in &tear.intruders {
        let name = plain(&finding.operations[i].thread);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // A nested block that is not refuted stays whole across the rip; its box leaves no room there.
    let covered = |tear: &&(f64, f64)| {
        let mut whole = layout.boxes.iter().filter(|b| b.lane == 0 && b.cuts.is_empty());
        whole.any(|b| b.top < tear.1 && b.bottom > tear.0)
    };
    let free = layout.tears.iter().filter(|tear| !covered(tear));
    let tallest = free.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let Some((top, bottom)) = tallest else { return };
    let whole = format!("torn by {}", phrasing::list(&names, 4));
    let columns = (2.0 * lane.half / 8.6) as usize;
    let mut lines = wrap(&whole, columns);
    let room = ((bottom - top - 16.0) / TORN_LINE) as usize;
    lines.truncate(room.max(1));
    let mut y = f64::midpoint(*top, *bottom) + 4.0 - TORN_LINE * (lines.len() - 1) as f64 / 2.0;
    let _ = write!(out, "<g><title>{}</title>", xml(&whole));
    for line in &lines {
        let text = xml(&ellipsis(line, columns));
        let _ = write!(
            out,
            "<text class=\"torn-text\" x=\"{}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>",
            lane.x
        );
        y += TORN_LINE;
    }
    out.push_str("</g>\n");
}

/// Where an arrow begins and where it bends.
struct Route {
    from: (f64, f64),
    /// 1 to the right, -1 to the left, 0 inside a lane.
    direction: f64,
    path: String,
    /// The part between the lanes, which keeps a distance from what it crosses.
    halo: String,
}

fn route(finding: &Finding, layout: &Layout, index: usize, edge: &Edge) -> Option<Route> {
    let (from_row, to_row) = (layout.row_of(edge.from)?, layout.row_of(edge.to)?);
    let (from_lane, to_lane) = (&layout.lanes[from_row.lane], &layout.lanes[to_row.lane]);
    let from_half = layout.pill_half(&finding.operations[edge.from]);
    let to_half = layout.pill_half(&finding.operations[edge.to]);
    // An operation that both receives and sends an arrow gives each its own height.
    let sends = |op| finding.edges.iter().any(|edge| edge.from == op);
    let receives = |op| finding.edges.iter().any(|edge| edge.to == op);
    let from_y = from_row.pill_y() + if receives(edge.from) { 6.0 } else { 0.0 };
    let to_y = to_row.pill_y() - if sends(edge.to) { 6.0 } else { 0.0 };
    let Some(gap) = layout.gap_of(finding, edge.from, edge.to) else {
        let (x, bend) = (from_lane.x, from_lane.x - from_lane.pill_half - 40.0);
        let (from, to) = ((x - from_half, from_y), (x - to_half - 2.0, to_y));
        let path =
            format!("M{} {} C{bend} {from_y} {bend} {to_y} {} {}", from.0, from.1, to.0, to.1);
        return Some(Route { from, direction: 0.0, path, halo: String::new() });
    };
    let direction = if to_row.lane > from_row.lane { 1.0 } else { -1.0 };
    let (left, right) = (&layout.lanes[gap], &layout.lanes[gap + 1]);
    let (gap_left, gap_right) = (left.x + left.half, right.x - right.half);
    // The bend keeps clear of the frames on both sides.
    let (gap_left, gap_right) = (gap_left + 5.0, gap_right - 5.0);
    let (enter, leave) =
        if direction > 0.0 { (gap_left, gap_right) } else { (gap_right, gap_left) };
    // Arrows that bend in one gap bend at different places.
    let others: Vec<usize> = (0..finding.edges.len())
        .filter(|&i| {
            layout.gap_of(finding, finding.edges[i].from, finding.edges[i].to) == Some(gap)
        })
        .collect();
    let slot = others.iter().position(|&i| i == index).unwrap_or(0);
    let part = (slot + 1) as f64 / (others.len() + 1) as f64;
    let bend = (gap_left + (gap_right - gap_left) * part).round();
    let from = (from_lane.x + direction * from_half, from_y);
    let to = (to_lane.x - direction * (to_half + 2.0), to_y);
    let curve = format!("C{bend} {from_y} {bend} {to_y} {leave} {to_y}");
    let path = format!("M{} {from_y} H{enter} {curve} H{}", from.0, to.0);
    let halo = format!("M{enter} {from_y} {curve}");
    Some(Route { from, direction, path, halo })
}

fn arrow(out: &mut String, finding: &Finding, layout: &Layout, index: usize, edge: &Edge) {
    let Some(Route { path, halo, .. }) = route(finding, layout, index, edge) else { return };
    let (class, head) = match edge.why {
        EdgeKind::ProgramOrder => ("arrow-order", "head-order"),
        _ => ("arrow", "head"),
    };
    let closing = if edge.closing { " closing" } else { "" };
    let _ = writeln!(
        out,
        "<path class=\"halo\" d=\"{halo}\"/><path class=\"{class}{closing}\" d=\"{path}\" \
         marker-end=\"url(#{head})\"><title>{}</title></path>",
        xml(&edge.because)
    );
}

fn badge_on_arrow(out: &mut String, finding: &Finding, layout: &Layout, index: usize, edge: &Edge) {
    let Some(route) = route(finding, layout, index, edge) else { return };
    let away = if route.direction == 0.0 { -16.0 } else { 16.0 * route.direction };
    badge(out, route.from.0 + away, route.from.1, index);
}

fn badge(out: &mut String, x: f64, y: f64, index: usize) {
    let _ = writeln!(
        out,
        "<circle class=\"badge\" cx=\"{x}\" cy=\"{y}\" r=\"8.5\"/>\
         <text class=\"badge-text\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        y + 3.8,
        index + 1
    );
}

fn pill(out: &mut String, finding: &Finding, layout: &Layout, row: &Row, index: usize) {
    let operation = &finding.operations[index];
    let lane = &layout.lanes[row.lane];
    let key = finding.is_on_edge(index);
    let height = if key { PILL_HEIGHT } else { SMALL_PILL_HEIGHT };
    let half = layout.pill_half(operation);
    let (x, y) = (lane.x, row.pill_y());
    let _ = write!(
        out,
        "<g class=\"{}\"><g{}>",
        class(lane.torn),
        if key { "" } else { " class=\"around\"" }
    );
    let (fill, text, corner) = match operation.action {
        Action::Write => (" pill-w", "pill-text-w", 4.0),
        Action::Read => ("", "pill-text", height / 2.0),
        _ => ("", "pill-text", 4.0),
    };
    let _ = write!(
        out,
        "<rect class=\"pill{fill}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{height}\" rx=\"{corner}\"/>",
        x - half,
        y - height / 2.0,
        2.0 * half
    );
    if is_lock(operation) {
        let _ = write!(
            out,
            "<rect class=\"lock\" x=\"{}\" y=\"{}\" width=\"6\" height=\"{}\"/>",
            x - half + 4.0,
            y - height / 2.0 + 4.0,
            height - 8.0
        );
    }
    let shown = layout.pill_text(operation);
    let whole = format!("{} {}", operation.action.verb(), operation.object());
    let _ = write!(
        out,
        "<text class=\"{text}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}{}</text></g></g>",
        if is_lock(operation) { x + 4.0 } else { x },
        y + 4.2,
        tooltip(&whole, &shown),
        xml(&shown)
    );
    notes_of_pill(out, finding, layout, row, index);
}

/// The place below a pill and the position in the margin.
fn notes_of_pill(out: &mut String, finding: &Finding, layout: &Layout, row: &Row, index: usize) {
    let (x, y) = (layout.lanes[row.lane].x, row.pill_y());
    let whole = caption(finding, index);
    if !whole.is_empty() {
        let shown = tail_ellipsis(&whole, layout.room.name + 4);
        let _ = write!(
            out,
            "<text class=\"place\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}{}</text>",
            y + 27.0,
            tooltip(&whole, &shown),
            xml(&shown)
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"position\" x=\"{MARGIN}\" y=\"{}\"><title>position in the trace</title>{}</text>",
        y + 4.0,
        phrasing::number(finding.operations[index].at)
    );
}

fn is_lock(operation: &Operation) -> bool {
    matches!(operation.action, Action::Acquire | Action::Release | Action::Wait | Action::Resume)
}

fn legend(out: &mut String, layout: &Layout) {
    let mut y = layout.lanes_bottom + 16.0;
    for line in &layout.legend {
        if let Some(index) = line.edge {
            badge(out, MARGIN + 8.5, y - 4.0, index);
        }
        let x = if line.indented { MARGIN + 26.0 } else { MARGIN };
        let _ = writeln!(
            out,
            "<text class=\"sentence\" x=\"{x}\" y=\"{y}\">{}</text>",
            xml(&line.text)
        );
        y += LEGEND_LINE;
    }
}
