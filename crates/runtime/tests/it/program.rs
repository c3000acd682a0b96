//! A front end for the tests: threads of the operating system are the program, and their calls are the probes.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use untorn_runtime::buffers::special;
use untorn_runtime::{
    Control, Convert, Host, Input, Moment, Record, Recorder, Resumption, Settings, ThreadNames,
    WaitDescription, Watchdog,
};
use untorn_runtime_protocol::{Progress, SCHEDULE};
use untorn_schedule::{
    Blocker, LockKey, Locks, Mode, Options, PolicyKind, Schedule, Scheduler, ThreadId,
};
use untorn_trace::formats::utr::{self, Writer};
use untorn_trace::tables::Tables;
use untorn_trace::{Followed, RecordingSummary};

/// Records with these sites are about locks, not accesses.
pub const ACQUIRED: u32 = 900;
pub const RELEASED: u32 = 901;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of a thread: how deeply it is inside of code that must not be preempted, and how often it has branched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    unstoppable: u32,
    branches: u32,
}

#[derive(Debug, Default)]
pub struct TestHost {
    position: AtomicUsize,
    limit: AtomicUsize,
    unstoppable: AtomicU32,
    branches: AtomicU32,
    /// The number of the thread with the token, counted from 1.
    owner: AtomicU32,
    away: AtomicUsize,
    owners: Mutex<HashMap<u64, ThreadId>>,
    /// Locks whose owner in `owners` is wrong.
    pub wrong: Mutex<Vec<u64>>,
    pub buried: Mutex<Vec<ThreadId>>,
}

impl Locks for TestHost {
    fn owner(&self, lock: LockKey) -> Option<ThreadId> {
        locked(&self.owners).get(&lock.0).copied()
    }
}

impl Host for TestHost {
    type Env = ();
    /// Its number in the order in which threads were started.
    type Thread = u32;
    type State = State;
    type Lock = u64;

    fn position(&self, (): ()) -> usize {
        self.position.load(Ordering::Relaxed)
    }

    fn set_window(&self, (): (), position: usize, limit: usize) {
        self.position.store(position, Ordering::Relaxed);
        self.limit.store(limit, Ordering::Relaxed);
    }

    fn take_branches(&self, (): ()) -> u32 {
        self.branches.swap(0, Ordering::Relaxed)
    }

    fn may_stop(&self, (): (), moment: Moment) -> bool {
        moment == Moment::RecordedTurnEnd || self.unstoppable.load(Ordering::Relaxed) == 0
    }

    fn grant(&self, (): (), id: ThreadId, thread: &u32, state: State, away: usize) {
        assert_eq!(id.0, *thread, "threads are numbered alike");
        assert_eq!(self.owner.swap(id.0 + 1, Ordering::Relaxed), 0, "the token is granted twice");
        self.unstoppable.store(state.unstoppable, Ordering::Relaxed);
        self.branches.store(state.branches, Ordering::Relaxed);
        self.away.store(away, Ordering::Relaxed);
    }

    fn revoke(&self, (): (), away: usize) -> State {
        self.owner.store(0, Ordering::Relaxed);
        self.away.store(away, Ordering::Relaxed);
        State {
            unstoppable: self.unstoppable.load(Ordering::Relaxed),
            branches: self.branches.load(Ordering::Relaxed),
        }
    }

    fn bury(&self, (): (), id: ThreadId, _thread: &mut u32) {
        locked(&self.buried).push(id);
    }

    fn amend(&self, (): (), wanted: &u64, _holder: &u32) -> bool {
        let is_wrong = locked(&self.wrong).contains(wanted);
        if is_wrong {
            locked(&self.owners).remove(wanted);
        }
        is_wrong
    }

    fn describe(
        &self,
        (): (),
        thread: &u32,
        on: &Blocker,
        wanted: Option<&u64>,
    ) -> WaitDescription {
        let on = wanted.map_or_else(|| on.to_string(), |lock| format!("lock {lock}"));
        WaitDescription { on, frames: vec![format!("thread {thread}")] }
    }
}

/// A program under control: what its threads call.
#[derive(Clone)]
pub struct Program {
    pub control: Arc<Control<TestHost>>,
    threads: Arc<AtomicU32>,
    running: Arc<Mutex<Vec<thread::JoinHandle<()>>>>,
}

/// Thrown by a call that returns because control has ended: the thread has nothing more to do.
struct Free;

impl Program {
    fn me(&self) -> ThreadId {
        self.control.present(()).unwrap_or_else(|| resume_unwind(Box::new(Free)))
    }

    fn is_owner(&self) -> bool {
        let owner = self.control.host().owner.load(Ordering::Relaxed);
        self.control.current_thread().is_some_and(|me| owner == me.0 + 1)
    }

