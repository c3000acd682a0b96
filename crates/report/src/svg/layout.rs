//! Where everything stands.

use crate::model::{Block, Finding};
use crate::operation::Operation;
use crate::phrasing;
use crate::text::{ellipsis, middle_ellipsis, plain, width};

pub const MARGIN: f64 = 24.0;
pub const PILL_HEIGHT: f64 = 26.0;
pub const SMALL_PILL_HEIGHT: f64 = 21.0;
const TITLE_LINE: f64 = 26.0;
pub const LEGEND_LINE: f64 = 22.0;
const LANE_HEAD: f64 = 40.0;
/// Two boxes of one lane, one in the other, are this far apart on each side.
const NESTING: f64 = 10.0;
const NARROWEST: f64 = 600.0;
/// A picture with more rows leaves out what is not on the cycle.
const MAX_ROWS: usize = 60;

/// The width of proportional text; an estimate on the safe side of the fonts of common systems.
fn sans(columns: usize, size: f64) -> f64 {
    columns as f64 * size * 0.56
}

/// The same in bold.
fn bold(columns: usize, size: f64) -> f64 {
    columns as f64 * size * 0.66
}

fn mono(columns: usize, size: f64) -> f64 {
    columns as f64 * size * 0.61
}

/// What a row shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    Begin { transaction: usize, block: usize },
    Operation(usize),
    End { transaction: usize, block: usize },
}

#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub item: Item,
    pub lane: usize,
    pub top: f64,
    pub height: f64,
}

impl Row {
    /// The middle of the pill of an operation.
    pub fn pill_y(&self) -> f64 {
        self.top + PILL_HEIGHT / 2.0
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

#[derive(Clone, Debug)]
pub struct Lane {
    pub thread: String,
    pub torn: bool,
    /// The lifeline.
    pub x: f64,
    /// From the lifeline to the outermost box, and to the widest pill.
    pub half: f64,
    pub pill_half: f64,
}

/// Where a block is drawn. `cuts` are the extents in which it is interrupted, from top to bottom.
#[derive(Clone, Debug)]
pub struct BlockBox {
    pub transaction: usize,
    pub block: usize,
    pub lane: usize,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// Its end is not in sight.
    pub open: bool,
    pub cuts: Vec<(f64, f64)>,
}

/// Columns that names may take; fewer when there are many lanes.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub pill: usize,
    pub name: usize,
}

/// A line below the lanes.
#[derive(Clone, Debug)]
pub struct LegendLine {
    /// The edge that the line begins to explain.
    pub edge: Option<usize>,
    /// Whether the line belongs to an edge at all.
    pub indented: bool,
    pub text: String,
}

#[derive(Clone, Debug)]
pub struct Layout {
    pub width: f64,
    pub height: f64,
    pub title: Vec<String>,
    pub lanes: Vec<Lane>,
    pub rows: Vec<Row>,
    pub boxes: Vec<BlockBox>,
    pub tears: Vec<(f64, f64)>,
    pub legend: Vec<LegendLine>,
    pub lanes_top: f64,
    pub lanes_bottom: f64,
    pub room: Room,
}

impl Layout {
    pub fn new(finding: &Finding) -> Self {
        let lanes = threads(finding);
        let room = match lanes.len() {
            0..=2 => Room { pill: 32, name: 36 },
            3..=4 => Room { pill: 26, name: 28 },
            _ => Room { pill: 20, name: 22 },
        };
        let mut layout = Self {
            width: 0.0,
            height: 0.0,
            title: Vec::new(),
            lanes,
            rows: Vec::new(),
            boxes: Vec::new(),
            tears: Vec::new(),
            legend: Vec::new(),
            lanes_top: 0.0,
            lanes_bottom: 0.0,
            room,
        };
        layout.place_lanes(finding);
        let columns = ((layout.width - 2.0 * MARGIN) / bold(1, 18.0)) as usize;
        let lines = crate::text::wrap(&plain(&finding.headline), columns);
        layout.title = lines.iter().map(|line| middle_ellipsis(line, columns)).collect();
        layout.lanes_top =
            MARGIN + TITLE_LINE * layout.title.len() as f64 + LEGEND_LINE + LANE_HEAD;
        layout.place_rows(finding);
        layout.find_tears(finding);
        layout.place_boxes(finding);
        layout.place_legend(finding);
        layout
    }

