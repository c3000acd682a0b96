//! Where blocks begin and end: declared ones by `begin` and `end`, inferred ones by `call` and
//! `return`.

use untorn_trace::{Event, LabelId, Op, ThreadId};

use super::{At, Block, BlockId, Origin};

/// The open blocks of every thread, innermost last.
#[derive(Debug, Default)]
pub(super) struct OpenBlocks(Vec<Vec<BlockId>>);

impl OpenBlocks {
    /// Opens and closes blocks; returns the innermost block that the event belongs to.
    pub(super) fn event(
        &mut self,
        blocks: &mut Vec<Block>,
        at: At,
        event: &Event,
    ) -> Option<BlockId> {
        if self.0.len() <= event.thread.index() {
            self.0.resize(event.thread.index() + 1, Vec::new());
        }
        let thread = event.thread;
        match event.op {
            Op::Begin { label, .. } => Some(self.open(blocks, at, thread, label, Origin::Declared)),
            Op::Call { method, .. } => {
                Some(self.open(blocks, at, thread, method, Origin::Inferred))
            }
            Op::End { .. } => self.close(blocks, at, thread, Origin::Declared),
            Op::Return { .. } => self.close(blocks, at, thread, Origin::Inferred),
            _ => self.0[thread.index()].last().copied(),
        }
    }

    fn open(
        &mut self,
        blocks: &mut Vec<Block>,
        at: At,
        thread: ThreadId,
        label: LabelId,
        origin: Origin,
    ) -> BlockId {
        let open = &mut self.0[thread.index()];
        let id = BlockId(blocks.len() as u32);
        let outer = open.last().copied();
        blocks.push(Block { thread, label, origin, begin: at, end: None, outer });
        open.push(id);
        id
    }

    /// Closes the innermost block of that origin. The two kinds nest in well-made traces, but
    /// nothing promises it, and a return without its call is passed over.
    fn close(
        &mut self,
        blocks: &mut [Block],
        at: At,
        thread: ThreadId,
        origin: Origin,
    ) -> Option<BlockId> {
        let open = &mut self.0[thread.index()];
        let innermost = open.last().copied();
        let of_origin = |id: &BlockId| blocks[id.0 as usize].origin == origin;
        let Some(place) = open.iter().rposition(of_origin) else { return innermost };
        let id = open.remove(place);
        blocks[id.0 as usize].end = Some(at);
        Some(id)
    }
}
