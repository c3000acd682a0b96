//! Reads the trace of a run: all of a short one; of a long one what its threads share.
//!
//! A long trace is read twice and never held in memory: first to find out which variables are shared, then to keep what
//! [`untorn_predict::projection`] keeps, of which `docs/design/036-projection.md` proves that it is enough. What plans and
//! tracked calls need of the rest is counted on the way.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use untorn_predict::projection::{Projector, Remark, Sharing, Steering};
use untorn_predict::{History, HistoryError};
use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::{
    BATCH, BlockKind, CallOutcome, Event, LabelId, Op, SiteId, Source, Tables, TraceError, Value,
};

use crate::arrivals::{Arrival, Arrivals};
use crate::compositions::Compositions;
use crate::run::RunError;
use crate::tracked_calls::{TrackedCalls, Tracker};

/// Events of a run that are all kept. Of a longer one only what is shared is.
pub const MAX_WHOLE: usize = 1_000_000;

/// Shared events of one run that fit into memory (about 2 GB with all that is made of them).
const MAX_SHARED: usize = 16_000_000;

/// What of a trace counts, and as what.
#[derive(Clone, Debug)]
pub(crate) struct LoadOptions {
    /// Nobody looks at events behind so many.
    pub max_events: u64,
    /// Of a run with more events than this only what threads share is kept.
    pub max_whole: usize,
    /// Declared blocks that are the body of a thread or a task count as mere calls.
    pub entries_are_calls: bool,
    /// Declared blocks of these names count as mere calls.
    pub mere_calls: BTreeSet<String>,
    /// The calls that are tracked. They are no blocks.
    pub compositions: Arc<Compositions>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            max_events: u64::MAX,
            max_whole: MAX_WHOLE,
            entries_are_calls: false,
            mere_calls: BTreeSet::new(),
            compositions: Arc::default(),
        }
    }
}

/// A trace that was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub tables: Arc<Tables>,
    pub history: History,
    /// By event of the history.
    pub arrivals: Vec<Arrival>,
    pub tracked_calls: TrackedCalls,
    /// Sites with accesses, those that the history leaves out among them.
    pub sites: FxHashSet<SiteId>,
    /// Events that nobody looked at.
    pub left_out: u64,
}

/// Reads a trace.
pub(crate) fn load(trace: &Path, options: &LoadOptions) -> Result<Loaded, RunError> {
    let fail = |reason: String| RunError::Trace { path: trace.to_owned(), reason };
    let open = || open(&Input::new(trace), &OpenOptions::default());
    let read = || -> Result<FirstPass, TraceError> { FirstPass::read(&mut *open()?, options) };
    let first = read().map_err(|error| fail(error.to_string()))?;
    let tables = Arc::clone(&first.tables);
    let mut preparation = Preparation::new(&tables, options);
    let (history, arrivals, read) = match first.events {
        Some(mut events) => {
            let read = events.len() as u64;
            let arrivals = events.iter_mut().map(|event| preparation.event(event).arrival);
            let arrivals: Vec<Arrival> = arrivals.collect();
            let history = History::new(events, &tables).map_err(|error| fail(error.to_string()))?;
            (history, arrivals, read)
        }
        None => {
            let mut source = open().map_err(|error| fail(error.to_string()))?;
            let second =
                SecondPass { sharing: &first.sharing, read: first.read, max_shared: MAX_SHARED };
            second.project(&mut *source, &mut preparation).map_err(fail)?
        }
    };
    let Preparation { sites, tracker, .. } = preparation;
    let mut tracked_calls = tracker.finish();
    tracked_calls.relocate(|at| history.at_position(at.0).unwrap_or_default());
    let mut history = history;
    history.set_compositions(tracked_calls.stretches());
    let left_out = first.total.saturating_sub(read);
    Ok(Loaded { tables, history, arrivals, tracked_calls, sites, left_out })
}

/// What is known when a trace has been read once.
struct FirstPass {
    tables: Arc<Tables>,
    /// All of them, if they are few.
    events: Option<Vec<Event>>,
    sharing: Sharing,
    /// Events that were read, and how many there are.
    read: u64,
    total: u64,
}

