//! Java programs for the tests of `record` and `replay`: compiled once, run with and without the agent, each
//! under a hard limit of time, and what was recorded of them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::validate::Validator;
use untorn_trace::{Event, EventIdx, Op, RecordingSummary, Tables, Trace, show_value};

/// No run of a test takes longer, unless it hangs. Generous: the machine may be busy with other things.
const LIMIT: Duration = Duration::from_secs(60);

/// Whether the long tests are wanted.
pub fn soak() -> bool {
    std::env::var_os("UNTORN_SOAK").is_some()
}

/// A folder of this test's own, empty.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

// ---- compiling ----

/// A tool of the JDK, of JAVA_HOME or else of the PATH.
fn tool(name: &str) -> PathBuf {
    std::env::var_os("JAVA_HOME")
        .map(|home| Path::new(&home).join("bin").join(name))
        .filter(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from(name))
}

/// The command that starts the class `main` of a folder of classes.
pub fn java(classes: &Path, main: &str) -> Vec<String> {
    let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
    vec![text(&tool("java")), "-cp".to_owned(), text(classes), main.to_owned()]
}

/// Compiles sources, each with the name of its file. They are compiled once for all processes of tests: the folder
/// is named after its sources, and takes its place when it is complete.
pub fn compile(name: &str, sources: &[(String, String)]) -> PathBuf {
    compile_with(name, sources, "")
}

/// The same, with libraries.
pub fn compile_with(name: &str, sources: &[(String, String)], class_path: &str) -> PathBuf {
    compile_for(&[], name, sources, class_path)
}

/// The same, with further options of the compiler.
pub fn compile_for(
    options: &[&str],
    name: &str,
    sources: &[(String, String)],
    class_path: &str,
) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (sources, options).hash(&mut hasher);
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("java");
    let done = root.join(format!("{name}-{:016x}", hasher.finish()));
    if done.is_dir() {
        return done;
    }
    // Of this thread of this process alone: others may be compiling the same.
    let mine = format!("{name}-{}-{:?}", std::process::id(), std::thread::current().id());
    let (from, to) = (root.join(format!("{mine}-sources")), root.join(format!("{mine}-classes")));
    std::fs::create_dir_all(&from).expect("a folder for sources");
    std::fs::create_dir_all(&to).expect("a folder for classes");
    let mut javac = Command::new(tool("javac"));
    javac.args(["-encoding", "UTF-8", "-g:source,lines", "-d"]).arg(&to);
    javac.args(["-cp", class_path]).args(options);
    for (file, source) in sources {
        std::fs::write(from.join(file), source).expect("a source is written");
        javac.arg(from.join(file));
    }
    match javac.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => panic!("javac refuses {name}:\n{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => panic!(
            "cannot run javac: {error}. These tests need a JDK (Debian: default-jdk-headless); set \
             JAVA_HOME if it is not on the PATH"
        ),
    }
    let _ = std::fs::remove_dir_all(&from);
    if let Err(error) = std::fs::rename(&to, &done) {
        assert!(done.is_dir(), "{}: {error}", done.display());
        let _ = std::fs::remove_dir_all(&to);
    }
    done
}

/// Compiles one source.
pub fn compile_one(file: &str, source: &str) -> PathBuf {
    compile(file.trim_end_matches(".java"), &[(file.to_owned(), source.to_owned())])
}

/// Where `./dev setup` puts libraries, and the drivers over them.
pub fn libraries() -> PathBuf {
    std::env::var_os("UNTORN_TARGETS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/targets"),
        PathBuf::from,
    )
}

/// `java` of another release, which `./dev setup` has fetched.
pub fn java_of(release: u32) -> PathBuf {
    let home = std::env::var_os("UNTORN_JDKS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/jdks"),
        PathBuf::from,
    );
    let java = home.join(release.to_string()).join("bin/java");
    assert!(java.is_file(), "{} is missing: run `./dev setup`", java.display());
    java
}

/// A library and what it needs, as a class path.
pub fn library(name: &str) -> String {
    let folder = libraries().join(name).join("lib");
    assert!(folder.is_dir(), "{} is missing: run `./dev setup`", folder.display());
    format!("{}/*", folder.display())
}

// ---- the examples ----

/// A program of `examples/java`.
#[derive(Clone, Debug)]
pub struct Example {
    pub name: String,
    /// `pass`, `fail` or `constructs`.
    pub kind: &'static str,
    pub source: String,
}

fn folder_of(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/java").join(kind)
}

