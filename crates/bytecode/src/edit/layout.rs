//! Where every instruction goes, and the code laid out so.
//!
//! Two numbers are kept for each old instruction. Its *label* lies before everything that was
//! inserted before it: branches, handlers, stack maps and line numbers mean that one. Its *opcode
//! position* is where the instruction itself went: distances of branches count from there, and
//! stack maps name a `new` by it.
//!
//! ```text
//!   enter of the wraps, outermost first │ prologue │
//!   label(pc) before… │ before_return of the wraps, innermost first │ opcode(pc) │ after…
//!   label(next pc) …
//!   handlers of the wraps, innermost first
//! ```
//!
//! Nothing but the padding of switches depends on where an instruction lies, and branches keep
//! their width, so that one pass over the instructions settles all places.

use super::method::{InsertAt, Insertion, MethodEdit};
use crate::instr::switch_padding;
use crate::{Code, Instr, SkipReason, op};

/// The longest code a method can have.
const MAX_CODE: usize = 65_535;

/// Stands for the place of a pc at which no instruction begins, or of one that was replaced.
const NOWHERE: u32 = u32::MAX;

/// An instruction with what is inserted around it.
struct Step<'e> {
    instr: Instr<'e>,
    before: &'e [Insertion],
    instead: &'e [Insertion],
    after: &'e [Insertion],
}

impl Step<'_> {
    /// How long the instruction is when it lies at `at`.
    fn len(&self, at: usize) -> usize {
        let len = self.instr.len as usize;
        if !self.instead.is_empty() {
            // An instruction always leaves a byte behind: two frames must not share a place.
            total(self.instead).max(1)
        } else if matches!(self.instr.opcode, op::TABLESWITCH | op::LOOKUPSWITCH) {
            len - switch_padding(self.instr.pc) + switch_padding(at as u32)
        } else {
            len
        }
    }

    /// What is inserted behind it, unless that could never run.
    fn after(&self) -> &[Insertion] {
        let falls_through = self.instr.falls_through() || !self.instead.is_empty();
        if falls_through { self.after } else { &[] }
    }

    fn is_monitor(&self) -> bool {
        matches!(self.instr.opcode, op::MONITORENTER | op::MONITOREXIT)
    }

    fn is_return(&self) -> bool {
        op::is_return(self.instr.opcode) && self.instead.is_empty()
    }
}

fn total(insertions: &[Insertion]) -> usize {
    insertions.iter().map(|insertion| insertion.snippet.len()).sum()
}

/// What runs from the first `before_return` up to the end of the return itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit {
    pub start: u32,
    pub end: u32,
}

/// A `monitorenter` or `monitorexit`, or what replaces it, with code behind it.
#[derive(Clone, Copy, Debug)]
struct MonitorEdge {
    opcode: u8,
    /// The old pc of what follows.
    next: u32,
    /// The new place between the instruction and the code behind it.
    place: u32,
}

/// A method laid out.
#[derive(Debug)]
pub(super) struct Layout {
    pub code: Vec<u8>,
    /// By old pc, and one more for the end of the code. Ascending but for [`NOWHERE`].
    labels: Vec<u32>,
    opcodes: Vec<u32>,
    /// Behind which monitor instructions code was inserted. Ascending.
    monitors: Vec<MonitorEdge>,
    /// For each wrap, outermost first, where its `enter` ends.
    pub enter_ends: Vec<u32>,
    /// For each return of a wrapped method. Ascending.
    pub exits: Vec<Exit>,
    /// For each wrap, outermost first, where its handler begins.
    pub handlers: Vec<u32>,
    /// Whether there is a `jsr` or a `ret`.
    pub has_subroutine: bool,
}

