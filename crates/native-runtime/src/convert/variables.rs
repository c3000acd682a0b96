//! Accesses, and what the variables are called.

use std::fs::File;

use untorn_runtime::Record;
use untorn_trace::event::{Access, Event, Op, Value, ValueKind};
use untorn_trace::formats::utr::Writer;
use untorn_trace::ids::{MemberId, ObjectId, ThreadId, VarId};
use untorn_trace::tables::{VarFacts, VarRole};

use super::Converter;
use super::meaning::Meaning;
use super::memory_words::{Var, mask};
use crate::modules;
use crate::probe::Piece;
use crate::symbols::{self, Named, Values};

/// What a thread did with a variable: the bytes that it read or wrote.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    access: Access,
    write: bool,
    bytes: u64,
}

impl Converter {
    pub(super) fn access(
        &mut self,
        thread: ThreadId,
        record: &Record,
        meaning: Meaning,
        piece: Piece,
        write: bool,
        out: &mut Writer<File>,
    ) {
        if meaning.is_stream {
            return;
        }
        self.show_activations(thread, out);
        let access = Self::access_of(meaning.kind);
        let (word, offset) = (piece.address >> 3, (piece.address & 7) as u8);
        let size = piece.size as u8;
        if let Some(var) = self.words.exact(word, offset, size) {
            var.last = Some(record.value);
            let var = *var;
            self.push(thread, meaning, &var, Transfer { access, write, bytes: record.value }, out);
            return;
        }
        let vars = self.resolve(word, offset, size, (!write).then_some(record.value));
        // The halves of an update that concern several variables do not follow each other.
        let is_one = vars.len() == 1;
        let access = if access == Access::Update && !is_one { Access::Volatile } else { access };
        for var in vars {
            let value = var.part_of(record.value, offset);
            if let Some(known) = self.words.exact(word, var.offset, var.size) {
                known.last = Some(value);
            }
            self.push(thread, meaning, &var, Transfer { access, write, bytes: value }, out);
        }
    }

    fn push(
        &mut self,
        thread: ThreadId,
        meaning: Meaning,
        var: &Var,
        transfer: Transfer,
        out: &mut Writer<File>,
    ) {
        let Transfer { access, write, bytes } = transfer;
        let value = self.value(bytes, var.size, var.values);
        let (known, id) = (true, var.id);
        let op = match write {
            true => Op::Write { var: id, access, known, value },
            false => Op::Read { var: id, access, known, value },
        };
        let event = Event::new(thread, op, meaning.site);
        out.push(&self.tables, &event, self.meanings.memo(&meaning));
    }

    fn value(&mut self, bytes: u64, size: u8, values: Values) -> Value {
        match values.kind {
            ValueKind::Ref if bytes == 0 => Value(0),
            ValueKind::Ref => {
                let next = self.pointers.len() as u64 + 1;
                Value(*self.pointers.entry(bytes).or_insert(next))
            }
            ValueKind::Int if values.signed && size < 8 => {
                let unused = 64 - 8 * u32::from(size);
                Value::int((bytes << unused).cast_signed() >> unused)
            }
            _ => Value(bytes),
        }
    }

    /// The variables of these bytes of a word. Makes those that are new, and divides those that reach beyond. `read` are
    /// the bytes, if they were there before.
    #[cold]
    fn resolve(&mut self, word: usize, offset: u8, size: u8, read: Option<u64>) -> Vec<Var> {
        let end = offset + size;
        let mut all = Vec::new();
        for var in self.words.take(word) {
            if var.end() <= offset
                || var.offset >= end
                || (var.offset >= offset && var.end() <= end)
            {
                all.push(var);
                continue;
            }
            // A part of it is accessed alone: from now on its parts are variables.
            let cuts =
                [var.offset, offset.clamp(var.offset, var.end()), end.min(var.end()), var.end()];
            for pair in cuts.windows(2).filter(|pair| pair[0] < pair[1]) {
                let (from, length) = (pair[0], pair[1] - pair[0]);
                let last = var.last.map(|last| mask(last >> (8 * (from - var.offset)), length));
                all.push(self.new_var(word, from, length, last));
            }
        }
        all.sort_unstable_by_key(|var| var.offset);
        let mut at = offset;
        let mut gaps = Vec::new();
        for var in all.iter().filter(|var| var.end() > offset && var.offset < end) {
            if at < var.offset {
                gaps.push((at, var.offset - at));
            }
            at = var.end();
        }
        if at < end {
            gaps.push((at, end - at));
        }
        for (from, length) in gaps {
            let bytes = read.map(|read| mask(read >> (8 * (from - offset)), length));
            self.add_typed(word, from, length, bytes, &mut all);
        }
        all.sort_unstable_by_key(|var| var.offset);
        let found =
            all.iter().filter(|var| var.offset >= offset && var.end() <= end).copied().collect();
        self.words.put(word, all);
        found
    }