impl FirstPass {
    /// What is behind the events that count is read only if nothing else tells how much it is.
    fn read(source: &mut dyn Source, options: &LoadOptions) -> Result<Self, TraceError> {
        let mut events = Some(Vec::new());
        let mut sharing = Sharing::default();
        let mut batch = Vec::with_capacity(BATCH);
        let (mut read, mut total) = (0, 0);
        loop {
            source.read(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            total += batch.len() as u64;
            let room = usize::try_from(options.max_events - read).unwrap_or(usize::MAX);
            let counted = &batch[..batch.len().min(room)];
            read += counted.len() as u64;
            sharing.add(counted);
            if events.as_ref().is_some_and(|all| all.len() + counted.len() > options.max_whole) {
                events = None;
            }
            if let Some(all) = &mut events {
                all.extend_from_slice(counted);
            }
            if let (true, Some(all)) = (read == options.max_events, source.event_total()) {
                total = all;
                break;
            }
        }
        Ok(Self { tables: Arc::new(source.tables().clone()), events, sharing, read, total })
    }
}

/// The second reading of a long trace.
struct SecondPass<'a> {
    sharing: &'a Sharing,
    /// So many events are read again.
    read: u64,
    max_shared: usize,
}

impl SecondPass<'_> {
    /// Gives also how many events were read.
    fn project(
        &self,
        source: &mut dyn Source,
        preparation: &mut Preparation<'_>,
    ) -> Result<(History, Vec<Arrival>, u64), String> {
        let steering = Steering { steers: &|_| false, elements: &|_| false };
        let mut projector = Projector::new(self.sharing, steering);
        let mut batch = Vec::with_capacity(BATCH);
        let mut left = self.read;
        // There are numbers for so many.
        left = left.min(u64::from(u32::MAX));
        let mut read = 0;
        while read < left && projector.kept() < self.max_shared {
            source.read(&mut batch).map_err(|error| error.to_string())?;
            if batch.is_empty() {
                return Err("the trace changed while it was read".to_owned());
            }
            let counted = batch.len().min(usize::try_from(left - read).unwrap_or(usize::MAX));
            for event in &mut batch[..counted] {
                let Prepared { arrival, is_tracked } = preparation.event(event);
                let remark = Remark { tag: arrival.tag(), is_kept: is_tracked };
                projector.add_one(*event, remark);
            }
            read += counted as u64;
        }
        let finish = || -> Result<(History, Vec<Arrival>), HistoryError> {
            let mut projected = projector.finish()?;
            let tags = std::mem::take(&mut projected.tags);
            let history = History::of_projection(projected, preparation.tables)?;
            Ok((history, tags.into_iter().map(Arrival::of_tag).collect()))
        };
        let (history, arrivals) = finish().map_err(|error| error.to_string())?;
        Ok((history, arrivals, read))
    }
}

/// What is done with each event before it counts.
struct Preparation<'a> {
    tables: &'a Tables,
    calls: MereCalls,
    tracker: Tracker<'a>,
    arrivals: Arrivals<'a>,
    sites: FxHashSet<SiteId>,
}

/// What became of an event.
struct Prepared {
    arrival: Arrival,
    is_tracked: bool,
}

impl<'a> Preparation<'a> {
    fn new(tables: &'a Tables, options: &'a LoadOptions) -> Self {
        Self {
            tables,
            calls: MereCalls::new(tables, options),
            tracker: Tracker::new(tables, &options.compositions),
            arrivals: Arrivals::new(tables),
            sites: FxHashSet::default(),
        }
    }

    /// The next event of the run.
    fn event(&mut self, event: &mut Event) -> Prepared {
        if matches!(event.op, Op::Read { .. } | Op::Write { .. }) {
            self.sites.insert(event.site);
        }
        self.calls.event(event);
        let is_tracked = self.tracker.event(event);
        Prepared { arrival: self.arrivals.come(event), is_tracked }
    }
}

/// Declared blocks that count as mere calls.
struct MereCalls {
    /// By label.
    is_mere: Vec<bool>,
    /// Those of them that are methods.
    methods: FxHashSet<LabelId>,
}

