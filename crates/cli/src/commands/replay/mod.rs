//! `untorn replay`: repeats a recorded run, event by event, and reports where it differs.

pub mod args;
pub mod config;

use untorn_frontend::compare::{self, Compared};
use untorn_frontend::{PrivateFolder, RecordedRun, ReplayOptions, termination};
use untorn_linearizability::{Observation, Scenario};
use untorn_report::phrasing::{list, number};
use untorn_report::text::plain;
use untorn_trace::event::Event;
use untorn_trace::tables::Tables;

use crate::console;
use crate::exit::{self, CliError, Exit, Result};
use crate::{front_ends, trust};
use config::Replay;

/// Changed classes that are named, at most.
const MAX_CHANGED: usize = 6;

pub fn run(replay: &Replay) -> Result<u8> {
    let mut recorded = RecordedRun::read(&replay.file)?;
    let kind = front_ends::by_name(&recorded.meta.front_end, &replay.file)?;
    may_run(replay, &mut recorded)?;
    let temporary = std::env::temp_dir();
    let folder = PrivateFolder::create_in(&temporary)
        .map_err(|error| CliError::run(format!("cannot write {}: {error}", temporary.display())))?;
    let again = replay.out.clone().unwrap_or_else(|| folder.path().join("again.utr"));
    let again = std::path::absolute(&again).unwrap_or(again);
    termination::note_signals();
    if replay.debug && !replay.quiet {
        console::tell(&how_to_attach(replay));
    }
    let options = ReplayOptions {
        trace: again.clone(),
        debugger: replay.debug.then_some(replay.port),
        watch: console::recording_watch(replay.quiet),
    };
    let done = kind.replay(&recorded, options)?;
    if let Some(scenario) = untorn_jvm::scenario_of(&recorded.meta).filter(|_| !replay.quiet) {
        tell_calls(&scenario, &done.observed);
    }
    match compare::compare(&replay.file, &again, &words)? {
        Compared::Same(events) => {
            if !replay.quiet {
                console::tell(&format!(
                    "untorn: replayed {} events exactly; the program ended with {}\n",
                    number(events),
                    done.exit,
                ));
            }
            Ok(exit::of_program(done.exit))
        }
        Compared::Differs { at, expected, actual } => {
            let [expected, actual] = [expected, actual]
                .map(|event| event.unwrap_or_else(|| "the end of the run".to_owned()));
            console::tell(&format!(
                "untorn: the replay DIVERGED at event {}\n  expected {expected}\n  actual   {actual}\n  {}\n",
                number(at),
                why_diverged(&untorn_jvm::changed_class_files(&recorded.meta), replay.debug),
            ));
            Ok(Exit::CouldNotRun as u8)
        }
    }
}

/// Whether what the file says may be run. Of a file that somebody else made, variables that could have other code run
/// are left out, unless it is trusted.
fn may_run(replay: &Replay, recorded: &mut RecordedRun) -> Result<()> {
    if replay.trust || recorded.is_made_here() {
        return Ok(());
    }
    let left_out = recorded.risky_variables();
    recorded.drop_risky_variables();
    let surroundings = recorded.surroundings();
    let asked = trust::Foreign {
        file: &replay.file,
        command: &recorded.meta.command,
        directory: Some(&surroundings.directory),
        set: surroundings.environment,
        left_out,
        call: "untorn replay --trust",
    };
    asked.ask()
}

/// Why a run may be another one than the recorded one.
fn why_diverged(changed: &[String], is_debugged: bool) -> String {
    let changed: Vec<String> = changed.iter().map(|name| plain(name)).collect();
    if !changed.is_empty() {
        return format!(
            "the program is not the one that was recorded: {} changed since; \
             `untorn verify` looks whether the finding is still there",
            list(&changed, MAX_CHANGED)
        );
    }
    let outside =
        "the program depends on something that is not recorded: time, input, files, the network";
    match is_debugged {
        true => format!(
            "{outside}; or on the order of a hash table: objects have other identities beside a debugger"
        ),
        false => outside.to_owned(),
    }
}

/// What to do while the program waits.
fn how_to_attach(replay: &Replay) -> String {
    let port = replay.port;
    let mut text = format!(
        "untorn: the program waits for a debugger at 127.0.0.1:{port}\n  \
         attach with `jdb -attach 127.0.0.1:{port}`, or in an IDE with \"Remote JVM Debug\" at port {port}\n"
    );
    if !replay.places.is_empty() {
        text.push_str("  break where it is torn, in this order:\n");
    }
    for place in &replay.places {
        text.push_str(&format!("    {place}\n"));
    }
    text
}

/// What the calls of a scenario gave, in the order of their ends.
fn tell_calls(scenario: &Scenario, observed: &[String]) {
    for line in observed {
        if let Ok(Observation::Ended(id, outcome)) = Observation::parse(line) {
            console::tell(&scenario.sentence(id, &outcome).unwrap_or_default());
        }
    }
}

/// An event in words.
fn words(event: &Event, tables: &Tables) -> String {
    let thread = tables.thread_name(event.thread);
    let what = untorn_report::Action::of(event.op).verb();
    let (target, rest) = (compare::target(event, tables), compare::value_and_place(event, tables));
    format!("{thread}: {what} {target}{rest}")
}
