//! A command that starts JVMs: checks that exactly one was selected.

use untorn_frontend::FrontEndError;
use untorn_jvm_protocol::jvm_selection::{JvmSelector, SeenJvm};

use crate::launch::{Launch, Start};

/// JVMs listed in an error.
const LISTED: usize = 12;

/// Letters of a command line that are shown.
const SHOWN: usize = 100;

/// The class with which the JVMs begin in which Gradle runs tests.
const GRADLE_WORKER: &str = "GradleWorkerMain";

/// Checks that the recorded JVM is the selected one. Reports if others match as well.
pub fn only_one(launch: &Launch, start: &Start<'_>) -> Result<Option<String>, FrontEndError> {
    if !start.is_indirect_launch() {
        return Ok(None);
    }
    let seen = launch.seen();
    let meant = seen.iter().filter(|one| one.meant).count();
    match (meant, start.selector.is_any()) {
        (1, _) => Ok(None),
        (0, true) => Err(FrontEndError::input(format!("'{}' started no Java program", start.words[0]))
            .way_out(
                "write a command that starts one with `java`, waits for it and leaves it JAVA_TOOL_OPTIONS; or start it directly: untorn record -- java -cp classes Main",
            )),
        (0, false) => Err(FrontEndError::input(format!("no JVM is meant by {}", words(start.selector)))
            .details(list(&seen))
            .way_out(how_to_mean(start.selector, &seen))),
        (_, true) => Err(FrontEndError::input(format!("{} JVMs ran: which one is meant?", seen.len()))
        .details(list(&seen))
        .way_out("choose with --main and its main class or jar, as in --main 'com.acme.*'; with --test and the test class, if Maven runs it")),
        (_, false) => Ok(Some(format!(
            "NOTE: {meant} JVMs are meant by {}; only the first was recorded",
            words(start.selector)
        ))),
    }
}

/// How the right pattern is found.
fn how_to_mean(which: &JvmSelector, seen: &[SeenJvm]) -> &'static str {
    // Gradle sends the JVM of a test what to run through a socket, which cannot be read here.
    if which.test.is_some() && seen.iter().any(|one| one.command.contains(GRADLE_WORKER)) {
        "--test reads what Maven runs, and cannot see what Gradle does: --main '*GradleWorkerMain*' and Gradle's own --tests; or, so that it replays, --junit with the class path of the test"
    } else {
        "the pattern is compared with the main class or jar, and with all of the line; * is any text"
    }
}

fn words(which: &JvmSelector) -> String {
    let option = |name: &str, pattern: &Option<String>| {
        pattern.as_ref().map(|pattern| format!("--{name} '{pattern}'"))
    };
    let given = [option("main", &which.main), option("test", &which.test)];
    given.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The JVMs, each with the beginning of its command.
fn list(seen: &[SeenJvm]) -> Vec<String> {
    let line = |one: &SeenJvm| {
        let beginning: String = one.command.chars().take(SHOWN).collect();
        let more = if beginning.len() < one.command.len() { "…" } else { "" };
        format!("seen: {beginning}{more}")
    };
    let mut lines: Vec<String> = seen.iter().take(LISTED).map(line).collect();
    match seen.len() {
        0 => lines.push("seen: none".to_owned()),
        all if all > LISTED => lines.push(format!("and {} more", all - LISTED)),
        _ => {}
    }
    lines
}
