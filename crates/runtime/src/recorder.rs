//! Writes the trace: full buffers become events, followed by the metadata of the run.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use untorn_runtime_protocol::{INPUT, Progress, SCHEDULE};
use untorn_schedule::{Outcome, Schedule, ThreadId};
use untorn_trace::formats::utr::{Compression, Writer};
use untorn_trace::source::{Sink, TraceError};
use untorn_trace::tables::Tables;
use untorn_trace::{Followed, RecordingSummary};

use crate::buffers::{Buffer, Buffers, Record, SpareBuffers};
use crate::control::Interventions;
use crate::input::Input;
use crate::sync::{Condition, Lock};

/// Turns records into events, on the thread that writes the trace. A front end implements it.
///
/// Protocol: [`Convert::convert`] for each run of records of one thread, in the order in which they happened; then
/// [`Convert::finish`], once. The tables hold all names that the events written so far use; names that are written
/// already may be gone from them.
pub trait Convert {
    fn tables(&mut self) -> &mut Tables;

    fn convert(&mut self, thread: ThreadId, records: &[Record], out: &mut Writer<File>);

    /// The run has ended. Adds the front end's part to the summary, and puts it into the metadata of the tables.
    fn finish(&mut self, summary: RecordingSummary);
}

/// How the run ended, according to the scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) tally: Interventions,
    pub(crate) threads: u32,
}

impl Ending {
    fn summary(&self) -> RecordingSummary {
        let Self { outcome, tally, threads } = self;
        RecordingSummary {
            threads: (*threads).into(),
            turns: outcome.turns,
            stolen: tally.stolen,
            awaited: tally.awaited,
            contended: tally.contended,
            amended: tally.amended,
            uncontrolled_threads: tally.uncontrolled,
            virtual_threads_unseen: tally.virtual_threads,
            divergence: outcome.divergence.as_ref().map(ToString::to_string),
            followed: (outcome.of > 0).then(|| Followed {
                steps: outcome.followed as u64,
                of: outcome.of as u64,
                released: outcome.abandoned.as_ref().map(ToString::to_string),
                premature_timeouts: outcome.premature_timeouts.clone(),
            }),
            ..RecordingSummary::default()
        }
    }
}

/// Passes buffers to the thread that writes them.
#[derive(Debug)]
pub struct Recorder {
    pub(crate) buffers: Buffers,
    input: Arc<Input>,
    events: AtomicU64,
    report: Lock<Report>,
    changed: Condition,
    /// Only one thread at a time writes the progress file.
    progress: Lock<()>,
}

#[derive(Debug, Default)]
struct Report {
    fault: Option<String>,
    notes: Vec<String>,
    observed: Vec<String>,
    deadlock: bool,
    ending: Option<Ending>,
    /// The trace is complete.
    done: bool,
    /// The writing thread has ended.
    ended: bool,
}

impl Recorder {
    /// The answers of standard input are stored in the trace.
    pub fn new(input: Arc<Input>) -> Self {
        Self::with(input, SpareBuffers::default())
    }

    /// The same with the memory of an earlier run.
    pub fn with(input: Arc<Input>, spare: SpareBuffers) -> Self {
        Self {
            buffers: Buffers::with(spare),
            input,
            events: AtomicU64::new(0),
            report: Lock::default(),
            changed: Condition::new(),
            progress: Lock::new(()),
        }
    }

    /// Writes the trace until [`Control::finish`](crate::Control::finish). The front end calls it once, on a thread
    /// of its own.
    pub fn write_all(&self, file: File, converter: impl Convert) {
        // Dropped last, and also by a panic: no thread may wait for a writer that has ended.
        let _end = EndOfWriter(self);
        let mut writing = Writing { writer: Writer::new(file, Compression::None), converter };
        // The file is a readable trace from the beginning, whatever happens to the program.
        let mut failed = false;
        if let Err(error) = writing.writer.flush(writing.converter.tables()) {
            self.fail(&error);
            failed = true;
        }
        while let Some(buffer) = self.buffers.full() {
            if !failed && let Err(error) = writing.write(&buffer, &self.input.take()) {
                // The program continues; its trace ends here, and the error is recorded.
                self.fail(&error);
                failed = true;
            }
            self.events.store(writing.writer.events(), Ordering::Relaxed);
            self.buffers.give_back(buffer);
        }
        if !failed {
            match writing.finish(self.summary()) {
                Ok(()) => self.report.lock().done = true,
                Err(error) => self.fail(&error),
            }
        }
    }