    /// Acts as a probe: writes a record, if the thread has the token or gets it back.
    pub fn access(&self, site: u32, value: u64) {
        let host = self.control.host();
        let back = || host.away.load(Ordering::Relaxed) > 0 && self.control.come_back(());
        if !(self.is_owner() || back()) {
            return;
        }
        let position = host.position.load(Ordering::Relaxed);
        let branches = host.branches.swap(0, Ordering::Relaxed);
        let record = Record { site, value, branches, ..Record::default() };
        let place = std::ptr::with_exposed_provenance_mut::<Record>(position);
        // SAFETY: the position lies in the buffer until the limit is reached, and only the owner of the token writes.
        unsafe { place.write_volatile(record) };
        let position = position + Record::SIZE;
        host.position.store(position, Ordering::Relaxed);
        if position >= host.limit.load(Ordering::Relaxed) {
            self.control.limit_reached(());
        }
    }

    /// Before a branch: a thread that only branches is considered to spin.
    pub fn branch(&self) {
        if self.control.host().branches.fetch_add(1, Ordering::Relaxed) >= 100 {
            self.control.spinning(());
        }
    }

    /// The body must not be preempted.
    pub fn unstoppable(&self, body: impl FnOnce()) {
        self.control.host().unstoppable.fetch_add(1, Ordering::Relaxed);
        body();
        let depth = self.control.host().unstoppable.fetch_sub(1, Ordering::Relaxed);
        assert_eq!(depth, 1, "the state of another thread");
    }

    pub fn lock(&self, lock: u64) {
        let me = self.me();
        if self.control.host().owner(LockKey(lock)).is_some() {
            let mut holder = self.control.hold((), me);
            holder.record(Record { site: special::REQUEST, value: lock, ..Record::default() });
            if holder.block_on_lock(LockKey(lock), lock).is_none() {
                resume_unwind(Box::new(Free));
            }
        }
        self.own(lock, me);
        self.access(ACQUIRED, lock);
    }

    /// In the model only, without informing the runtime.
    pub fn own(&self, lock: u64, thread: ThreadId) {
        locked(&self.control.host().owners).insert(lock, thread);
    }

    pub fn unlock(&self, lock: u64) {
        locked(&self.control.host().owners).remove(&lock);
        self.access(RELEASED, lock);
    }

    /// Waits for something; true if control has not ended meanwhile.
    pub fn block(&self, on: Blocker) -> bool {
        let me = self.me();
        self.control.hold((), me).block(on) != Resumption::Free
    }

    pub fn spawn(
        &self,
        name: &str,
        daemon: bool,
        body: impl FnOnce(&Self) + Send + 'static,
    ) -> ThreadId {
        let me = self.me();
        let number = self.threads.fetch_add(1, Ordering::Relaxed);
        let child = self.control.fork((), me, name, number, daemon);
        let program = self.clone();
        let body = move || {
            // A thread that starts when control has ended is not controlled, and runs nevertheless.
            let controlled = program.control.started((), |&thread| thread == number);
            assert!(controlled || !program.control.is_on());
            program.body(body);
        };
        locked(&self.running).push(thread::spawn(body));
        child
    }

    /// Runs all of a thread's code.
    fn body(&self, body: impl FnOnce(&Self)) {
        let result = catch_unwind(AssertUnwindSafe(|| body(self)));
        self.control.ended((), |_| None);
        if let Err(panic) = result
            && !panic.is::<Free>()
        {
            resume_unwind(panic);
        }
    }

    pub fn join(&self, thread: ThreadId) {
        if self.block(Blocker::Join { thread, deadline: None }) {
            self.control.joined((), |&number| number == thread.0);
        }
    }
}

/// How a program is run.
#[derive(Clone)]
pub struct Run {
    pub mode: Mode,
    pub seed: u64,
    pub quantum: u64,
    /// A watchdog with that patience.
    pub watchdog: Option<Duration>,
    pub trace: Option<PathBuf>,
    /// The process goes on with another run.
    pub stays: bool,
}

impl Run {
    pub fn new(policy: PolicyKind, seed: u64) -> Self {
        let mode = Mode::Policy(policy);
        Self { mode, seed, quantum: 1_000_000, watchdog: None, trace: None, stays: false }
    }

