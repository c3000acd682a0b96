//! Random small programs, a scheduler that records a trace of them, and the exploration of all their
//! interleavings: the oracle for "can this happen in the program?".
//!
//! A prediction speaks about recorded events; whether it is feasible is a question about the program:
//! with other values read, a thread may branch elsewhere and never come to the predicted place. So the
//! programs branch on what they read. They have no loops: a place of a program is executed at
//! most once, and an event is named by its thread and place. Addresses do not depend on values.
//!
//! Shares nothing with prediction: it knows programs, not plans.

mod explore;
mod random;
mod run;

use untorn_trace::{LockId, ThreadId, VarId};

pub use explore::Explored;
pub use random::{ProgramKnobs, random_program};
pub use run::Recording;

/// Registers of a thread; all start as 0.
pub const REGISTERS: usize = 2;

/// Threads, variables and locks that a program may have at most: states are small and of fixed size.
pub const MOST: usize = 4;

/// A value to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expr {
    Constant(u8),
    Register(u8),
    /// A register plus one, modulo [`Program::values`].
    Successor(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instr {
    Read {
        register: u8,
        var: VarId,
    },
    Write {
        var: VarId,
        value: Expr,
    },
    /// Jumps if the register does not have the value; a branch either way.
    Unless {
        register: u8,
        value: u8,
        target: u32,
    },
    /// Jumps; not a branch.
    Jump {
        target: u32,
    },
    Acquire {
        lock: LockId,
    },
    Release {
        lock: LockId,
    },
    Begin,
    End,
}

impl Instr {
    /// Whether other threads can observe it, or it has an event.
    pub(crate) const fn is_visible(&self) -> bool {
        !matches!(self, Self::Unless { .. } | Self::Jump { .. })
    }
}

/// A place of a program: a thread and the number of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InstructionPoint {
    pub thread: ThreadId,
    pub instr: u32,
}

/// A program: what each thread does. All variables start as 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    pub threads: Vec<Vec<Instr>>,
    pub vars: u32,
    pub locks: u32,
    /// Values are below: few, so that different writes often write the same.
    pub values: u8,
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Control {
    pub(crate) at: u16,
    pub(crate) registers: [u8; REGISTERS],
}

/// Everything that decides what can happen next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) threads: [Control; MOST],
    pub(crate) memory: [u8; MOST],
    /// By lock: 0 for free, else its holder + 1.
    pub(crate) holders: [u8; MOST],
}

impl Machine {
    pub(crate) fn new(program: &Program) -> Self {
        let most = MOST as u32;
        assert!(program.threads.len() <= MOST && program.vars <= most && program.locks <= most);
        let mut machine = Self::default();
        for thread in 0..program.threads.len() {
            machine.settle(program, thread);
        }
        machine
    }

    /// Takes the branches and jumps that come next, which no other thread can observe. Returns the number of branches.
    pub(crate) fn settle(&mut self, program: &Program, thread: usize) -> u32 {
        let control = &mut self.threads[thread];
        let mut branches = 0;
        loop {
            match program.threads[thread].get(control.at as usize) {
                Some(&Instr::Unless { register, value, target }) => {
                    branches += 1;
                    let taken = control.registers[register as usize] != value;
                    control.at = if taken { target as u16 } else { control.at + 1 };
                }
                Some(&Instr::Jump { target }) => control.at = target as u16,
                _ => return branches,
            }
        }
    }

    /// The next instruction of a thread, if it has one and may execute it.
    pub(crate) fn enabled(&self, program: &Program, thread: usize) -> Option<Instr> {
        let instr = *program.threads[thread].get(self.threads[thread].at as usize)?;
        debug_assert!(instr.is_visible());
        match instr {
            Instr::Acquire { lock } if self.holders[lock.index()] != 0 => None,
            _ => Some(instr),
        }
    }

    /// Executes the next instruction, but does not settle. Gives the value read or written.
    pub(crate) fn execute(&mut self, program: &Program, instr: Instr, thread: usize) -> u8 {
        let control = &mut self.threads[thread];
        control.at += 1;
        match instr {
            Instr::Read { register, var } => {
                let value = self.memory[var.index()];
                control.registers[register as usize] = value;
                value
            }
            Instr::Write { var, value } => {
                let value = match value {
                    Expr::Constant(value) => value,
                    Expr::Register(register) => control.registers[register as usize],
                    Expr::Successor(register) => {
                        (control.registers[register as usize] + 1) % program.values
                    }
                };
                self.memory[var.index()] = value;
                value
            }
            Instr::Acquire { lock } => {
                self.holders[lock.index()] = thread as u8 + 1;
                0
            }
            Instr::Release { lock } => {
                self.holders[lock.index()] = 0;
                0
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
