//! `untorn replay`: repeats a recorded run, event by event, and says where it differs.

pub mod args;
mod compare;
pub mod config;

use std::path::Path;

use untorn_jvm::jvm_selection::JvmSelector;
use untorn_jvm::launch::{Launch, Start};
use untorn_jvm::{INPUT, SCHEDULE, config::Config};
use untorn_report::words::number;
use untorn_trace::formats::utr;
use untorn_trace::tables::RunMeta;

use self::compare::{Compared, compare};
use crate::commands::record::config_of_trace;
use crate::console;
use crate::exit::{Exit, Failure, Result};
use crate::files::Input;
use crate::run::{self, Surroundings};
use config::Replay;

pub fn run(replay: &Replay) -> Result<u8> {
    let old = Input::utr(&replay.file);
    let kept =
        |kind| utr::extras(&replay.file, kind).map_err(|error| Failure::input(error.to_string()));
    let (schedule, input) = (kept(SCHEDULE)?, kept(INPUT)?);
    let meta = crate::reading::last_meta(&replay.file).map_err(Failure::input)?;
    let command = meta.meta.command.clone();
    if command.is_empty() || schedule.is_empty() {
        return Err(Failure::input(format!("{}: has no schedule", replay.file.display()))
            .way_out("only traces made by `untorn record` can be replayed"));
    }
    let launch = Launch::prepare().map_err(|error| run::refused(&error))?;
    let again =
        replay.out.clone().unwrap_or_else(|| launch.progress_file().with_file_name("again.utr"));
    let again = std::path::absolute(&again).unwrap_or(again);
    let write = |name, bytes: &[u8]| {
        launch.write(name, bytes).map_err(|error| Failure::run(error.to_string()))
    };
    let (schedule, input) = (write("schedule", &schedule)?, write("input", &input)?);
    let config = Config {
        replay: Some(schedule),
        input: Some(input),
        patience_ms: if replay.debug { u64::from(u32::MAX) } else { 500 },
        ..config_of_trace(&meta.meta, &again, &launch)
    };
    let surroundings = surroundings_of(&meta.meta);
    let which = meta.meta.other.get("which").cloned();
    let mut extra = Vec::new();
    if replay.debug {
        extra.push(format!(
            "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:{}",
            replay.port
        ));
    }
    let which: JvmSelector =
        which.and_then(|which| serde_json::from_value(which).ok()).unwrap_or_default();
    let start = Start { words: &command, selector: &which, config: &config, extra: &extra };
    let done = run::run(&launch, &start, &surroundings)?;
    let new = Input::utr(&again);
    match compare(&old, &new)? {
        Compared::Same(events) => {
            if !replay.quiet {
                console::tell(&format!(
                    "untorn: replayed {} events exactly; the program ended with {}\n",
                    number(events),
                    run::describe(done.ended),
                ));
            }
            Ok(run::exit_code(done.ended))
        }
        Compared::Differs { at, expected, actual } => {
            console::tell(&format!(
                "untorn: the replay DIVERGED at event {}\n  expected {expected}\n  actual   {actual}\n  \
                 {}",
                number(at),
                "the program depends on something that is not recorded: time, input, files, the network\n",
            ));
            Ok(Exit::CouldNotRun as u8)
        }
    }
}

fn surroundings_of(meta: &RunMeta) -> Surroundings {
    let get = |name: &str| meta.other.get(name).cloned().unwrap_or_default();
    Surroundings {
        directory: get("directory").as_str().unwrap_or(".").to_owned(),
        environment: serde_json::from_value(get("environment")).unwrap_or_default(),
    }
}

impl Input {
    pub fn utr(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            format: Some(untorn_trace::Format::Utr),
            strictness: untorn_trace::Strictness::Strict,
        }
    }
}
