//! What is left of a run beside its trace.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use untorn_runtime_protocol::DEADLOCK_EXIT;
use untorn_trace::{Followed, RecordingSummary};

/// How the program ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ExitKind {
    Exit(i32),
    Signal(i32),
    /// No thread could ever run again.
    Deadlock,
    /// It was stopped because it took too long.
    TimedOut,
}

impl From<ExitStatus> for ExitKind {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(DEADLOCK_EXIT), _) => Self::Deadlock,
            (Some(code), _) => Self::Exit(code),
            (None, signal) => Self::Signal(signal.unwrap_or(0)),
        }
    }
}

/// Completes "the program ended with …".
impl fmt::Display for ExitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Deadlock => f.write_str("a deadlock"),
            Self::TimedOut => f.write_str("the end of its time"),
        }
    }
}

/// An exception that ended a thread. The name of the thread is left out: it says nothing of what happened.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct UncaughtException {
    /// Its type: `java.lang.IllegalStateException`; empty if the language has none.
    pub kind: String,
    pub message: String,
    /// The innermost place of its stack trace, if it has one: `Bank.withdraw(Bank.java:12)`.
    pub place: Option<String>,
}

impl fmt::Display for UncaughtException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind.is_empty(), self.message.is_empty()) {
            (true, _) => f.write_str(&self.message),
            (false, true) => f.write_str(&self.kind),
            (false, false) => write!(f, "{}: {}", self.kind, self.message),
        }
    }
}

/// What came of a run that nobody recorded or controlled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlainRun {
    pub exit: ExitKind,
    /// What it printed to both streams.
    pub output: String,
}

/// What is left of a run beside its trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunResult {
    pub exit: ExitKind,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// The exceptions, or whatever the language calls them, that ended a thread.
    pub uncaught: Vec<UncaughtException>,
    pub followed: Option<Followed>,
    /// How often a thread that could go on was stopped, if that is known.
    pub preemptions: Option<u64>,
    /// What the front end could not see.
    pub unseen: Vec<RecordingGap>,
    /// Why the runtime gave up control, if it did.
    pub fault: Option<String>,
    /// What else the runtime has to say: a deadlock, a plan that could not be followed.
    pub notes: Vec<String>,
    /// The run was made in a process that had made runs before. What it shows counts only after
    /// [`FrontEnd::run_fresh`](crate::FrontEnd::run_fresh) has repeated it.
    pub warm: bool,
    /// What a driver inside of the program saw, in order, a line each.
    pub observed: Vec<String>,
    /// Why the results of the run are wrong, if somebody judged them to be; in words.
    pub wrong: Option<String>,
}

impl RunResult {
    /// One that has ended so, and of which nothing else is known.
    pub fn new(exit: ExitKind) -> Self {
        Self {
            exit,
            stdout: Vec::new(),
            stderr: Vec::new(),
            uncaught: Vec::new(),
            followed: None,
            preemptions: None,
            unseen: Vec::new(),
            fault: None,
            notes: Vec::new(),
            warm: false,
            observed: Vec::new(),
            wrong: None,
        }
    }
}

/// Something of a run that no event shows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RecordingGap {
    /// Code that could not be instrumented, and why.
    Skipped(String),
    /// Something that the program used and that leaves no events.
    Used(String),
    /// Threads that the runtime of the language started.
    UncontrolledThreads(u64),
    VirtualThreads(u64),
    /// How often a thread blocked outside of what is controlled.
    BlockedOutside(u64),
    /// How often a thread blocked on a monitor of code that is not recorded.
    Contended(u64),
    /// Elements of large copied arrays.
    Elements(u64),
    /// Accesses whose variable is not known.
    Unresolved(u64),
}

impl RecordingGap {
    /// All that a recording says of what it does not show.
    pub fn of(summary: &RecordingSummary) -> Vec<Self> {
        let coverage = &summary.coverage;
        let skipped = coverage.skipped.iter().cloned().map(Self::Skipped);
        let used = coverage.unseen.iter().cloned().map(Self::Used);
        let counted = [
            (summary.uncontrolled_threads, Self::UncontrolledThreads as fn(u64) -> Self),
            (summary.virtual_threads_unseen, Self::VirtualThreads),
            (summary.stolen, Self::BlockedOutside),
            (summary.contended, Self::Contended),
            (summary.elements_left_out, Self::Elements),
            (summary.accesses_unresolved, Self::Unresolved),
        ];
        let counted = counted.into_iter().filter(|(often, _)| *often > 0);
        skipped.chain(used).chain(counted.map(|(often, unseen)| unseen(often))).collect()
    }

    /// How many accesses have no known variable.
    pub fn unresolved(&self) -> Option<u64> {
        match self {
            Self::Unresolved(often) => Some(*often),
            _ => None,
        }
    }

    /// Whether it is so in every run of the program. What is not, is a count that differs from run to run.
    pub fn is_of_the_program(&self) -> bool {
        match self {
            Self::Skipped(_)
            | Self::Used(_)
            | Self::UncontrolledThreads(_)
            | Self::VirtualThreads(_) => true,
            Self::BlockedOutside(_)
            | Self::Contended(_)
            | Self::Elements(_)
            | Self::Unresolved(_) => false,
        }
    }
}

