//! A plan: planned events in the order in which they shall happen.
//!
//! One step a line: `THREAD @ PLACE [read|write|acquire|release|any] [#N]`.
//!
//! * `THREAD` is a name, in quotes if it has anything but letters, digits and `_-.`, or `#0` for
//!   the thread with that id.
//! * `PLACE` is `File.java:12`, `pkg.Class.method:12`, `pkg.Class.method(DESC)@pc` or
//!   `libserver.so+0x1f3a`. What stands before the colon, the descriptor or the offset is in quotes if it has spaces, quotes, colons or
//!   parentheses. A file is recognised by a `/` in it or by its ending: one of those of
//!   Java, Kotlin, Scala, Groovy, Clojure, C, C++, Rust.
//! * `#N` is the N-th time that this thread reaches this place; 1 if it is missing.
//! * `*` instead of a thread: every thread that has no further steps is held at this place until all steps are done,
//!   unless a thread of the plan needs it to go on.
//!
//! A line `keep time`: the plan is given up rather than let a sleep, or a wait with a time limit, end because a thread is
//! held that could have gone on meanwhile.
//!
//! Empty lines and lines that start with `//` or `;` are ignored.

pub(crate) mod follow;
mod parse;

use std::collections::HashMap;
use std::fmt;

use untorn_trace::ids::ThreadId;

pub use parse::PlanError;

/// The line of a plan that keeps time.
const KEEP_TIME: &str = "keep time";

/// The kind of a planned event; `None` in a [`PlanPoint`] stands for any.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    Read,
    Write,
    Acquire,
    Release,
}

impl AccessKind {
    const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Acquire, Self::Release];

    const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Acquire => "acquire",
            Self::Release => "release",
        }
    }
}

/// A position in the code.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CodePoint {
    /// `File.java:12`
    FileLine { file: String, line: u32 },
    /// `pkg.Class.method:12`
    MethodLine { class: String, method: String, line: u32 },
    /// `pkg.Class.method(DESC)@pc`: `descriptor` is the JVM's, parentheses and return type
    /// included.
    MethodPc { class: String, method: String, descriptor: String, pc: u32 },
    /// `libserver.so+0x1f3a`: an offset from where the module is loaded.
    ModuleOffset { module: String, offset: u64 },
}

/// A position in the code, and the kind of the event.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PlanPoint {
    pub code_point: CodePoint,
    pub kind: Option<AccessKind>,
}

/// The thread of a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PlanThread {
    Id(ThreadId),
    /// The first thread of that name.
    Name(String),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PlanStep {
    pub thread: PlanThread,
    pub point: PlanPoint,
    /// Which arrival of this thread at this point, counted from 1.
    pub occurrence: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    pub steps: Vec<PlanStep>,
    /// Where threads that have no further steps are held until all steps are done.
    pub holds: Vec<PlanPoint>,
    /// It is given up rather than let a time limit pass because a thread is held.
    pub keeps_time: bool,
}

/// A point of the plan: its index in [`Plan::points`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PointIndex(pub u32);

/// The answer to a thread that is about to execute a planned event.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum GoOrHold {
    /// Execute it; with `stop_after`, ask for the next turn right after it, giving `Reason::Plan`
    /// even if the event itself blocked the thread (a wait).
    Go { stop_after: bool },
    /// Ask for the next turn (`Reason::Held`) before it, and when the turn comes, ask here again.
    Hold,
}

impl Plan {
    /// A plan that holds no other threads.
    pub const fn new(steps: Vec<PlanStep>) -> Self {
        Self { steps, holds: Vec::new(), keeps_time: false }
    }

    fn all_points(&self) -> impl Iterator<Item = &PlanPoint> {
        self.steps.iter().map(|step| &step.point).chain(&self.holds)
    }

    /// The distinct points, in the order of their first mention. The front end finds them in the code.
    pub fn points(&self) -> Vec<&PlanPoint> {
        let mut points = Vec::new();
        for (point, site) in self.all_points().zip(self.all_sites()) {
            if site.0 as usize == points.len() {
                points.push(point);
            }
        }
        points
    }

    /// For each step, which of the [`Plan::points`] it names.
    pub fn sites(&self) -> Vec<PointIndex> {
        let mut sites = self.all_sites();
        sites.truncate(self.steps.len());
        sites
    }

    /// For each hold, which of the [`Plan::points`] it names.
    pub fn hold_sites(&self) -> Vec<PointIndex> {
        self.all_sites().split_off(self.steps.len())
    }

    fn all_sites(&self) -> Vec<PointIndex> {
        // Only looked up, never iterated: the order of a hash map does not matter.
        let mut known = HashMap::new();
        let mut site = |point| {
            let new = PointIndex(known.len() as u32);
            *known.entry(point).or_insert(new)
        };
        self.all_points().map(&mut site).collect()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))?;
        self.holds.iter().try_for_each(|point| writeln!(f, "* @ {point}"))?;
        if self.keeps_time { writeln!(f, "{KEEP_TIME}") } else { Ok(()) }
    }
}

impl fmt::Display for PlanStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} @ {}", self.thread, self.point)?;
        if self.occurrence == 1 { Ok(()) } else { write!(f, " #{}", self.occurrence) }
    }
}

impl fmt::Display for PlanThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "#{}", id.0),
            Self::Name(name) if parse::is_bare(name) => f.write_str(name),
            Self::Name(name) => f.write_str(&parse::quote(name)),
        }
    }
}

impl fmt::Display for PlanPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.code_point {
            CodePoint::FileLine { file, line } => write!(f, "{}:{line}", parse::quote_place(file)),
            CodePoint::MethodLine { class, method, line } => {
                write!(f, "{}:{line}", parse::quote_place(&format!("{class}.{method}")))
            }
            CodePoint::MethodPc { class, method, descriptor, pc } => {
                let name = format!("{class}.{method}");
                write!(f, "{}{descriptor}@{pc}", parse::quote_place(&name))
            }
            CodePoint::ModuleOffset { module, offset } => {
                write!(f, "{}+{offset:#x}", parse::quote_place(module))
            }
        }?;
        self.kind.map_or(Ok(()), |kind| write!(f, " {}", kind.word()))
    }
}