    fn summary(&self) -> RecordingSummary {
        let report = self.report.lock();
        // A run whose control was given up has no ending.
        let summary = report.ending.as_ref().map(Ending::summary).unwrap_or_default();
        RecordingSummary { notes: report.notes.clone(), ..summary }
    }

    fn fail(&self, error: &TraceError) {
        self.fault(&format!("the trace cannot be written: {error}"));
    }

    /// Why the runtime gave up. The first reason counts.
    pub fn fault(&self, why: &str) {
        self.report.lock().fault.get_or_insert_with(|| why.to_owned());
    }

    pub fn note(&self, words: String) {
        self.report.lock().notes.push(words);
    }

    /// A driver of ours inside of the program saw something.
    pub fn observe(&self, line: String) {
        self.report.lock().observed.push(line);
    }

    pub(crate) fn deadlock(&self, words: String) {
        let mut report = self.report.lock();
        report.deadlock = true;
        report.notes.push(words);
    }

    /// No more buffers will come: waits until the trace is written.
    pub(crate) fn close(&self, ending: Option<Ending>) {
        if let Some(ending) = ending {
            self.report.lock().ending = Some(ending);
        }
        self.buffers.close();
        let mut report = self.report.lock();
        while !report.ended {
            report = self.changed.wait(report);
        }
    }

    /// Waits until the trace is written, whoever ends the run.
    pub fn await_end(&self) {
        let mut report = self.report.lock();
        while !report.ended {
            report = self.changed.wait(report);
        }
    }

    pub fn progress(&self, threads: u32, switches: u64) -> Progress {
        let report = self.report.lock();
        Progress {
            events: self.events.load(Ordering::Relaxed),
            threads,
            switches,
            done: report.done,
            fault: report.fault.clone(),
            deadlock: report.deadlock,
            notes: report.notes.clone(),
            observed: report.observed.clone(),
        }
    }

    /// Reports the progress of the run to the command line; a failure does not matter.
    pub fn write_progress(&self, path: &Path, threads: u32, switches: u64) {
        let Ok(text) = serde_json::to_vec(&self.progress(threads, switches)) else { return };
        // Written to another file and renamed, so that a reader never sees half of it; one thread at a time, for the
        // same reason.
        let _one = self.progress.lock();
        let aside = path.with_extension("new");
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&aside);
        if file.and_then(|mut file| file.write_all(&text)).is_ok() {
            let _ = std::fs::rename(&aside, path);
        }
    }
}

struct EndOfWriter<'a>(&'a Recorder);

impl Drop for EndOfWriter<'_> {
    fn drop(&mut self) {
        self.0.report.lock().ended = true;
        self.0.changed.notify_all();
    }
}

struct Writing<C> {
    writer: Writer<File>,
    converter: C,
}

impl<C: Convert> Writing<C> {
    fn write(&mut self, buffer: &Buffer, input: &[u8]) -> Result<(), TraceError> {
        for (thread, records) in buffer.records() {
            self.converter.convert(thread, records, &mut self.writer);
        }
        self.writer.check()?;
        self.writer.forget_written(self.converter.tables());
        if !input.is_empty() {
            self.writer.extra(INPUT, input)?;
        }
        if buffer.turns.is_empty() {
            return Ok(());
        }
        self.writer.extra(SCHEDULE, &Schedule::encode_steps(&buffer.turns))
    }

    fn finish(&mut self, summary: RecordingSummary) -> Result<(), TraceError> {
        self.converter.finish(summary);
        self.writer.finish(self.converter.tables())
    }
}
