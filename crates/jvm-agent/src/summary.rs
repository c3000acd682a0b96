//! The metadata of a recorded trace.

use std::fs::File;
use std::sync::PoisonError;

use untorn_runtime::{Convert, Record};
use untorn_schedule::ThreadId;
use untorn_trace::RecordingSummary;
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

    fn finish(&mut self, summary: RecordingSummary) {
        let tally = self.rewriter.tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.tables.meta.summary = Some(RecordingSummary {
            unmatched_ends: self.unmatched,
            elements_left_out: self.left_out,
            accesses_unresolved: self.unresolved,
            coverage: tally.coverage(),
            plan_missing: self.rewriter.plan.missing(),
            ..summary
        });
    }
}
