//! Which labels count as blocks: `--atomic` and `--not-atomic`.

use untorn_trace::glob::Glob;
use untorn_trace::{Event, LabelId, Op, Tables};

/// Turns the begins and ends of blocks that do not count into events that no checker sees.
/// Positions stay what they are.
#[derive(Debug)]
pub struct BlockFilter {
    atomic: Vec<Glob>,
    not_atomic: Vec<Glob>,
    /// Whether a label counts; filled as labels appear.
    counts: Vec<bool>,
    /// Whether blocks without a name count.
    unnamed: bool,
    /// For each thread, which of its open blocks count, so that an end goes the way of its begin.
    open: Vec<Vec<bool>>,
}

impl BlockFilter {
    /// Blocks whose label matches one of `atomic` (all, if there is none) and none of `not_atomic`.
    /// A pattern is a label in which `*` matches any text.
    pub fn new(atomic: &[String], not_atomic: &[String]) -> Self {
        let patterns = |texts: &[String]| texts.iter().map(Glob::new).collect();
        let mut filter = Self {
            atomic: patterns(atomic),
            not_atomic: patterns(not_atomic),
            counts: Vec::new(),
            unnamed: false,
            open: Vec::new(),
        };
        filter.unnamed = filter.matches("");
        filter
    }

    /// Whether a label of this name counts.
    pub fn matches(&self, name: &str) -> bool {
        let any = |patterns: &[Glob]| patterns.iter().any(|pattern| pattern.matches(name));
        (self.atomic.is_empty() || any(&self.atomic)) && !any(&self.not_atomic)
    }

    pub fn apply(&mut self, tables: &Tables, batch: &mut [Event]) {
        for event in batch {
            let counts = match event.op {
                Op::Begin { label, .. } => {
                    let counts = self.label_counts(tables, label);
                    self.open_of(event).push(counts);
                    counts
                }
                Op::End { .. } => self.open_of(event).pop().unwrap_or(true),
                _ => true,
            };
            if !counts {
                event.op = Op::HIDDEN;
            }
        }
    }

    fn open_of(&mut self, event: &Event) -> &mut Vec<bool> {
        let t = event.thread.index();
        if t >= self.open.len() {
            self.open.resize(t + 1, Vec::new());
        }
        &mut self.open[t]
    }

    fn label_counts(&mut self, tables: &Tables, label: LabelId) -> bool {
        while self.counts.len() < tables.labels.len() {
            let name = tables.labels.get(LabelId::from_index(self.counts.len())).unwrap_or("");
            self.counts.push(self.matches(name));
        }
        self.counts.get(label.index()).copied().unwrap_or(self.unnamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclusion_beats_inclusion() {
        let filter = BlockFilter::new(&["Set.*".into()], &["Set.size".into()]);
        assert!(filter.matches("Set.add"));
        assert!(!filter.matches("Set.size"));
        assert!(!filter.matches("Map.get"));
    }
}
