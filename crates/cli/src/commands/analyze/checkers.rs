//! The checkers by name, and how a batch is shown to several of them.

use std::ops::ControlFlow;

use untorn_serializability::aerodrome::AeroDrome;
use untorn_serializability::atomizer::Atomizer;
use untorn_serializability::eraser::Eraser;
use untorn_serializability::fast::Fast;
use untorn_serializability::two_pass::{Filtered, SccFilter, Suspects};
use untorn_serializability::velodrome::Velodrome;
use untorn_serializability::{Checker, Outcome};
use untorn_trace::{Event, EventIdx};

use super::args::CheckerName;

/// A checker at work.
pub struct Running {
    name: CheckerName,
    checker: Box<dyn Checker>,
    /// Finds where a cycle could be; the checker is chosen when it has seen the whole trace.
    first: Option<SccFilter>,
    /// It has seen enough.
    done: bool,
}

/// What a checker is called on the command line and in reports.
pub fn word(name: CheckerName) -> &'static str {
    match name {
        CheckerName::Fast => "fast",
        CheckerName::Velodrome => "velodrome",
        CheckerName::Aerodrome => "aerodrome",
        CheckerName::Atomizer => "atomizer",
        CheckerName::Eraser => "eraser",
        CheckerName::TwoPass => "two-pass",
    }
}

impl Running {
    pub fn new(name: CheckerName) -> Self {
        let checker: Box<dyn Checker> = match name {
            CheckerName::Fast => Box::new(Fast::new()),
            CheckerName::Velodrome => Box::new(Velodrome::new()),
            CheckerName::Aerodrome => Box::new(AeroDrome::new()),
            CheckerName::Atomizer => Box::new(Atomizer::new()),
            CheckerName::Eraser => Box::new(Eraser::new()),
            CheckerName::TwoPass => Box::new(Filtered::new(Velodrome::new(), Suspects::default())),
        };
        let first = (name == CheckerName::TwoPass).then(SccFilter::new);
        Self { name, checker, first, done: false }
    }

    /// Whether it must see the whole trace before it can begin.
    pub fn reads_twice(&self) -> bool {
        self.first.is_some()
    }

    pub fn finish(mut self) -> (CheckerName, Outcome) {
        (self.name, self.checker.finish())
    }
}

/// Shows a batch of the first reading to each that needs one.
pub fn preview(running: &mut [Running], first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
    for filter in running.iter_mut().filter_map(|one| one.first.as_mut()) {
        // A filter that has seen enough of a batch still wants the next one.
        let _ = filter.events(first, batch);
    }
    ControlFlow::Continue(())
}

/// Ends the first reading: what it found suspicious is what the second one looks at.
pub fn end_preview(running: &mut [Running]) {
    for one in running {
        if let Some(mut filter) = one.first.take() {
            one.checker = Box::new(Filtered::new(Velodrome::new(), filter.suspects()));
        }
    }
}

/// Shows a batch to each that has not seen enough; breaks when none is left.
pub fn show(running: &mut [Running], first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
    let mut left = false;
    for one in running.iter_mut().filter(|one| !one.done) {
        one.done = one.checker.events(first, batch).is_break();
        left |= !one.done;
    }
    if left { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}
