//! What orders threads and holds no data: semaphores, barriers, conditions, initialisations.
//!
//! Each is a variable whose values are versions: who waited successfully read what was written before.

use std::fs::File;

use rustc_hash::FxHashMap;
use untorn_trace::event::{Access, Op, Value, ValueKind};
use untorn_trace::formats::utr::Writer;
use untorn_trace::ids::{MemberId, ObjectId, ThreadId, VarId};
use untorn_trace::tables::{VarFacts, VarRole};

use super::Converter;
use super::meaning::Meaning;
use crate::sites::Kind;

#[derive(Debug, Default)]
pub(super) struct SyncVars(FxHashMap<usize, (VarId, u64)>);

impl SyncVars {
    pub(super) fn forget(&mut self, address: usize, bytes: usize) {
        if !self.0.is_empty() {
            let end = address.saturating_add(bytes);
            self.0.retain(|at, _| !(address..end).contains(at));
        }
    }
}

impl Converter {
    pub(super) fn synchronise(
        &mut self,
        thread: ThreadId,
        address: usize,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        self.show_activations(thread, out);
        if !self.sync.0.contains_key(&address) {
            let name = format!("{} (state)", self.name_of_object(address));
            let var = self.tables.vars.push(&name);
            let facts = VarFacts::new(ValueKind::Int, Some(Value(0)));
            let facts = facts.with_place(VarRole::SyncState, ObjectId::NONE, MemberId::NONE);
            self.tables.set_var_facts(var, facts);
            self.sync.0.insert(address, (var, 0));
        }
        let write = meaning.kind == Kind::SyncWrite;
        let Some((var, version)) = self.sync.0.get_mut(&address) else { return };
        *version += u64::from(write);
        let (var, value) = (*var, Value(*version));
        let (access, known) = (Access::Volatile, true);
        let op = match write {
            true => Op::Write { var, access, known, value },
            false => Op::Read { var, access, known, value },
        };
        self.emit(out, thread, op, meaning.site);
    }

    /// What a lock or its like is called.
    pub(super) fn name_of_object(&self, address: usize) -> String {
        let part = self.heap.part(address).map(|part| part.0);
        let global = || {
            let is_static = crate::modules::is_static(address);
            is_static.then(|| crate::symbols::global_object(address)).flatten()
        };
        let local = || {
            let (_, label, offset) = self.stacks.frame_of(address)?;
            Some(format!("local of {} at {offset}", self.tables.labels.get(label).unwrap_or("?")))
        };
        part.or_else(global).or_else(local).unwrap_or_else(|| format!("at {address:#x}"))
    }
}