    pub fn row_of(&self, operation: usize) -> Option<&Row> {
        self.rows.iter().find(|row| row.item == Item::Operation(operation))
    }

    /// The text of a pill, cut to the room there is.
    pub fn pill_text(&self, operation: &Operation) -> String {
        pill_text(operation, self.room)
    }

    /// Half of the width of the pill of an operation.
    pub fn pill_half(&self, operation: &Operation) -> f64 {
        pill_half(operation, self.room)
    }

    /// The position of each lane follows from the widest thing in it.
    fn place_lanes(&mut self, finding: &Finding) {
        for lane in &mut self.lanes {
            measure(lane, finding, self.room);
        }
        let gutter = MARGIN + mono(position_columns(finding), 11.0) + 20.0;
        let loops =
            if finding.edges.iter().any(|e| same_lane(finding, e.from, e.to)) { 30.0 } else { 0.0 };
        let gaps = self.gap_widths(finding);
        let lanes_width: f64 = self.lanes.iter().map(|lane| 2.0 * lane.half).sum();
        let total = gutter + loops + lanes_width + gaps.iter().sum::<f64>() + MARGIN;
        // A narrow picture gets wider gaps, because its sentences need the width anyway.
        let spare = (NARROWEST - total).max(0.0);
        let extra = if gaps.is_empty() { 0.0 } else { (spare / gaps.len() as f64).min(70.0) };
        let mut x = gutter + loops;
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            lane.x = (x + lane.half).round();
            x = lane.x + lane.half + gaps.get(i).map_or(0.0, |gap| gap + extra);
        }
        self.width = (x + MARGIN).max(NARROWEST).ceil();
    }

    /// The room between two lanes grows with the arrows that bend in it.
    fn gap_widths(&self, finding: &Finding) -> Vec<f64> {
        let mut bends = vec![0; self.lanes.len().saturating_sub(1)];
        for edge in &finding.edges {
            if let Some(gap) = self.gap_of(finding, edge.from, edge.to) {
                bends[gap] += 1;
            }
        }
        bends.into_iter().map(|count| 56.0_f64.max(22.0 * f64::from(count + 2))).collect()
    }

    /// The gap in which an arrow bends: the one before its target's lane. `None` inside a lane.
    pub fn gap_of(&self, finding: &Finding, from: usize, to: usize) -> Option<usize> {
        let (from, to) = (self.lane_of(finding, from), self.lane_of(finding, to));
        match from.cmp(&to) {
            std::cmp::Ordering::Less => Some(to - 1),
            std::cmp::Ordering::Greater => Some(to),
            std::cmp::Ordering::Equal => None,
        }
    }

    pub fn lane_of(&self, finding: &Finding, operation: usize) -> usize {
        self.lane_named(&finding.operations[operation].thread)
    }

    fn lane_named(&self, thread: &str) -> usize {
        self.lanes.iter().position(|lane| lane.thread == thread).unwrap_or(0)
    }

    fn place_rows(&mut self, finding: &Finding) {
        let mut top = self.lanes_top;
        let mut last = None;
        for (_, item) in items(finding) {
            let thread = match item {
                Item::Operation(i) => &finding.operations[i].thread,
                Item::Begin { transaction, .. } | Item::End { transaction, .. } => {
                    &finding.transactions[transaction].thread
                }
            };
            let lane = self.lane_named(thread);
            // A switch of threads leaves room for the rip.
            if last.is_some_and(|last| last != lane) {
                top += 14.0;
            }
            last = Some(lane);
            let height = match item {
                Item::Begin { .. } => 30.0,
                Item::Operation(i) if caption(finding, i).is_empty() => 36.0,
                Item::Operation(_) => 52.0,
                Item::End { .. } => 12.0,
            };
            self.rows.push(Row { item, lane, top, height });
            top += height;
        }
        self.lanes_bottom = top + 16.0;
    }

