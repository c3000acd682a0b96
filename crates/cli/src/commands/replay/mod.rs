//! `untorn replay`: repeats a recorded run, event by event, and reports where it differs.

pub mod args;
mod compare;
pub mod config;

use std::path::Path;

use untorn_frontend::{PrivateFolder, RecordedRun, ReplayOptions, termination};
use untorn_report::phrasing::number;

use self::compare::{Compared, compare};
use crate::console;
use crate::exit::{self, Exit, Failure, Result};
use crate::files::Input;
use crate::front_ends;
use config::Replay;

pub fn run(replay: &Replay) -> Result<u8> {
    let old = Input::utr(&replay.file);
    let recorded = RecordedRun::read(&replay.file)?;
    let kind = front_ends::by_name(&recorded.meta.front_end, &replay.file)?;
    let temporary = std::env::temp_dir();
    let folder = PrivateFolder::create_in(&temporary)
        .map_err(|error| Failure::run(format!("cannot write {}: {error}", temporary.display())))?;
    let again = replay.out.clone().unwrap_or_else(|| folder.path().join("again.utr"));
    let again = std::path::absolute(&again).unwrap_or(again);
    termination::note_signals();
    let options = ReplayOptions {
        trace: again.clone(),
        debugger: replay.debug.then_some(replay.port),
        watch: console::recording_watch(replay.quiet),
    };
    let done = kind.replay(&recorded, options)?;
    let new = Input::utr(&again);
    match compare(&old, &new)? {
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

impl Input {
    pub fn utr(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            format: Some(untorn_trace::Format::Utr),
            strictness: untorn_trace::Strictness::Strict,
        }
    }
}
