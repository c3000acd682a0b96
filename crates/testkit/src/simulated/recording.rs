//! What a simulated run leaves: events, tables, schedule, output.

use std::fs::File;
use std::path::Path;

use untorn_frontend::{ExitKind, RunResult, UncaughtException};
use untorn_schedule::{Outcome, RunSpec, Schedule, Step};
use untorn_trace::formats::utr::{Compression, ExtraKind, Writer};
use untorn_trace::tables::convention;
use untorn_trace::{
    CodePosition, Coverage, Event, Followed, LabelFacts, MemberId, ObjectId, RecordingSummary,
    RunMeta, Sink, Site, SiteFacts, SiteId, Tables, TraceError, Value, ValueKind, VarFacts,
    VarRole,
};

use super::program::Program;

/// The section of a trace file that holds its schedule, as real front ends have it.
const SCHEDULE: ExtraKind = ExtraKind::new(b"schd");

/// The module of all code.
pub(super) const MODULE: &str = "program";

/// A run that is over.
#[derive(Debug)]
pub(super) struct Recording {
    pub tables: Tables,
    pub events: Vec<Event>,
    pub steps: Vec<Step>,
    pub outcome: Outcome,
    pub exit: ExitKind,
    pub stdout: String,
    pub uncaught: Vec<UncaughtException>,
}

impl Recording {
    pub(super) fn write(mut self, spec: &RunSpec, path: &Path) -> Result<RunResult, TraceError> {
        let followed = (self.outcome.of > 0).then(|| Followed {
            steps: self.outcome.followed as u64,
            of: self.outcome.of as u64,
            released: self.outcome.abandoned.as_ref().map(ToString::to_string),
            premature_timeouts: self.outcome.premature_timeouts.clone(),
        });
        self.tables.meta = RunMeta {
            command: vec!["simulated".to_owned()],
            seed: Some(spec.seed),
            front_end: "simulated".to_owned(),
            summary: Some(RecordingSummary {
                threads: self.tables.threads.len() as u64,
                turns: self.outcome.turns,
                followed: followed.clone(),
                divergence: self.outcome.divergence.as_ref().map(ToString::to_string),
                coverage: Coverage { application_classes: 1, ..Coverage::default() },
                ..RecordingSummary::default()
            }),
            ..RunMeta::default()
        };
        let mut writer = Writer::new(File::create(path)?, Compression::None);
        writer.extra(SCHEDULE, &Schedule::encode_steps(&self.steps))?;
        writer.write(&self.tables, &self.events)?;
        writer.finish(&self.tables)?;
        Ok(RunResult {
            stdout: self.stdout.into_bytes(),
            uncaught: self.uncaught,
            followed,
            preemptions: Some(Schedule::preemptions(&self.steps)),
            ..RunResult::new(self.exit)
        })
    }
}

/// The tables that a program has before it runs; ids are positions in the program.
pub(super) fn tables_of(program: &Program) -> Tables {
    let mut tables = Tables::default();
    for var in &program.vars {
        let id = tables.vars.push(&var.name);
        let facts = VarFacts::new(ValueKind::Int, Some(Value::int(var.initial)));
        let facts = match var.role {
            VarRole::Unknown => facts,
            role => {
                let member = tables.members.intern(&convention::member(&var.name));
                facts.with_place(role, ObjectId(id.0), member)
            }
        };
        debug_assert!(facts.role == VarRole::Unknown || facts.member != MemberId::NONE);
        tables.set_var_facts(id, facts);
    }
    for lock in &program.locks {
        tables.locks.push(lock);
    }
    for label in &program.labels {
        let id = tables.labels.push(&label.name);
        let (class, method) = label.name.rsplit_once('.').unwrap_or(("", &label.name));
        let facts = LabelFacts {
            class: tables.sites.intern_symbol(class),
            method: tables.sites.intern_symbol(method),
            is_library: label.is_library,
            is_entry: label.is_entry,
        };
        tables.set_label_facts(id, facts);
    }
    tables
}

/// The place of a line, inside of a method.
pub(super) fn site(tables: &mut Tables, line: u32, method: &str, is_library: bool) -> SiteId {
    tables.sites.intern(&Site {
        file: MODULE,
        line,
        method,
        position: CodePosition::Module { module: MODULE, offset: line.into() },
        facts: SiteFacts { is_library, ..SiteFacts::default() },
        ..Site::default()
    })
}