impl Layout {
    pub fn new(code: &Code<'_>, edit: &mut MethodEdit) -> Result<Self, SkipReason> {
        if !(1..=MAX_CODE).contains(&code.bytes().len()) {
            return Err(SkipReason::Malformed("the length of its code".to_owned()));
        }
        // Stable: insertions at the same place stay in the order they were given.
        edit.insertions.sort_by_key(|insertion| (insertion.pc, insertion.place));
        let steps = steps(code, &edit.insertions)?;
        let mut layout = Self {
            code: Vec::new(),
            labels: vec![NOWHERE; code.bytes().len() + 1],
            opcodes: vec![NOWHERE; code.bytes().len()],
            monitors: Vec::new(),
            enter_ends: Vec::new(),
            exits: Vec::new(),
            handlers: Vec::new(),
            has_subroutine: false,
        };
        let len = layout.place(&steps, edit)?;
        layout.write(&steps, edit)?;
        debug_assert_eq!(layout.code.len(), len, "the code is as long as it was planned");
        Ok(layout)
    }

    /// Where what was at an old pc, and what was inserted before it, now begins.
    pub fn label(&self, pc: u32) -> Option<u32> {
        self.labels.get(pc as usize).copied().filter(|&label| label != NOWHERE)
    }

    /// Where the instruction of an old pc now is; `None` also if it was replaced.
    pub fn opcode(&self, pc: u32) -> Option<u32> {
        self.opcodes.get(pc as usize).copied().filter(|&place| place != NOWHERE)
    }

    /// Where a range of the exception table that began at an old pc now begins. What is caught
    /// right behind a `monitorenter`, whatever it is, has to leave the monitor: no code must run
    /// between them, or HotSpot's compilers see a way out that keeps the monitor, and give up.
    pub fn range_start(&self, pc: u32, catches_all: bool) -> Option<u32> {
        self.monitor_edge(pc, op::MONITORENTER).filter(|_| catches_all).or_else(|| self.label(pc))
    }

    /// Where such a range that ended at an old pc now ends. A range that ends behind `monitorexit`
    /// leads to another `monitorexit`, for which nothing may be left that has been left already.
    pub fn range_end(&self, pc: u32) -> Option<u32> {
        self.monitor_edge(pc, op::MONITOREXIT).or_else(|| self.label(pc))
    }

    fn monitor_edge(&self, pc: u32, opcode: u8) -> Option<u32> {
        let nth = self.monitors.binary_search_by_key(&pc, |edge| edge.next).ok()?;
        let edge = self.monitors[nth];
        (edge.opcode == opcode).then_some(edge.place)
    }