    /// A block is interrupted between two of its rows if an operation of another thread is between them.
    fn find_tears(&mut self, finding: &Finding) {
        let Some(tear) = finding.tear() else { return };
        let place = |i| self.rows.iter().position(|row| row.item == Item::Operation(i));
        let (Some(root), Some(target)) = (place(tear.root), place(tear.target)) else { return };
        let lane = self.rows[root].lane;
        let mut last = root;
        for i in root + 1..=target {
            if self.rows[i].lane != lane {
                continue;
            }
            let between = &self.rows[last + 1..i];
            let intruded = between
                .iter()
                .any(|row| matches!(row.item, Item::Operation(i) if tear.intruders.contains(&i)));
            if intruded {
                self.tears.push((self.rows[last].bottom() + 4.0, self.rows[i].top - 8.0));
            }
            last = i;
        }
    }

    fn place_boxes(&mut self, finding: &Finding) {
        for (transaction, own) in finding.transactions.iter().enumerate() {
            for (block, facts) in own.blocks.iter().enumerate() {
                let row = |item| self.rows.iter().find(|row| row.item == item);
                let Some(begin) = row(Item::Begin { transaction, block }) else { continue };
                let end = row(Item::End { transaction, block });
                let lane = &self.lanes[begin.lane];
                let inset = NESTING * f64::from(facts.depth);
                self.boxes.push(BlockBox {
                    transaction,
                    block,
                    lane: begin.lane,
                    left: lane.x - lane.half + inset,
                    right: lane.x + lane.half - inset,
                    top: begin.top + 2.0,
                    bottom: end
                        .map_or_else(|| self.last_row(finding, transaction), |end| end.top + 6.0),
                    open: end.is_none(),
                    cuts: if facts.refuted { self.tears.clone() } else { Vec::new() },
                });
            }
        }
        // Outer boxes are drawn first.
        self.boxes.sort_by_key(|b| finding.transactions[b.transaction].blocks[b.block].depth);
    }

    fn last_row(&self, finding: &Finding, transaction: usize) -> f64 {
        let own = |row: &&Row| match row.item {
            Item::Operation(i) => finding.operations[i].transaction == Some(transaction),
            Item::Begin { transaction: t, .. } | Item::End { transaction: t, .. } => {
                t == transaction
            }
        };
        self.rows.iter().filter(own).map(Row::bottom).fold(0.0, f64::max) + 4.0
    }

    fn place_legend(&mut self, finding: &Finding) {
        let columns = ((self.width - 2.0 * MARGIN) / sans(1, 12.5)) as usize - 5;
        for (i, edge) in finding.edges.iter().enumerate() {
            let mut text = plain(&edge.because);
            if edge.closing {
                text.push_str(" (this closes the cycle)");
            }
            for (n, line) in crate::text::wrap(&text, columns).into_iter().enumerate() {
                let text = ellipsis(&line, columns);
                self.legend.push(LegendLine { edge: (n == 0).then_some(i), indented: true, text });
            }
        }
        let blame = phrasing::blame(finding).unwrap_or_default();
        let lines = crate::text::wrap(&plain(&blame), columns + 5);
        self.legend.extend(lines.into_iter().map(|text| LegendLine {
            edge: None,
            indented: false,
            text,
        }));
        self.height =
            (self.lanes_bottom + LEGEND_LINE * self.legend.len() as f64 + MARGIN + 12.0).ceil();
    }
}

/// What stands below a pill.
pub fn caption(finding: &Finding, operation: usize) -> String {
    let operation = &finding.operations[operation];
    let outside = operation.transaction.is_some_and(|t| finding.transactions[t].blocks.is_empty());
    match (operation.place.is_empty(), outside) {
        (false, true) => format!("{} · outside of every block", plain(&operation.place)),
        (false, false) => plain(&operation.place),
        (true, true) => "outside of every block".to_owned(),
        (true, false) => String::new(),
    }
}

