//! Functions begin and end: activations, blocks that are named, and what lies on the stack.

use std::collections::BTreeSet;
use std::fs::File;

use untorn_trace::event::{BlockKind, CallOutcome, Op, Value};
use untorn_trace::formats::utr::Writer;
use untorn_trace::ids::{LabelId, LockId, SiteId, ThreadId};
use untorn_trace::tables::LabelFacts;

use super::Converter;
use super::meaning::Meaning;

/// In place of the mutex of a block: the author has marked it.
const MARKED: usize = 1;

/// How far below its first frame a stack may reach.
const STACK: usize = 8 << 20;

/// A function that was entered and not left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activation {
    label: LabelId,
    site: SiteId,
    /// The stack pointer in it: its variables lie there and above.
    stack: usize,
    is_named: bool,
    /// The trace has its beginning: it is written with the first event inside.
    shown: bool,
    /// Of code that comes with the language: the place in the user's code from which it was called. Such code is part of
    /// its caller, and the trace does not have its calls. 0 of the user's own.
    caller: usize,
}

/// A block that was begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenBlock {
    pub(super) label: LabelId,
    pub(super) kind: BlockKind,
    /// The mutex that guards it; 0 for a function that is named.
    pub(super) address: usize,
    pub(super) lock: LockId,
}

#[derive(Debug, Default)]
pub(super) struct Stack {
    pub(super) activations: Vec<Activation>,
    /// How many of them, from the outermost on, the trace has.
    shown: usize,
    pub(super) blocks: Vec<OpenBlock>,
    /// The words of its memory that have variables.
    words: BTreeSet<usize>,
}

impl Stack {
    /// Where the user's code has called what comes with the language and now runs; 0 if it is the user's own.
    pub(super) fn caller(&self) -> usize {
        self.activations.last().map_or(0, |top| top.caller)
    }

    /// The outermost activation that ends when a function is left with that stack pointer, and the return address is in
    /// `label`. A function may leave by a jump to our hook: then the return address is that of its caller, and the stack
    /// pointer is above its frame.
    fn left(&self, stack: usize, label: LabelId) -> Option<usize> {
        let last = self.activations.len().checked_sub(1)?;
        if self.activations[last].label == label {
            return Some(last);
        }
        if self.activations[last].stack < stack {
            // Those of whose caller the frame lies below, too, were left by a long jump.
            let is_caller_there = |&at: &usize| self.activations[at - 1].stack >= stack;
            return Some((1..=last).rev().find(is_caller_there).unwrap_or(0));
        }
        self.activations.iter().rposition(|entered| entered.label == label)
    }

    fn holds(&self, address: usize) -> bool {
        let Some(first) = self.activations.first() else { return false };
        // The frame of the first function reaches somewhat above its stack pointer.
        address < first.stack + (1 << 16) && address + STACK > first.stack
    }
}

#[derive(Debug, Default)]
pub(super) struct Stacks(pub(super) Vec<Stack>);

impl Stacks {
    pub(super) fn add_thread(&mut self) {
        self.0.push(Stack::default());
    }

    /// The thread on whose stack an address is, the function whose variable it is, and how far it is from there.
    pub(super) fn frame_of(&self, address: usize) -> Option<(usize, LabelId, usize)> {
        // Stacks may be shorter than that and lie close to each other: it is the next one above.
        let own = self.0.iter().enumerate().filter(|(_, stack)| stack.holds(address));
        let (thread, _) = own.min_by_key(|(_, stack)| stack.activations[0].stack)?;
        let activations = &self.0[thread].activations;
        // Frames of what was called later lie below.
        let own = activations.iter().find(|activation| activation.stack <= address);
        let own = own.or(activations.last())?;
        Some((thread, own.label, address.wrapping_sub(own.stack)))
    }

    /// A word of a stack got variables.
    pub(super) fn add_word(&mut self, thread: usize, word: usize) {
        self.0[thread].words.insert(word);
    }
}

impl Converter {
    pub(super) fn enter(
        &mut self,
        thread: ThreadId,
        stack: usize,
        caller: usize,
        meaning: Meaning,
    ) {
        // What a long jump left behind lies below.
        while let Some(top) = self.stacks.0[thread.index()].activations.last()
            && top.stack <= stack
        {
            self.stacks.0[thread.index()].activations.pop();
        }
        let own = &mut self.stacks.0[thread.index()];
        own.shown = own.shown.min(own.activations.len());
        let is_first = own.activations.iter().all(|outer| outer.caller != 0);
        let caller = match (meaning.is_transparent, own.caller()) {
            (false, _) => 0,
            (true, 0) => caller.max(1),
            (true, outer) => outer,
        };
        own.activations.push(Activation {
            label: meaning.label,
            site: meaning.site,
            stack,
            is_named: meaning.is_named,
            shown: false,
            caller,
        });
        if is_first && caller == 0 {
            let facts = self.tables.label_facts(meaning.label);
            self.tables.set_label_facts(meaning.label, LabelFacts { is_entry: true, ..facts });
        }
    }

    /// Before an event: the functions around it are written if they have not been.
    #[inline]
    pub(super) fn show_activations(&mut self, thread: ThreadId, out: &mut Writer<File>) {
        let own = &self.stacks.0[thread.index()];
        if own.shown < own.activations.len() {
            self.show_hidden(thread, out);
        }
    }

