//! The thread that writes the trace, and what is said of the run beside its events.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use untorn_jvm_protocol::config::{Config, Progress};
use untorn_jvm_protocol::{INPUT, SCHEDULE};
use untorn_schedule::{Outcome, Schedule};
use untorn_trace::formats::utr::{Compression, Writer};
use untorn_trace::source::{Sink, TraceError};

use crate::buffers::{Buffer, Buffers};
use crate::control::Interventions;
use crate::convert::Converter;
use crate::input::Input;
use crate::instrument::Rewriter;

/// How the run ended, from the scheduler's view.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) tally: Interventions,
    pub(crate) threads: u32,
}

/// Hands buffers to a thread that writes them.
#[derive(Debug)]
pub(crate) struct Recorder {
    state: Arc<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct State {
    rewriter: Arc<Rewriter>,
    events: AtomicU64,
    input: Arc<Input>,
    said: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    fault: Option<String>,
    notes: Vec<String>,
    deadlock: bool,
    ending: Option<Ending>,
    done: bool,
}

impl Recorder {
    /// Opens the trace and starts to write it.
    pub(crate) fn start(
        config: &Config,
        rewriter: Arc<Rewriter>,
        buffers: &Arc<Buffers>,
        thread_names: Arc<Mutex<Vec<String>>>,
        input: &Arc<Input>,
    ) -> std::io::Result<Self> {
        let file = File::create(&config.trace)?;
        let state = Arc::new(State {
            rewriter: Arc::clone(&rewriter),
            events: AtomicU64::new(0),
            input: Arc::clone(input),
            said: Mutex::default(),
        });
        let mut converter = Converter::new(rewriter, thread_names);
        converter.tables.meta = config.meta.clone();
        let (shared, buffers) = (Arc::clone(&state), Arc::clone(buffers));
        let body = move || shared.write_all(file, converter, &buffers);
        let thread = std::thread::Builder::new().name("untorn writer".to_owned()).spawn(body)?;
        Ok(Self { state, thread: Mutex::new(Some(thread)) })
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Said> {
        self.state.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the agent gave up.
    pub(crate) fn fault(&self, why: &str) {
        self.said().fault.get_or_insert_with(|| why.to_owned());
    }

    pub(crate) fn note(&self, words: String) {
        self.said().notes.push(words);
    }

    pub(crate) fn deadlock(&self, words: String) {
        self.said().deadlock = true;
        self.note(words);
    }

    /// No more buffers come: waits until the trace is written.
    pub(crate) fn close(&self, buffers: &Buffers, ending: Option<Ending>) {
        if let Some(ending) = ending {
            self.said().ending = Some(ending);
        }
        buffers.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the writer has been noted by itself.
            let _ = thread.join();
        }
    }

    pub(crate) fn progress(&self, threads: u32, switches: u64) -> Progress {
        let said = self.said();
        Progress {
            events: self.state.events.load(Ordering::Relaxed),
            threads,
            switches,
            done: said.done,
            fault: said.fault.clone(),
            deadlock: said.deadlock,
            notes: said.notes.clone(),
        }
    }

    /// Tells the command line how far the run is; nothing depends on whether that works.
    pub(crate) fn write_progress(&self, path: &Path, threads: u32, switches: u64) {
        let Ok(text) = serde_json::to_vec(&self.progress(threads, switches)) else { return };
        // Written aside and renamed, so that a reader never sees half of it; one at a time, for the same reason.
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let aside = path.with_extension("new");
        if std::fs::write(&aside, text).is_ok() {
            let _ = std::fs::rename(&aside, path);
        }
    }
}

impl State {
    fn write_all(&self, file: File, converter: Converter, buffers: &Buffers) {
        let mut writing = Writing { writer: Writer::new(file, Compression::None), converter };
        // From its first moment on the file is a trace, whatever happens to the program.
        let mut failed = false;
        if let Err(error) = writing.writer.flush(&writing.converter.tables) {
            self.fail(&error);
            failed = true;
        }
        while let Some(buffer) = buffers.full() {
            if !failed && let Err(error) = writing.write(&buffer, &self.input.take()) {
                // The program goes on; its trace ends here, and that is said.
                self.fail(&error);
                failed = true;
            }
            self.events.store(writing.writer.events(), Ordering::Relaxed);
            buffers.give_back(buffer);
        }
        if !failed {
            match writing.finish(self) {
                Ok(()) => {
                    self.said.lock().unwrap_or_else(PoisonError::into_inner).done = true;
                }
                Err(error) => self.fail(&error),
            }
        }
    }

    fn fail(&self, error: &TraceError) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.fault.get_or_insert_with(|| format!("the trace cannot be written: {error}"));
    }
}

struct Writing {
    writer: Writer<File>,
    converter: Converter,
}

impl Writing {
    fn write(&mut self, buffer: &Buffer, input: &[u8]) -> Result<(), TraceError> {
        for (thread, records) in buffer.records() {
            self.converter.convert(thread, records, &mut self.writer);
        }
        self.writer.check()?;
        self.writer.forget_written(&mut self.converter.tables);
        if !input.is_empty() {
            self.writer.extra(INPUT, input)?;
        }
        if buffer.turns.is_empty() {
            return Ok(());
        }
        self.writer.extra(SCHEDULE, &Schedule::encode_steps(&buffer.turns))
    }

    fn finish(&mut self, state: &State) -> Result<(), TraceError> {
        let said = state.said.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = state.rewriter.tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let other = &mut self.converter.tables.meta.other;
        let mut put = |key: &str, value: serde_json::Value| other.insert(key.to_owned(), value);
        put("application_classes", tally.application_classes.into());
        put("application_methods", tally.application_methods.into());
        put("library_classes", tally.library_classes.into());
        put("lock_classes", tally.lock_classes.into());
        put("skipped_classes", tally.skipped_classes.into());
        put("skipped_methods", tally.skipped_methods.into());
        put("skipped", tally.skipped.into());
        put("unseen", tally.unseen.into_iter().collect::<Vec<_>>().into());
        put("unmatched_ends", self.converter.unmatched.into());
        put("elements_left_out", self.converter.left_out.into());
        if let Some(Ending { outcome, tally, threads }) = &said.ending {
            put("threads", (*threads).into());
            put("turns", outcome.turns.into());
            put("stolen", tally.stolen.into());
            put("awaited", tally.awaited.into());
            put("contended", tally.contended.into());
            put("amended", tally.amended.into());
            put("uncontrolled_threads", tally.uncontrolled.into());
            put("virtual_threads_unseen", tally.virtual_threads.into());
            if outcome.of > 0 {
                put("followed", outcome.followed.into());
                put("of", outcome.of.into());
            }
            if let Some(divergence) = &outcome.divergence {
                put("divergence", divergence.to_string().into());
            }
            if let Some(release) = &outcome.release {
                put("plan_released", release.to_string().into());
            }
        }
        let missing = state.rewriter.plan.missing();
        if !missing.is_empty() {
            put("plan_missing", missing.into());
        }
        if !said.notes.is_empty() {
            put("notes", said.notes.clone().into());
        }
        drop(said);
        self.writer.finish(&self.converter.tables)
    }
}