fn pill_text(operation: &Operation, room: Room) -> String {
    format!("{} {}", operation.action.verb(), operation.short_object(room.pill - 6))
}

fn pill_half(operation: &Operation, room: Room) -> f64 {
    (mono(width(&pill_text(operation, room)), 12.0) / 2.0 + 12.0).max(34.0).ceil()
}

/// The interrupted thread (or else the one that closed the cycle) is on the left; the others follow in the
/// order in which they appear.
fn threads(finding: &Finding) -> Vec<Lane> {
    let torn = finding.blamed().map(|blamed| blamed.thread.as_str());
    let first = finding.transactions.first().map(|transaction| transaction.thread.as_str());
    let own = finding.transactions.iter().map(|transaction| transaction.thread.as_str());
    let mut names: Vec<&str> = torn.or(first).into_iter().collect();
    for name in finding.operations.iter().map(|op| op.thread.as_str()).chain(own) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let lane = |name: &str| Lane {
        thread: name.to_owned(),
        torn: torn == Some(name),
        x: 0.0,
        half: 0.0,
        pill_half: 0.0,
    };
    names.into_iter().map(lane).collect()
}

fn measure(lane: &mut Lane, finding: &Finding, room: Room) {
    let mut half: f64 = bold(width(&plain(&lane.thread)).min(room.name) + 2, 13.5) / 2.0;
    for (i, operation) in finding.operations.iter().enumerate() {
        if operation.thread == lane.thread {
            lane.pill_half = lane.pill_half.max(pill_half(operation, room));
            let caption = width(&caption(finding, i)).min(room.name + 4);
            half = half.max(sans(caption, 11.0) / 2.0 + 6.0);
        }
    }
    half = half.max(lane.pill_half + 14.0);
    let blocks: Vec<&Block> = finding
        .transactions
        .iter()
        .filter(|transaction| transaction.thread == lane.thread)
        .flat_map(|transaction| &transaction.blocks)
        .collect();
    let deepest = blocks.iter().map(|block| block.depth).max().unwrap_or(0);
    for block in &blocks {
        let name = mono(width(&plain(&block.name)).min(room.name), 12.0) / 2.0 + 12.0;
        half = half.max(name - NESTING * f64::from(deepest - block.depth));
    }
    lane.half = (half + NESTING * f64::from(deepest)).ceil();
}

fn position_columns(finding: &Finding) -> usize {
    finding.operations.iter().map(|op| phrasing::number(op.at).len()).max().unwrap_or(1).max(5)
}

fn same_lane(finding: &Finding, from: usize, to: usize) -> bool {
    finding.operations[from].thread == finding.operations[to].thread
}

/// Everything that gets a row, in trace order.
fn items(finding: &Finding) -> Vec<(u64, Item)> {
    let mut items = Vec::new();
    for (transaction, own) in finding.transactions.iter().enumerate() {
        for (block, facts) in own.blocks.iter().enumerate() {
            items.push((facts.begin, Item::Begin { transaction, block }));
            items.extend(facts.end.map(|end| (end, Item::End { transaction, block })));
        }
    }
    let on_cycle = (0..finding.operations.len()).filter(|&i| finding.is_on_edge(i)).count();
    let all = items.len() + finding.operations.len() <= MAX_ROWS.max(items.len() + on_cycle);
    for (i, operation) in finding.operations.iter().enumerate() {
        if all || finding.is_on_edge(i) {
            items.push((operation.at, Item::Operation(i)));
        }
    }
    // A begin that is itself on an edge stands inside its box.
    items.sort_by_key(|(at, item)| {
        let rank = match item {
            Item::Begin { .. } => 0,
            Item::Operation(_) => 1,
            Item::End { .. } => 2,
        };
        (*at, rank)
    });
    items
}
