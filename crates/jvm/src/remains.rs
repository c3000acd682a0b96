//! What a run of a JVM left: how it ended, what it printed, what its schedule did.

use std::path::Path;

use untorn_frontend::UncaughtException;
use untorn_runtime_protocol::SCHEDULE;
use untorn_schedule::Schedule;
use untorn_trace::formats::utr;

/// The exceptions that ended threads, from the stack traces that the JVM printed.
pub(crate) fn exceptions(stderr: &[u8]) -> Vec<UncaughtException> {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().collect();
    let exception = |(at, line): (usize, &&str)| {
        let head = line.strip_prefix("Exception in thread \"")?.split_once("\" ")?.1.trim();
        let (kind, message) = head.split_once(": ").unwrap_or((head, ""));
        // A message may have several lines.
        let below = lines[at + 1..].iter().take_while(|line| !line.starts_with("Exception in "));
        let mut frames = below.filter_map(|line| line.trim_start().strip_prefix("at "));
        let first = frames.clone().next();
        // Where the JDK or JUnit throws says little: the code that called it does.
        let place = frames.find(|frame| !is_of_library(frame)).or(first);
        Some(UncaughtException {
            kind: kind.to_owned(),
            message: message.to_owned(),
            place: place.map(str::to_owned),
        })
    };
    lines.iter().enumerate().filter_map(exception).collect()
}

/// Whether a line of a stack trace is of the JDK, whose modules are named, or of JUnit.
fn is_of_library(frame: &str) -> bool {
    let libraries =
        ["java.base/", "java.", "jdk.", "org.junit.", "junit.framework.", "org.opentest4j."];
    libraries.iter().any(|prefix| frame.starts_with(prefix))
}

/// How often the schedule of a trace stopped a thread that could go on.
pub(crate) fn preemptions(trace: &Path) -> Option<u64> {
    let schedule = utr::extras(trace, SCHEDULE).ok()?;
    Some(Schedule::preemptions(&Schedule::decode(&schedule).ok()?))
}