/// All programs of that kind, by name.
pub fn examples(kind: &'static str) -> Vec<Example> {
    let entries = std::fs::read_dir(folder_of(kind)).expect("the examples exist");
    let mut found: Vec<Example> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension() == Some(OsStr::new("java")))
        .map(|path| Example {
            name: path.file_stem().and_then(OsStr::to_str).expect("a plain name").to_owned(),
            kind,
            source: std::fs::read_to_string(&path).expect("a readable example"),
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!found.is_empty(), "no examples of kind {kind}");
    found
}

/// The program with that name.
pub fn example(kind: &'static str, name: &str) -> Example {
    let mut all = examples(kind);
    all.retain(|example| example.name == name);
    all.pop().unwrap_or_else(|| panic!("no example {kind}/{name}"))
}

impl Example {
    /// What the head of the source says after `// key:`; see the README there.
    pub fn key(&self, key: &str) -> Option<&str> {
        let head = format!("// {key}:");
        self.source.lines().find_map(|line| line.strip_prefix(&head)).map(str::trim)
    }

    /// What the program may print, by its head: `whole`, `torn` and every `or`.
    pub fn outputs(&self) -> Vec<String> {
        let keys = ["// whole:", "// torn:", "// or:"];
        let outputs = self.source.lines().filter_map(|line| {
            let text = keys.iter().find_map(|key| line.strip_prefix(key))?;
            Some(text.trim().to_owned())
        });
        outputs.map(|text| text.replace("\\n", "\n") + "\n").collect()
    }

    /// The number of the only line with that text.
    pub fn line_of(&self, text: &str) -> u32 {
        line_of(&self.source, text)
    }

    /// The exit code that the program ends with.
    pub fn exit(&self) -> i32 {
        self.key("exit").map_or(0, |code| code.parse().expect("an exit code"))
    }

    /// A file beside the source, with another ending.
    pub fn beside(&self, ending: &str) -> PathBuf {
        folder_of(self.kind).join(format!("{}.{ending}", self.name))
    }

    /// The output that every schedule gives.
    pub fn golden(&self) -> String {
        std::fs::read_to_string(self.beside("out")).expect("the output stands beside the source")
    }

    /// The name of its file, and what stands in it.
    pub fn file(&self) -> (String, String) {
        (format!("{}.java", self.name), self.source.clone())
    }

    /// Starts the program, as a user would.
    pub fn command(&self) -> Vec<String> {
        java(&classes_of(self.kind), &self.name)
    }
}

/// The number of the only line of a source with that text.
#[track_caller]
pub fn line_of(source: &str, text: &str) -> u32 {
    let mut found = source.lines().zip(1..).filter(|(line, _)| line.contains(text));
    let (_, number) = found.next().unwrap_or_else(|| panic!("no line with '{text}'"));
    assert!(found.next().is_none(), "several lines with '{text}'");
    number
}

/// The compiled examples of that kind.
fn classes_of(kind: &'static str) -> PathBuf {
    static DONE: OnceLock<Mutex<BTreeMap<&str, PathBuf>>> = OnceLock::new();
    let mut done = DONE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    done.entry(kind)
        .or_insert_with(|| {
            compile(kind, &examples(kind).iter().map(Example::file).collect::<Vec<_>>())
        })
        .clone()
}

// ---- running ----

/// How a process ended, and what it said.
#[derive(Clone, Debug)]
pub struct CommandResult {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    what: String,
}

impl CommandResult {
    /// Insists on that exit code.
    #[track_caller]
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Insists on that text on the standard error.
    #[track_caller]
    pub fn saying(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "not a word of '{text}':\n{self}");
        self
    }
}

