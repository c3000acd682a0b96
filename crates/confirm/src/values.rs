//! The values of the accesses of a trace, as far as they are known.
//!
//! A run is consistent: a read returned what was written last. So a read without a recorded value
//! has the value of the write before it, and a write without one has the value that a later read
//! returned. What remains unknown is a *symbol*: some value, possibly equal to any other, surely
//! equal to itself.
//!
//! A read that returned something else than the last write shows a write that was not recorded. Nothing
//! in the trace about such a variable can be used against a block, nor in favour of one.

use rustc_hash::FxHashMap;
use untorn_trace::{EventIdx, ThreadId, Value, VarId};

use crate::ids::Slot;

/// A value, or a symbol for one that was not recorded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SymbolicValue {
    Known(Value),
    Symbol(u32),
}

impl SymbolicValue {
    /// The value, if it is known.
    #[inline]
    pub fn known(self) -> Option<Value> {
        match self {
            Self::Known(value) => Some(value),
            Self::Symbol(_) => None,
        }
    }
}

/// A variable and its facts.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub var: VarId,
    /// The value at the start of the trace or window. May be a resolved symbol: see
    /// [`Memory::resolve`].
    pub initial: SymbolicValue,
    /// The value now, while the trace is read.
    now: SymbolicValue,
    /// The last write, while the trace is read.
    last_write: Option<EventIdx>,
    /// The thread of the first access in the window, and whether others followed.
    thread: Option<ThreadId>,
    pub shared: bool,
    /// A read that contradicts what was written last.
    pub contradiction: Option<Contradiction>,
}

/// A read that returned something else than what was written last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contradiction {
    pub var: VarId,
    /// `None` for the initial value.
    pub write: Option<EventIdx>,
    pub read: EventIdx,
}

/// The memory of the traced program while its trace is read.
#[derive(Debug, Default)]
pub struct Memory {
    slots: FxHashMap<VarId, Slot>,
    pub variables: Vec<Variable>,
    /// What reads show about symbol `i`.
    symbols: Vec<Option<Value>>,
}

impl Memory {
    /// The slot of a variable; `initial` is asked when it is new.
    #[inline]
    pub fn slot(&mut self, var: VarId, initial: impl FnOnce() -> Option<Value>) -> Slot {
        if let Some(&slot) = self.slots.get(&var) {
            return slot;
        }
        let initial = self.value_or_symbol(initial());
        let slot = Slot::new(self.variables.len());
        self.variables.push(Variable {
            var,
            initial,
            now: initial,
            last_write: None,
            thread: None,
            shared: false,
            contradiction: None,
        });
        self.slots.insert(var, slot);
        slot
    }

    fn value_or_symbol(&mut self, value: Option<Value>) -> SymbolicValue {
        value.map_or_else(
            || {
                self.symbols.push(None);
                SymbolicValue::Symbol(self.symbols.len() as u32 - 1)
            },
            SymbolicValue::Known,
        )
    }

    /// Notes an access inside of the window by a thread.
    #[inline]
    pub fn touch(&mut self, slot: Slot, thread: ThreadId) {
        let variable = &mut self.variables[slot.index()];
        match variable.thread {
            Some(first) => variable.shared |= first != thread,
            None => {
                variable.thread = Some(thread);
                variable.initial = variable.now;
                variable.contradiction = None;
            }
        }
    }

    /// A write; its value.
    #[inline]
    pub fn write(&mut self, slot: Slot, value: Option<Value>, at: EventIdx) -> SymbolicValue {
        let val = self.value_or_symbol(value);
        let variable = &mut self.variables[slot.index()];
        variable.now = val;
        variable.last_write = Some(at);
        val
    }

    /// A read; its value.
    #[inline]
    pub fn read(&mut self, slot: Slot, value: Option<Value>, at: EventIdx) -> SymbolicValue {
        let variable = &mut self.variables[slot.index()];
        let Some(value) = value else { return variable.now };
        match variable.now {
            SymbolicValue::Symbol(symbol) if self.symbols[symbol as usize].is_none() => {
                self.symbols[symbol as usize] = Some(value);
            }
            now => {
                let known = match now {
                    SymbolicValue::Known(known) => Some(known),
                    SymbolicValue::Symbol(symbol) => self.symbols[symbol as usize],
                };
                if known != Some(value) {
                    let Variable { var, last_write: write, .. } = *variable;
                    let found = Contradiction { var, write, read: at };
                    variable.contradiction.get_or_insert(found);
                }
            }
        }
        variable.now = SymbolicValue::Known(value);
        variable.now
    }

    /// The value with all that the trace shows about it. Call it when the whole trace was read.
    #[inline]
    pub fn resolve(&self, val: SymbolicValue) -> SymbolicValue {
        match val {
            SymbolicValue::Symbol(symbol) => {
                self.symbols[symbol as usize].map_or(val, SymbolicValue::Known)
            }
            known => known,
        }
    }
}