    /// New variables for bytes that have none: as the declaration divides them, if it is known.
    fn add_typed(
        &mut self,
        word: usize,
        from: u8,
        length: u8,
        bytes: Option<u64>,
        all: &mut Vec<Var>,
    ) {
        let mut at = from;
        while at < from + length {
            let left = from + length - at;
            let address = (word << 3) + usize::from(at);
            let declared = named(address);
            let own = declared
                .filter(|part| part.address == address && part.size > 0)
                .map_or(left, |part| part.size.min(left.into()) as u8);
            let initial = bytes.map(|bytes| mask(bytes >> (8 * (at - from)), own));
            all.push(self.new_var(word, at, own, initial));
            at += own;
        }
    }

    fn new_var(&mut self, word: usize, offset: u8, size: u8, initial: Option<u64>) -> Var {
        let address = (word << 3) + usize::from(offset);
        let (id, values) = self.name_var(address, size.into());
        if let Some(bytes) = initial {
            let value = self.value(bytes, size, values);
            let facts = self.tables.var_facts(id).with_initial(Some(value));
            self.tables.set_var_facts(id, facts);
        }
        if let Some((thread, ..)) = self.stacks.frame_of(address) {
            self.stacks.add_word(thread, word);
        }
        Var { id, offset, size, last: initial, values }
    }

    /// A new variable with its name.
    fn name_var(&mut self, address: usize, size: usize) -> (VarId, Values) {
        if let Some(named) = named(address) {
            let owner = named.name.rsplit_once('.').map(|(owner, _)| owner.to_owned());
            let owner = owner.map_or(ObjectId::NONE, |owner| self.heap.object_of_global(&owner));
            let role = if named.is_element { VarRole::Element } else { VarRole::Static };
            let whole = named.address == address && (named.size == size || named.size == 0);
            let part = if whole { String::new() } else { format!("+{}", address - named.address) };
            let member = self.tables.members.intern(&format!("{}{part}", named.member));
            let name = format!("{}{part}", named.name);
            let values = if whole { named.values } else { Values::default() };
            return (self.add_var(&name, role, owner, member, values), values);
        }
        let values = Values::default();
        if let Some((name, member, owner)) = self.heap.part(address) {
            let member = self.tables.members.intern(&member);
            return (self.add_var(&name, VarRole::Field, owner, member, values), values);
        }
        if let Some((thread, label, offset)) = self.stacks.frame_of(address) {
            let function = self.tables.labels.get(label).unwrap_or("?").to_owned();
            let member = self.tables.members.intern(&format!("local of {function} at {offset}"));
            let name = format!("local of {function} at {offset} (thread {thread})");
            return (self.add_var(&name, VarRole::Memory, ObjectId::NONE, member, values), values);
        }
        let member = self.tables.members.intern("memory");
        let name = format!("memory at {address:#x}");
        (self.add_var(&name, VarRole::Memory, ObjectId::NONE, member, values), values)
    }

    fn add_var(
        &mut self,
        name: &str,
        role: VarRole,
        owner: ObjectId,
        member: MemberId,
        values: Values,
    ) -> VarId {
        // Memory is used again, and divided: what is another variable has another name.
        let times = self.names.entry(name.to_owned()).or_default();
        *times += 1;
        let id = match *times {
            1 => self.tables.vars.push(name),
            times => self.tables.vars.push(&format!("{name} ({times})")),
        };
        let facts = VarFacts::new(values.kind, None).with_place(role, owner, member);
        self.tables.set_var_facts(id, facts);
        id
    }
}

/// The global variable, or its part, at an address.
fn named(address: usize) -> Option<Named> {
    modules::is_static(address).then(|| symbols::global_at(address)).flatten()
}