impl fmt::Display for RecordingGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped(what) => write!(f, "not instrumented: {what}"),
            Self::Used(what) => write!(f, "used, but not seen: {what}"),
            Self::UncontrolledThreads(_) => {
                f.write_str("threads that the language's own runtime started ran without control")
            }
            Self::VirtualThreads(_) => f.write_str("virtual threads ran without control"),
            Self::BlockedOutside(often) => {
                write!(f, "threads blocked where nobody sees it (files, sockets): {often}")
            }
            Self::Contended(often) => {
                write!(f, "threads blocked on monitors of code that is not recorded: {often}")
            }
            Self::Elements(often) => write!(f, "elements of large copied arrays: {often}"),
            Self::Unresolved(often) => write!(
                f,
                "accesses by address, view or handle whose variable is not known: {often}"
            ),
        }
    }
}

/// The line without what is another one each time: identities of objects, times of day and numbers of threads.
pub fn mask_noise(line: &str) -> String {
    mask_threads(&mask_times(&mask_identities(line)))
}

/// The line with `#` for times of day, as in `12:30:05.123`: time is virtual, and depends on the schedule.
fn mask_times(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let length = time_of_day(after);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (taken, left) = after.split_at(length.unwrap_or(digits));
        out.push_str(if length.is_some() { "#" } else { taken });
        rest = left;
    }
    out.push_str(rest);
    out
}

/// The length of a time of day at the beginning of a text: hours, minutes, seconds, and perhaps a fraction.
fn time_of_day(text: &str) -> Option<usize> {
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let hours = digits(text);
    let minutes = text[hours..].strip_prefix(':')?;
    let seconds = minutes.get(2..).filter(|_| digits(minutes) == 2)?.strip_prefix(':')?;
    if !(1..=2).contains(&hours) || digits(seconds) != 2 {
        return None;
    }
    let length = text.len() - seconds.len() + 2;
    let fraction = text[length..].strip_prefix(['.', ',']).map_or(0, digits);
    Some(if fraction > 0 { length + 1 + fraction } else { length })
}

/// The line with `#` for the numbers of threads and pools that have no names of their own, as in `pool-1-thread-2`: who
/// does what depends on the schedule.
fn mask_threads(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('-') {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        let is_thread = ["Thread-", "thread-", "pool-"].iter().any(|name| before.ends_with(name));
        let left = after.trim_start_matches(|c: char| c.is_ascii_digit());
        if is_thread && left.len() < after.len() {
            out.push('#');
            rest = left;
        } else {
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The line with `#` for identities of objects, as in `Account@1b`: they are numbers in the order of their use.
fn mask_identities(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('@') {
        let (before, after) = rest.split_at(at + 1);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
        let follows_name = before[..at].ends_with(|c: char| c.is_alphanumeric() || c == ']');
        let is_identity = follows_name
            && digits > 0
            && !after[digits..].starts_with(|c: char| c.is_alphanumeric() || c == '.');
        out.push_str(before);
        if is_identity {
            out.push('#');
        }
        rest = if is_identity { &after[digits..] } else { after };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_counted_is_unseen() {
        assert_eq!(RecordingGap::of(&RecordingSummary::default()), []);
        let mut summary = RecordingSummary {
            stolen: 2,
            virtual_threads_unseen: 1,
            ..RecordingSummary::default()
        };
        summary.coverage.skipped.push("Big.run: too large".to_owned());
        let unseen = RecordingGap::of(&summary);
        let expected = [
            RecordingGap::Skipped("Big.run: too large".to_owned()),
            RecordingGap::VirtualThreads(1),
            RecordingGap::BlockedOutside(2),
        ];
        assert_eq!(unseen, expected);
        let lasting = unseen.iter().filter(|one| one.is_of_the_program()).count();
        assert_eq!(lasting, 2, "a count of one run says nothing of the program");
    }

    #[test]
    fn what_is_another_one_each_time_is_alike() {
        let line =
            "00:00:02.103 [pool-10-thread-1] DEBUG Id@1f at 2026-01-01T12:30:05,7Z by Thread-3";
        assert_eq!(mask_noise(line), "# [pool-#-thread-#] DEBUG Id@# at 2026-01-01T#Z by Thread-#");
        for line in ["balance 50", "1:2", "10:20", "a:10:20x", "12:3:45", "worker-7", "é12:3", "-"]
        {
            assert_eq!(mask_noise(line), line);
        }
    }

    #[test]
    fn identities_of_objects_are_alike() {
        assert_eq!(mask_identities("got Account@1b, then [I@7f"), "got Account@#, then [I@#");
        for line in ["ada@example.org", "@Test", "a @ b", "x@yz"] {
            assert_eq!(mask_identities(line), line);
        }
        assert_eq!(mask_identities("Account@12 and"), "Account@# and");
    }
}
