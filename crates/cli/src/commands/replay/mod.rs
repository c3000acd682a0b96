//! `untorn replay`: repeats a recorded run, event by event, and reports where it differs.

pub mod args;
mod compare;
pub mod config;

use std::path::Path;

use untorn_jvm::launch::{Launch, Start};
use untorn_jvm::{INPUT, SCHEDULE, config::Config};
use untorn_report::phrasing::number;
use untorn_trace::RunMeta;
use untorn_trace::formats::utr;

use self::compare::{Compared, compare};
use crate::commands::record::config_of_trace;
use crate::console;
use crate::exit::{Exit, Failure, Result};
use crate::files::Input;
use crate::run as program_run;
use config::Replay;
use untorn_frontend::Surroundings;

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
    let launch = Launch::prepare().map_err(|error| program_run::refused(&error))?;
    let again =
        replay.out.clone().unwrap_or_else(|| launch.progress_file().with_file_name("again.utr"));
    let again = std::path::absolute(&again).unwrap_or(again);
    let write = |name, bytes: &[u8]| {
        launch.write(name, bytes).map_err(|error| Failure::run(error.to_string()))
    };
    let (schedule, input) = (write("schedule", &schedule)?, write("input", &input)?);
    let (config, selector) = config_of_trace(&meta.meta, &again, &launch);
    let config = Config {
        replay: Some(schedule),
        input: Some(input),
        patience_ms: if replay.debug { u64::from(u32::MAX) } else { config.patience_ms },
        ..config
    };
    let surroundings = surroundings_of(&meta.meta);
    let mut extra = Vec::new();
    if replay.debug {
        extra.push(format!(
            "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:{}",
            replay.port
        ));
    }
    let start = Start { words: &command, selector: &selector, config: &config, extra: &extra };
    let done = program_run::run(&launch, &start, &surroundings)?;
    let new = Input::utr(&again);
    match compare(&old, &new)? {
        Compared::Same(events) => {
            if !replay.quiet {
                console::tell(&format!(
                    "untorn: replayed {} events exactly; the program ended with {}\n",
                    number(events),
                    program_run::describe(done.ended),
                ));
            }
            Ok(program_run::exit_code(done.ended))
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
    let setup = meta.setup.clone().unwrap_or_default();
    let directory = if setup.directory.is_empty() { ".".to_owned() } else { setup.directory };
    Surroundings { directory, environment: setup.environment }
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