impl MereCalls {
    fn new(tables: &Tables, options: &LoadOptions) -> Self {
        let is_mere = |(index, name): (usize, &str)| {
            let is_entry = tables.label_facts(LabelId::from_index(index)).is_entry;
            options.mere_calls.contains(name) || (options.entries_are_calls && is_entry)
        };
        let is_mere = match options.entries_are_calls || !options.mere_calls.is_empty() {
            true => tables.labels.iter().enumerate().map(is_mere).collect(),
            false => Vec::new(),
        };
        Self { is_mere, methods: FxHashSet::default() }
    }

    fn event(&mut self, event: &mut Event) {
        let is_mere = |label: LabelId| self.is_mere.get(label.index()) == Some(&true);
        // A method that does not count as a declared block is what every other method is: an activation.
        event.op = match event.op {
            Op::Begin { label: method, kind: BlockKind::Named, .. } if is_mere(method) => {
                self.methods.insert(method);
                Op::Call { method, known: false, value: Value::default() }
            }
            Op::End { label: method } if self.methods.contains(&method) => {
                let (outcome, known, value) = (CallOutcome::default(), false, Value::default());
                Op::Return { method, outcome, known, value }
            }
            Op::Begin { label, .. } | Op::End { label } if is_mere(label) => Op::HIDDEN,
            op => op,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use untorn_predict::At;
    use untorn_testkit::{Knobs, for_random_traces, name_tables};
    use untorn_trace::formats::utr;
    use untorn_trace::{Sink, ThreadId, VarFacts, VarId, VarRole};

    use super::*;

    /// Two variables of each thread alone, and some sites that access several variables.
    fn with_local_variables(events: &[Event]) -> Vec<Event> {
        let local = |var: &mut VarId, thread: ThreadId| {
            if var.0.is_multiple_of(3) {
                *var = VarId(40 + var.0 % 2 + 2 * thread.0);
            }
        };
        let mut events = events.to_vec();
        for (index, event) in events.iter_mut().enumerate() {
            match &mut event.op {
                Op::Read { var, .. } | Op::Write { var, .. } => local(var, event.thread),
                _ => {}
            }
            event.site = SiteId((index % 3) as u32);
        }
        events
    }

    fn load_as(trace: &Path, max_whole: usize) -> Loaded {
        load(trace, &LoadOptions { max_whole, ..LoadOptions::default() }).expect("a trace")
    }

    #[test]
    fn what_is_kept_is_as_in_the_whole_run() {
        let folder: PathBuf =
            std::env::temp_dir().join(format!("untorn-load-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("run.utr");
        let (mut left_out, mut several) = (0, 0);
        for_random_traces(&Knobs::small(), 0..400, |events| {
            let events = with_local_variables(events);
            let mut tables = name_tables(&events);
            for var in (0..tables.vars.len()).map(VarId::from_index).filter(|var| var.0 % 2 == 1) {
                let mut facts = VarFacts::default();
                facts.role = VarRole::Contents;
                tables.set_var_facts(var, facts);
            }
            let file = std::fs::File::create(&path).map_err(|error| error.to_string())?;
            let mut sink = utr::Writer::new(file, utr::Compression::None);
            let written = sink.write(&tables, &events).and_then(|()| sink.finish(&tables));
            written.map_err(|error| error.to_string())?;
            let (whole, part) = (load_as(&path, events.len()), load_as(&path, 0));
            if !events.is_empty()
                && (whole.history.is_projection() || !part.history.is_projection())
            {
                return Err("both were read in the same way".to_owned());
            }
            if whole.sites != part.sites || [whole.left_out, part.left_out] != [0, 0] {
                return Err("something was not looked at".to_owned());
            }
            left_out += whole.history.len() - part.history.len();
            for at in part.history.all() {
                let position = part.history.position(at);
                let [own, other] = [part.arrivals[at.index()], whole.arrivals[position as usize]];
                several += usize::from(own.count > 1);
                let is_end = part.history.event(at).op == Op::HIDDEN;
                if own != other && !is_end {
                    return Err(format!("{own:?} became {other:?} at {position}"));
                }
                let [own, other] = [part.history.event(at), whole.history.event(At(position))];
                if (own.thread, own.site) != (other.thread, other.site) {
                    return Err(format!("another event at {position}"));
                }
            }
            Ok(())
        });
        // What is left of it does no harm.
        let _ = std::fs::remove_dir_all(&folder);
        assert!(left_out > 400 && several > 400, "{left_out} left out, {several} came again");
    }
}