impl std::fmt::Display for CommandResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr, what } = self;
        let code = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
        let (stdout, stderr) = (last_lines(stdout), last_lines(stderr));
        write!(f, "{what}\nended with {code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// The end of a long text.
fn last_lines(text: &str) -> String {
    const SHOWN: usize = 40;
    let lines: Vec<&str> = text.lines().collect();
    match lines.len().checked_sub(SHOWN) {
        None | Some(0) => text.to_owned(),
        Some(left_out) => format!("({left_out} lines)\n{}", lines[left_out..].join("\n")),
    }
}

#[derive(Debug, Default)]
struct State {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// How many of the two streams have ended: whoever holds them, a child of the child too, is gone then.
    closed: u32,
    status: Option<ExitStatus>,
}

impl State {
    fn is_over(&self) -> bool {
        self.status.is_some() && self.closed == 2
    }
}

type Shared = Arc<(Mutex<State>, Condvar)>;

fn locked(shared: &Shared) -> MutexGuard<'_, State> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process that runs, the leader of its own group. All of the group is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    what: String,
    pub pid: u32,
    shared: Shared,
    deadline: Instant,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let what = format!("{command:?}");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Options that the JVM takes from its environment would be confirmed on the standard error.
        for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
            command.env_remove(name);
        }
        let mut child =
            command.process_group(0).spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
        let shared = Shared::default();
        listen(child.stdout.take().expect("piped"), &shared, |state| &mut state.stdout);
        listen(child.stderr.take().expect("piped"), &shared, |state| &mut state.stderr);
        let pid = child.id();
        await_end(child, &shared);
        Self { what, pid, shared, deadline: Instant::now() + LIMIT }
    }

    /// Gives it another limit of time: it starts many JVMs.
    pub fn within(mut self, limit: Duration) -> Self {
        self.deadline = Instant::now() + limit;
        self
    }

    /// Waits until something is true of the process; an error if it takes too long.
    fn until(&self, done: impl Fn(&State) -> bool) -> Result<MutexGuard<'_, State>, String> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let waited = self.shared.1.wait_timeout_while(locked(&self.shared), left, |s| !done(s));
        let (state, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
        if timed_out.timed_out() && !done(&state) {
            let said = self.ended(&state);
            drop(state);
            self.kill_group();
            return Err(format!("HANGS: killed\n{said}"));
        }
        Ok(state)
    }

    /// Waits until the standard output has that many lines, or the process has ended; which of them.
    pub fn prints_lines(&self, count: usize) -> bool {
        let lines = |state: &State| state.stdout.iter().filter(|&&byte| byte == b'\n').count();
        let state = self.until(|state| lines(state) >= count || state.is_over());
        lines(&state.unwrap_or_else(|error| panic!("{error}"))) >= count
    }

    /// Waits until the standard output has that text, or the process has ended; which of them.
    pub fn prints(&self, text: &str) -> bool {
        let has = |state: &State| String::from_utf8_lossy(&state.stdout).contains(text);
        let state = self.until(|state| has(state) || state.is_over());
        has(&state.unwrap_or_else(|error| panic!("{error}")))
    }

    /// Waits for the end of the process and of all who hold its streams.
    pub fn finish(self) -> CommandResult {
        self.try_finish().unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn try_finish(self) -> Result<CommandResult, String> {
        let state = self.until(State::is_over)?;
        Ok(self.ended(&state))
    }

    fn ended(&self, state: &State) -> CommandResult {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        CommandResult {
            code: state.status.and_then(|status| status.code()),
            stdout: text(&state.stdout),
            stderr: text(&state.stderr),
            what: self.what.clone(),
        }
    }

    /// Sends a signal to the whole group, as a terminal does.
    pub fn signal_group(&self, signal: &str) {
        kill(signal, &format!("-{}", self.pid));
    }

    /// Sends a signal to the process alone.
    pub fn signal(&self, signal: &str) {
        kill(signal, &self.pid.to_string());
    }

    /// Sends a signal to the processes that the process itself has started.
    pub fn signal_children(&self, signal: &str) {
        let pid = self.pid;
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        for child in children.unwrap_or_default().split_whitespace() {
            kill(signal, child);
        }
    }

    fn kill_group(&self) {
        self.signal_group("KILL");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !locked(&self.shared).is_over() {
            self.kill_group();
        }
    }
}

fn kill(signal: &str, whom: &str) {
    let command = format!("kill -s {signal} -- {whom}");
    // One that has ended meanwhile needs no signal.
    let _ = Command::new("sh").args(["-c", &command]).stderr(Stdio::null()).status();
}

fn listen(
    mut stream: impl Read + Send + 'static,
    shared: &Shared,
    of: fn(&mut State) -> &mut Vec<u8>,
) {
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        let mut piece = [0; 8192];
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            of(&mut locked(&shared)).extend(&piece[..length]);
            shared.1.notify_all();
        }
        locked(&shared).closed += 1;
        shared.1.notify_all();
    });
}

fn await_end(mut child: Child, shared: &Shared) {
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        // Only a child that somebody else has waited for fails here; then the time limit speaks.
        locked(&shared).status = child.wait().ok();
        shared.1.notify_all();
    });
}

/// Runs a program as it is.
pub fn try_run(command: &[String]) -> Result<CommandResult, String> {
    Running::start(Command::new(&command[0]).args(&command[1..])).try_finish()
}

/// `untorn`, with the agent that was built with it.
pub fn untorn(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_untorn"));
    command.args(args).env("UNTORN_AGENT", agent());
    command
}

