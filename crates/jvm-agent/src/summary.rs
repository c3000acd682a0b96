//! What is said of a run beside its events: the metadata of its trace.

use std::fs::File;
use std::sync::PoisonError;

use untorn_runtime::{Convert, Ending, Record};
use untorn_schedule::ThreadId;
use untorn_trace::formats::utr::Writer;
use untorn_trace::tables::Tables;
use untorn_trace::{Followed, RecordingSummary};

use crate::convert::Converter;

impl Convert for Converter {
    fn tables(&mut self) -> &mut Tables {
        &mut self.tables
    }

    fn convert(&mut self, thread: ThreadId, records: &[Record], out: &mut Writer<File>) {
        self.convert(thread, records, out);
    }

    fn finish(&mut self, ending: Option<&Ending>, notes: &[String]) {
        let tally = self.rewriter.tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut summary = RecordingSummary {
            unmatched_ends: self.unmatched,
            elements_left_out: self.left_out,
            coverage: tally.coverage(),
            plan_missing: self.rewriter.plan.missing(),
            notes: notes.to_vec(),
            ..RecordingSummary::default()
        };
        if let Some(Ending { outcome, tally, threads }) = ending {
            summary.threads = (*threads).into();
            summary.turns = outcome.turns;
            summary.stolen = tally.stolen;
            summary.awaited = tally.awaited;
            summary.contended = tally.contended;
            summary.amended = tally.amended;
            summary.uncontrolled_threads = tally.uncontrolled;
            summary.virtual_threads_unseen = tally.virtual_threads;
            summary.divergence = outcome.divergence.as_ref().map(ToString::to_string);
            summary.followed = (outcome.of > 0).then(|| Followed {
                steps: outcome.followed as u64,
                of: outcome.of as u64,
                released: outcome.release.as_ref().map(ToString::to_string),
            });
        }
        self.tables.meta.summary = Some(summary);
    }
}