    /// Settles all places; the length of the code.
    fn place(&mut self, steps: &[Step<'_>], edit: &MethodEdit) -> Result<usize, SkipReason> {
        let mut at = 0;
        for wrap in &edit.wraps {
            at += wrap.enter.len();
            self.enter_ends.push(at as u32);
        }
        at += edit.prologue.iter().map(|snippet| snippet.len()).sum::<usize>();
        let exit_len: usize = edit.wraps.iter().map(|wrap| wrap.before_return.len()).sum();
        for step in steps {
            let pc = step.instr.pc;
            self.labels[pc as usize] = at as u32;
            at += total(step.before);
            let start = at as u32;
            if step.is_return() {
                at += exit_len;
            }
            if step.instead.is_empty() {
                self.opcodes[pc as usize] = at as u32;
            }
            at += step.len(at);
            if step.is_return() && !edit.wraps.is_empty() {
                self.exits.push(Exit { start, end: at as u32 });
            }
            let after = step.after();
            if step.is_monitor() && !after.is_empty() {
                let (opcode, next) = (step.instr.opcode, pc + step.instr.len);
                self.monitors.push(MonitorEdge { opcode, next, place: at as u32 });
            }
            at += total(after);
            self.has_subroutine |= matches!(step.instr.opcode, op::JSR | op::JSR_W | op::RET);
            // Checked at each step, so that no place ever exceeds 32 bits.
            if at > MAX_CODE {
                return Err(SkipReason::TooLarge);
            }
        }
        if let Some(end) = self.labels.last_mut() {
            *end = at as u32;
        }
        for wrap in edit.wraps.iter().rev() {
            self.handlers.push(at as u32);
            at += wrap.handler.len() + 1;
        }
        self.handlers.reverse();
        if at > MAX_CODE { Err(SkipReason::TooLarge) } else { Ok(at) }
    }

    fn write(&mut self, steps: &[Step<'_>], edit: &MethodEdit) -> Result<(), SkipReason> {
        let mut out = Vec::with_capacity(steps.len() * 4);
        for snippet in edit.wraps.iter().map(|wrap| &wrap.enter).chain(&edit.prologue) {
            out.extend(snippet.bytes());
        }
        for step in steps {
            put(&mut out, step.before);
            if step.is_return() {
                for wrap in edit.wraps.iter().rev() {
                    out.extend(wrap.before_return.bytes());
                }
            }
            if step.instead.is_empty() {
                debug_assert_eq!(self.opcode(step.instr.pc), Some(out.len() as u32));
                self.relocate(&step.instr, &mut out)?;
            } else {
                put(&mut out, step.instead);
                if total(step.instead) == 0 {
                    out.push(op::NOP);
                }
            }
            put(&mut out, step.after());
        }
        for wrap in edit.wraps.iter().rev() {
            out.extend(wrap.handler.bytes());
            out.push(op::ATHROW);
        }
        self.code = out;
        Ok(())
    }

    /// Writes an old instruction at its new place, with distances that lead to the same targets.
    fn relocate(&self, instr: &Instr<'_>, out: &mut Vec<u8>) -> Result<(), SkipReason> {
        let at = i64::from(out.len() as u32);
        let distance = |target: u32| match self.label(target) {
            Some(label) => Ok(i64::from(label) - at),
            None => Err(malformed(instr.pc, "branches into an instruction")),
        };
        match instr.opcode {
            op::TABLESWITCH | op::LOOKUPSWITCH => {
                let is_table = instr.opcode == op::TABLESWITCH;
                out.push(instr.opcode);
                out.resize(out.len() + switch_padding(at as u32), 0);
                let old = &instr.bytes[1 + switch_padding(instr.pc)..];
                let mut targets = instr.targets();
                let mut next = || distance(targets.next().unwrap_or(NOWHERE)).map(|d| d as i32);
                out.extend(next()?.to_be_bytes());
                let (head, rest) = old[4..].split_at(if is_table { 8 } else { 4 });
                out.extend(head);
                for entry in rest.chunks_exact(if is_table { 4 } else { 8 }) {
                    out.extend(&entry[..entry.len() - 4]);
                    out.extend(next()?.to_be_bytes());
                }
            }
            op::GOTO_W | op::JSR_W => {
                out.push(instr.opcode);
                let target = instr.target().unwrap_or(NOWHERE);
                out.extend((distance(target)? as i32).to_be_bytes());
            }
            _ => match instr.target() {
                Some(target) => {
                    let distance = i16::try_from(distance(target)?);
                    out.push(instr.opcode);
                    out.extend(distance.map_err(|_| SkipReason::BranchOverflow)?.to_be_bytes());
                }
                None => out.extend(instr.bytes),
            },
        }
        Ok(())
    }
}

fn put(out: &mut Vec<u8>, insertions: &[Insertion]) {
    for insertion in insertions {
        out.extend(insertion.snippet.bytes());
    }
}

fn malformed(pc: u32, why: &str) -> SkipReason {
    SkipReason::Malformed(format!("the instruction at {pc} {why}"))
}

/// The instructions with their insertions, which are sorted by pc and place.
fn steps<'e>(
    code: &Code<'e>,
    mut insertions: &'e [Insertion],
) -> Result<Vec<Step<'e>>, SkipReason> {
    let mut steps = Vec::with_capacity(code.bytes().len() / 2);
    for instr in code.instructions() {
        let instr = instr.map_err(|error| SkipReason::Malformed(error.to_string()))?;
        let mut take = |place| {
            let is_ours =
                |insertion: &Insertion| insertion.pc == instr.pc && insertion.place == place;
            let count = insertions.iter().take_while(|insertion| is_ours(insertion)).count();
            let (ours, rest) = insertions.split_at(count);
            insertions = rest;
            ours
        };
        let (before, instead, after) =
            (take(InsertAt::Before), take(InsertAt::Instead), take(InsertAt::After));
        steps.push(Step { instr, before, instead, after });
    }
    match insertions.first() {
        // Whatever stands in the way of the rest is the first that fits nowhere.
        Some(stray) => Err(SkipReason::NoInstruction(stray.pc)),
        None => Ok(steps),
    }
}