    pub fn replay(schedule: &Schedule) -> Self {
        Self { mode: Mode::Replay(schedule.clone()), ..Self::new(PolicyKind::RunToBlock, 0) }
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Recorded {
    /// Thread and site and value of all records, in order.
    pub records: Vec<(u32, Record)>,
    pub schedule: Schedule,
    pub progress: Progress,
    /// `None` if the trace could not be written.
    pub summary: Option<RecordingSummary>,
    pub buried: Vec<ThreadId>,
}

impl Recorded {
    /// Thread and site of what probes recorded.
    pub fn accesses(&self) -> Vec<(u32, u32)> {
        let probes = self.records.iter().filter(|(_, record)| record.site < special::FIRST);
        probes.map(|(thread, record)| (*thread, record.site)).collect()
    }

    pub fn summary(&self) -> &RecordingSummary {
        self.summary.as_ref().expect("the run came to its end")
    }

    /// A schedule was repeated to its end.
    pub fn is_faithful(&self) -> bool {
        let followed = self.summary().followed.as_ref();
        let whole = |followed: &Followed| followed.of > 0 && followed.steps == followed.of;
        followed.is_some_and(whole) && self.summary().divergence.is_none()
    }
}

/// Keeps records and the ending, instead of making events of them.
#[derive(Clone, Default)]
struct Keep {
    tables: Tables,
    records: Arc<Mutex<Vec<(u32, Record)>>>,
    summary: Arc<Mutex<Option<RecordingSummary>>>,
}

impl Convert for Keep {
    fn tables(&mut self) -> &mut Tables {
        &mut self.tables
    }

    fn convert(&mut self, thread: ThreadId, records: &[Record], _out: &mut Writer<File>) {
        locked(&self.records).extend(records.iter().map(|&record| (thread.0, record)));
    }

    fn finish(&mut self, summary: RecordingSummary) {
        *locked(&self.summary) = Some(summary);
    }
}

/// A folder of its own for the files of a run.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("untorn-runtime-{process}-{number}"));
        std::fs::create_dir_all(&path).expect("writable");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn deadlocked(code: i32) {
    assert_eq!(code, untorn_runtime_protocol::DEADLOCK_EXIT);
}

/// Runs a program and returns everything that was recorded of it.
pub fn run(run: &Run, main: impl FnOnce(&Program) + Send + 'static) -> Recorded {
    let folder = Folder::new();
    let trace = run.trace.clone().unwrap_or_else(|| folder.0.join("run.utr"));
    let (keep, names) = (Keep::default(), Arc::new(ThreadNames::default()));
    let recorder = Arc::new(Recorder::new(Arc::new(Input::default())));
    let writer = {
        let (recorder, keep) = (Arc::clone(&recorder), keep.clone());
        let file = File::create(&trace).expect("writable");
        thread::spawn(move || recorder.write_all(file, keep))
    };
    let settings = Settings {
        progress: folder.0.join("progress.json"),
        replaying: matches!(run.mode, Mode::Replay(_)),
        asks_policy: false,
        processor: None,
        exit: deadlocked,
        stays: run.stays,
    };
    let options =
        Options { seed: run.seed, quantum: run.quantum, patient: true, ..Options::default() };
    let scheduler = Scheduler::new(run.mode.clone(), options);
    let host = TestHost::default();
    let control = Arc::new(Control::new(host, scheduler, Arc::clone(&recorder), names, settings));
    let program = Program {
        control: Arc::clone(&control),
        threads: Arc::new(AtomicU32::new(1)),
        running: Arc::default(),
    };
    let stop = Arc::new(AtomicBool::new(false));
    let watchdog = run.watchdog.map(|patience| watch(&control, patience, &stop));
    let first = program.clone();
    let body = move || {
        first.control.begin((), "main", 0);
        first.body(main);
    };
    thread::spawn(body).join().expect("the main thread ends");
    // Threads that are left may start others.
    while let Some(thread) = { locked(&program.running).pop() } {
        thread.join().expect("no thread panics");
    }
    stop.store(true, Ordering::Relaxed);
    if let Some(watchdog) = watchdog {
        watchdog.join().expect("no panic");
    }
    control.finish(());
    control.finish(());
    writer.join().expect("no panic");
    control.report();
    let schedule = utr::extras(&trace, SCHEDULE).ok();
    let steps = schedule.map_or(Ok(Vec::new()), |bytes| Schedule::decode(&bytes));
    let progress = std::fs::read(folder.0.join("progress.json")).expect("it was written");
    let (records, summary) = (locked(&keep.records).clone(), locked(&keep.summary).clone());
    Recorded {
        records,
        schedule: Schedule { steps: steps.expect("a schedule") },
        progress: serde_json::from_slice(&progress).expect("as the protocol says"),
        summary,
        buried: locked(&control.host().buried).clone(),
    }
}

fn watch(
    control: &Arc<Control<TestHost>>,
    patience: Duration,
    stop: &Arc<AtomicBool>,
) -> thread::JoinHandle<()> {
    let (control, stop) = (Arc::clone(control), Arc::clone(stop));
    thread::spawn(move || {
        let mut watchdog = Watchdog::new(patience);
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(Watchdog::TICK);
            if let Some(blocked) = watchdog.check(&control, false) {
                control.steal((), blocked);
            }
        }
    })
}