    #[cold]
    fn show_hidden(&mut self, thread: ThreadId, out: &mut Writer<File>) {
        let own = &mut self.stacks.0[thread.index()];
        let from = own.shown;
        own.shown = own.activations.len();
        for at in from..self.stacks.0[thread.index()].activations.len() {
            let activation = &mut self.stacks.0[thread.index()].activations[at];
            if activation.caller != 0 && !activation.is_named {
                continue;
            }
            activation.shown = true;
            let Activation { label, site, is_named, .. } = *activation;
            let call = Op::Call { method: label, known: false, value: Value(0) };
            self.emit(out, thread, call, site);
            if is_named {
                let (kind, lock) = (BlockKind::Named, LockId::NONE);
                let block = OpenBlock { label, kind, address: 0, lock };
                self.begin_block(thread, block, site, out);
            }
        }
    }

    pub(super) fn leave(
        &mut self,
        thread: ThreadId,
        stack: usize,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        let Some(depth) = self.stacks.0[thread.index()].left(stack, meaning.label) else {
            self.unmatched += 1;
            return;
        };
        while self.stacks.0[thread.index()].activations.len() > depth {
            self.leave_innermost(thread, meaning.site, out);
        }
        let own = &mut self.stacks.0[thread.index()];
        own.shown = own.shown.min(own.activations.len());
        // What lay in the frame is gone.
        let caller = own.activations.last().map_or(0, |caller| caller.stack >> 3);
        let mut dead = own.words.split_off(&caller);
        std::mem::swap(&mut own.words, &mut dead);
        for word in dead {
            self.words.forget_word(word);
        }
    }

    fn leave_innermost(&mut self, thread: ThreadId, site: SiteId, out: &mut Writer<File>) {
        let own = &mut self.stacks.0[thread.index()];
        let Some(Activation { label, shown, is_named, .. }) = own.activations.pop() else { return };
        if !shown {
            return;
        }
        if is_named {
            self.end_named(thread, label, site, out);
        }
        let (outcome, known, value) = (CallOutcome::Returned, false, Value(0));
        let returned = Op::Return { method: label, outcome, known, value };
        self.emit(out, thread, returned, site);
    }

    pub(super) fn begin_block(
        &mut self,
        thread: ThreadId,
        block: OpenBlock,
        site: SiteId,
        out: &mut Writer<File>,
    ) {
        self.stacks.0[thread.index()].blocks.push(block);
        let OpenBlock { label, kind, lock, .. } = block;
        self.emit(out, thread, Op::Begin { kind, label, lock }, site);
    }

    fn end_named(
        &mut self,
        thread: ThreadId,
        label: LabelId,
        site: SiteId,
        out: &mut Writer<File>,
    ) {
        let is_it = |block: &OpenBlock| block.address == 0 && block.label == label;
        self.end_block(thread, is_it, site, out);
    }

    /// The author has marked where a block begins.
    pub(super) fn begin_marked(
        &mut self,
        thread: ThreadId,
        name: u64,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        self.show_activations(thread, out);
        let label = self.tables.labels.intern(&crate::texts::get(name));
        let facts = self.tables.label_facts(meaning.label);
        self.tables.set_label_facts(label, LabelFacts { is_entry: false, ..facts });
        let (kind, lock) = (BlockKind::Named, LockId::NONE);
        let block = OpenBlock { label, kind, address: MARKED, lock };
        self.begin_block(thread, block, meaning.site, out);
    }

    pub(super) fn end_marked(
        &mut self,
        thread: ThreadId,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        self.show_activations(thread, out);
        self.end_block(thread, |block| block.address == MARKED, meaning.site, out);
    }

    /// Ends the innermost such block. The blocks inside of it end as well and begin again: sections need not nest, and
    /// the part before the end and the part after it are checked separately.
    pub(super) fn end_block(
        &mut self,
        thread: ThreadId,
        is_it: impl Fn(&OpenBlock) -> bool,
        site: SiteId,
        out: &mut Writer<File>,
    ) {
        let open = &mut self.stacks.0[thread.index()].blocks;
        let Some(at) = open.iter().rposition(is_it) else { return };
        let mut blocks = open.split_off(at);
        for block in blocks.iter().rev() {
            self.emit(out, thread, Op::End { label: block.label }, site);
        }
        blocks.remove(0);
        for block in blocks {
            self.begin_block(thread, block, site, out);
        }
    }

    /// A thread has ended, and with it whatever was open.
    pub(super) fn end_thread(&mut self, thread: ThreadId, out: &mut Writer<File>) {
        let blocks = std::mem::take(&mut self.stacks.0[thread.index()].blocks);
        for block in blocks.iter().rev() {
            self.emit(out, thread, Op::End { label: block.label }, SiteId::NONE);
        }
        while !self.stacks.0[thread.index()].activations.is_empty() {
            self.leave_innermost(thread, SiteId::NONE, out);
        }
        let own = &mut self.stacks.0[thread.index()];
        own.shown = 0;
        for word in std::mem::take(&mut own.words) {
            self.words.forget_word(word);
        }
        self.forget_held(thread, out);
    }
}
