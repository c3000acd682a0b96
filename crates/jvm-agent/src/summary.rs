//! What is said of a run beside its events: the metadata of its trace.

use std::fs::File;
use std::sync::PoisonError;

use untorn_runtime::{Convert, Ending, Record};
use untorn_schedule::ThreadId;
use untorn_trace::formats::utr::Writer;
use untorn_trace::tables::Tables;

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
        let other = &mut self.tables.meta.other;
        let mut put = |key: &str, value: serde_json::Value| other.insert(key.to_owned(), value);
        put("application_classes", tally.application_classes.into());
        put("application_methods", tally.application_methods.into());
        put("library_classes", tally.library_classes.into());
        put("lock_classes", tally.lock_classes.into());
        put("skipped_classes", tally.skipped_classes.into());
        put("skipped_methods", tally.skipped_methods.into());
        put("skipped", tally.skipped.into());
        put("unseen", tally.unseen.into_iter().collect::<Vec<_>>().into());
        put("unmatched_ends", self.unmatched.into());
        put("elements_left_out", self.left_out.into());
        if let Some(Ending { outcome, tally, threads }) = ending {
            put("threads", (*threads).into());
            put("turns", outcome.turns.into());
            put("stolen", tally.stolen.into());
            put("awaited", tally.awaited.into());
            put("contended", tally.contended.into());
            put("amended", tally.amended.into());
            put("uncontrolled_threads", tally.uncontrolled.into());
            put("virtual_threads_unseen", tally.virtual_threads.into());
            if outcome.of > 0 {
                put("followed", outcome.followed.into());
                put("of", outcome.of.into());
            }
            if let Some(divergence) = &outcome.divergence {
                put("divergence", divergence.to_string().into());
            }
            if let Some(release) = &outcome.release {
                put("plan_released", release.to_string().into());
            }
        }
        let missing = self.rewriter.plan.missing();
        if !missing.is_empty() {
            put("plan_missing", missing.into());
        }
        if !notes.is_empty() {
            put("notes", notes.to_vec().into());
        }
    }
}
