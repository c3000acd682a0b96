//! Tracked calls. A call that returns has a record of its end. One that throws does not: its end is detected when the
//! calling method ends or makes its next call.

use std::io::Write;

use untorn_runtime::buffers::Record;
use untorn_trace::event::{CallOutcome, Op, Value, ValueKind};
use untorn_trace::formats::utr::Writer;
use untorn_trace::ids::{LabelId, SiteId, ThreadId};

use super::Converter;

/// A call that has not ended yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OpenCall {
    label: LabelId,
    is_tracked: bool,
}

impl Converter {
    pub(super) fn answer(&mut self, record: &Record, kind: ValueKind) -> Value {
        match kind {
            ValueKind::Ref => Value(self.number(record.value as u32).into()),
            _ => Value(record.value),
        }
    }

    pub(super) fn tracked_call_begins(
        &mut self,
        thread: ThreadId,
        label: LabelId,
        receiver: u32,
        site: SiteId,
        out: &mut Writer<impl Write>,
    ) {
        self.end_thrown(thread, out);
        self.calls[thread.index()].push(OpenCall { label, is_tracked: true });
        let (known, value) = (receiver != 0, Value(self.number(receiver).into()));
        self.emit(out, thread, Op::Call { method: label, known, value }, site);
    }

    pub(super) fn tracked_call_ends(
        &mut self,
        thread: ThreadId,
        label: LabelId,
        answer: Option<Value>,
        site: SiteId,
        out: &mut Writer<impl Write>,
    ) {
        let open = &mut self.calls[thread.index()];
        if open.pop_if(|call| *call == OpenCall { label, is_tracked: true }).is_none() {
            self.unmatched += 1;
            return;
        }
        let (known, value) = (answer.is_some(), answer.unwrap_or(Value(0)));
        let outcome = CallOutcome::Returned;
        self.emit(out, thread, Op::Return { method: label, outcome, known, value }, site);
    }

    /// A method of the application begins.
    pub(super) fn called(&mut self, thread: ThreadId, label: LabelId) {
        if self.rewriter.scope.has_tracked_calls() {
            self.calls[thread.index()].push(OpenCall { label, is_tracked: false });
        }
    }

    /// A method is about to end: a tracked call in it that has not ended has thrown.
    pub(super) fn returns(
        &mut self,
        thread: ThreadId,
        label: LabelId,
        out: &mut Writer<impl Write>,
    ) {
        self.end_thrown(thread, out);
        self.calls[thread.index()].pop_if(|call| call.label == label);
    }

    /// A method that does something else after a tracked call without an end has caught the exception of that call.
    /// Such an end has no site.
    fn end_thrown(&mut self, thread: ThreadId, out: &mut Writer<impl Write>) {
        while let Some(call) = self.calls[thread.index()].pop_if(|call| call.is_tracked) {
            let (outcome, known, value) = (CallOutcome::Threw, false, Value(0));
            let end = Op::Return { method: call.label, outcome, known, value };
            self.emit(out, thread, end, SiteId::NONE);
        }
    }
}