/// The agent beside the executable. A build of single packages leaves an old one there, so the newest counts.
pub fn agent() -> PathBuf {
    let beside = Path::new(env!("CARGO_BIN_EXE_untorn")).parent().expect("a folder");
    let places = [beside.join("deps"), beside.to_owned()];
    let found = places.iter().map(|place| place.join("libuntorn_jvm_agent.so"));
    let newest =
        found.filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path))).max();
    newest.unwrap_or_else(|| panic!("no libuntorn_jvm_agent.so in {}", beside.display())).1
}

/// `untorn record`, quietly, with further options.
pub fn recording(trace: &Path, options: &[&str], command: &[String]) -> Command {
    let mut record = untorn(&["record", "-q", "-o"]);
    record.arg(trace).args(options).arg("--").args(command);
    record
}

/// Records a program.
pub fn record(trace: &Path, options: &[&str], command: &[String]) -> CommandResult {
    Running::start(&mut recording(trace, options, command)).finish()
}

/// Runs `untorn`.
pub fn run(args: &[&str]) -> CommandResult {
    Running::start(&mut untorn(args)).finish()
}

/// A path as an argument.
pub fn arg(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

// ---- what was recorded ----

/// A trace, read strictly to its end.
#[derive(Debug)]
pub struct Recorded {
    pub tables: Tables,
    pub events: Vec<Event>,
    /// Why it ends early, if it does.
    pub cut: Option<String>,
}

impl Recorded {
    pub fn try_read(path: &Path) -> Result<Self, String> {
        let mut source = open(&Input::new(path), &OpenOptions::default())
            .map_err(|error| format!("the trace cannot be opened: {error}"))?;
        let Trace { tables, events } = Trace::read(source.as_mut())
            .map_err(|error| format!("the trace cannot be read: {error}"))?;
        Ok(Self { tables, events, cut: source.notes().cut.clone() })
    }

    /// A trace that is whole and well-formed.
    #[track_caller]
    pub fn read(path: &Path) -> Self {
        let trace = Self::try_read(path).unwrap_or_else(|error| panic!("{error}"));
        trace.check().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        trace
    }

    /// Whether it is whole, and everything in it can have happened.
    pub fn check(&self) -> Result<(), String> {
        if let Some(cut) = &self.cut {
            return Err(format!("the trace is cut short: {cut}"));
        }
        let mut validator = Validator::new();
        validator.events(EventIdx(0), &self.events);
        match validator.defects().first() {
            Some(first) => Err(format!(
                "the trace has {} defects: {}",
                validator.count(),
                first.describe(&self.tables)
            )),
            None => Ok(()),
        }
    }

    /// What the front end said of the run.
    pub fn summary(&self) -> &RecordingSummary {
        self.tables.meta.summary.as_ref().expect("a recording that was not cut")
    }

    /// The events at places of a source file.
    pub fn in_file<'a>(&'a self, file: &'a str) -> impl Iterator<Item = &'a Event> {
        self.events.iter().filter(move |event| {
            self.tables.sites.get(event.site).is_some_and(|site| site.file == file)
        })
    }

    /// An event in words, for messages: thread, operation, target, value, place.
    pub fn words(&self, event: &Event) -> String {
        let tables = &self.tables;
        let thread = tables.thread_name(event.thread);
        let place = tables.site_text(event.site);
        match event.op {
            Op::Read { var, value, .. } | Op::Write { var, value, .. } => {
                let verb = if matches!(event.op, Op::Read { .. }) { "reads" } else { "writes" };
                let value = show_value(value, tables.var_facts(var).values);
                format!("{thread} {verb} {} = {value} at {place}", tables.var_name(var))
            }
            op => format!("{thread} {op:?} at {place}"),
        }
    }
}

/// Where two traces differ first.
pub fn difference(a: &Path, b: &Path) -> String {
    let (a, b) = match (Recorded::try_read(a), Recorded::try_read(b)) {
        (Ok(a), Ok(b)) => (a, b),
        (a, b) => return format!("{:?} {:?}", a.err(), b.err()),
    };
    let shown = |trace: &Recorded, at: usize| {
        trace.events.get(at).map_or("the end".to_owned(), |event| trace.words(event))
    };
    let longest = a.events.len().max(b.events.len());
    let differs =
        |&at: &usize| a.events.get(at) != b.events.get(at) || shown(&a, at) != shown(&b, at);
    match (0..longest).find(differs) {
        Some(at) => format!("event {at}: {} / {}", shown(&a, at), shown(&b, at)),
        None => format!(
            "the same {longest} events; what is said of the run: {:?} / {:?}",
            a.tables.meta.summary, b.tables.meta.summary
        ),
    }
}
