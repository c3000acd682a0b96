//! `untorn replay`: repeats a recorded run, event by event, and says where it differs.

use std::path::Path;

use untorn_jvm::choose::Which;
use untorn_jvm::launch::{Launch, Start};
use untorn_jvm::{INPUT, SCHEDULE, config::Config};
use untorn_report::words::number;
use untorn_trace::event::Event;
use untorn_trace::formats::utr;
use untorn_trace::tables::{RunMeta, Tables};
use untorn_trace::{Source, show_value};

use crate::config::Replay;
use crate::console;
use crate::exit::{Exit, Failure, Result};
use crate::files::Input;
use crate::record::config_of_trace;
use crate::run::{self, Surroundings};

pub fn run(replay: &Replay) -> Result<u8> {
    let old = Input::utr(&replay.file);
    let bytes = std::fs::read(&replay.file)
        .map_err(|error| Failure::input(format!("{}: {error}", replay.file.display())))?;
    let fault = |error: untorn_trace::TraceError| {
        Failure::input(format!("{}: {error}", replay.file.display()))
    };
    let schedule = utr::extras(&bytes, SCHEDULE).map_err(fault)?;
    let meta = crate::reading::last_meta(&replay.file)
        .map_err(|error| Failure::input(format!("{}: {error}", replay.file.display())))?;
    let command = meta.meta.command.clone();
    if command.is_empty() || schedule.is_empty() {
        return Err(Failure::input(format!("{}: has no schedule", replay.file.display()))
            .way_out("only traces made by `untorn record` can be replayed"));
    }
    let launch = Launch::prepare().map_err(|error| run::refused(&error))?;
    let again =
        replay.out.clone().unwrap_or_else(|| launch.progress_file().with_file_name("again.utr"));
    let again = std::path::absolute(&again).unwrap_or(again);
    let schedule =
        launch.write("schedule", &schedule).map_err(|error| Failure::run(error.to_string()))?;
    let input = utr::extras(&bytes, INPUT).map_err(fault)?;
    let input = launch.write("input", &input).map_err(|error| Failure::run(error.to_string()))?;
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
    let which: Which =
        which.and_then(|which| serde_json::from_value(which).ok()).unwrap_or_default();
    let start = Start { words: &command, which: &which, config: &config, extra: &extra };
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

enum Compared {
    Same(u64),
    Differs { at: u64, expected: String, actual: String },
}

/// Compares two traces event by event. Ids are given by first occurrence, so the same events have the same ids.
fn compare(old: &Input, new: &Input) -> Result<Compared> {
    let (mut a, mut b) = (old.open()?, new.open()?);
    let (mut left, mut right) = (Reading::default(), Reading::default());
    let mut at = 0;
    loop {
        let (x, y) = (left.next(a.as_mut(), old)?, right.next(b.as_mut(), new)?);
        if x.is_none() && y.is_none() {
            return Ok(Compared::Same(at));
        }
        let shown = |event: Option<Event>, tables: &Tables| {
            event.map_or("the end of the run".to_owned(), |event| words(&event, tables))
        };
        if x != y || x.is_some_and(|event| words(&event, a.tables()) != words(&event, b.tables())) {
            let (expected, actual) = (shown(x, a.tables()), shown(y, b.tables()));
            // A trace that was cut short says nothing of what came after.
            if x.is_none() && a.notes().cut.is_some() {
                return Ok(Compared::Same(at));
            }
            return Ok(Compared::Differs { at, expected, actual });
        }
        at += 1;
    }
}

#[derive(Default)]
struct Reading {
    batch: Vec<Event>,
    next: usize,
}

impl Reading {
    fn next(&mut self, source: &mut dyn Source, input: &Input) -> Result<Option<Event>> {
        if self.next == self.batch.len() {
            source.read(&mut self.batch).map_err(|error| input.fault(&error))?;
            self.next = 0;
        }
        let event = self.batch.get(self.next).copied();
        self.next += 1;
        Ok(event)
    }
}

/// An event in words.
fn words(event: &Event, tables: &Tables) -> String {
    let thread = tables.thread_name(event.thread);
    let what = untorn_report::Action::of(event.op).verb();
    let target = target(event, tables);
    let value = event.value().map_or(String::new(), |value| {
        let kind = match event.op {
            untorn_trace::Op::Read { var, .. } | untorn_trace::Op::Write { var, .. } => {
                tables.var_facts(var).kind
            }
            _ => untorn_trace::ValueKind::Ref,
        };
        format!(" = {}", show_value(value, kind))
    });
    let place = match tables.site_text(event.site) {
        text if text.is_empty() => text,
        text => format!(" at {text}"),
    };
    format!("{thread}: {what} {target}{value}{place}")
}

fn target(event: &Event, tables: &Tables) -> String {
    use untorn_trace::Op;
    match event.op {
        Op::Read { var, .. } | Op::Write { var, .. } => tables.var_name(var),
        Op::Acquire { lock, .. }
        | Op::Release { lock, .. }
        | Op::Request { lock }
        | Op::Wait { lock }
        | Op::Resume { lock }
        | Op::Notify { lock, .. } => tables.lock_name(lock),
        Op::Fork { child } | Op::Join { child } => tables.thread_name(child),
        Op::Begin { label } | Op::End { label } => tables.block_name(label, event.site),
        Op::Branch { count } => count.to_string(),
        Op::Call { method, .. } | Op::Return { method, .. } => {
            tables.block_name(method, event.site)
        }
        Op::Input { source, .. } => tables.block_name(source, event.site),
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
