//! Programs by chance: structured, so that every lock is released on every path.

use std::ops::RangeInclusive;

use untorn_trace::{LockId, VarId};

use super::{Expr, Instr, Program, REGISTERS};
use crate::rng::Rng;

/// Between which bounds a program is drawn.
#[derive(Clone, Debug)]
pub struct ProgramKnobs {
    pub threads: RangeInclusive<u32>,
    pub vars: RangeInclusive<u32>,
    pub locks: RangeInclusive<u32>,
    /// Statements of a thread; a statement is an access, a branch or a locked section.
    pub statements: RangeInclusive<u32>,
    /// How many different values there are.
    pub values: u8,
    /// Of 256 statements, how many are branches; each program takes one of these.
    pub branches: [u32; 4],
}

impl Default for ProgramKnobs {
    /// Small enough to explore every interleaving many thousand times a second.
    fn default() -> Self {
        Self {
            threads: 2..=3,
            vars: 1..=3,
            locks: 0..=2,
            statements: 3..=6,
            values: 2,
            branches: [0, 50, 90, 130],
        }
    }
}

impl ProgramKnobs {
    /// More branches, and more values that make no difference to them: what happens depends on what
    /// is read far more often, and a filter that knows no program text cannot know when it does not.
    pub fn branchy() -> Self {
        Self { values: 3, branches: [40, 80, 120, 160], ..Self::default() }
    }
}

/// The program of a seed.
pub fn random_program(knobs: &ProgramKnobs, rng: &mut Rng) -> Program {
    let within =
        |rng: &mut Rng, range: &RangeInclusive<u32>| rng.between(*range.start(), *range.end());
    let (vars, locks) = (within(rng, &knobs.vars).max(1), within(rng, &knobs.locks));
    let threads = within(rng, &knobs.threads);
    let branches = rng.pick(&knobs.branches);
    let threads = (0..threads).map(|_| {
        let mut draft = Draft {
            code: Vec::new(),
            vars,
            locks,
            branches,
            values: knobs.values,
            held: Vec::new(),
            depth: 0,
        };
        let budget = within(rng, &knobs.statements);
        draft.code.push(Instr::Begin);
        draft.statements(rng, budget);
        draft.code.push(Instr::End);
        draft.code
    });
    Program { threads: threads.collect(), vars, locks, values: knobs.values }
}

struct Draft {
    code: Vec<Instr>,
    vars: u32,
    locks: u32,
    /// Of 256 statements, how many are branches.
    branches: u32,
    values: u8,
    held: Vec<LockId>,
    depth: u32,
}

impl Draft {
    fn statements(&mut self, rng: &mut Rng, count: u32) {
        let mut left = count;
        while left > 0 {
            left -= self.statement(rng, left).min(left);
        }
    }

    /// Writes one statement; returns how many it counts for.
    fn statement(&mut self, rng: &mut Rng, left: u32) -> u32 {
        let nested = left > 1 && self.depth < 3;
        if nested && rng.chance(self.branches) {
            return self.branch(rng, left - 1);
        }
        let free: Vec<LockId> =
            (0..self.locks).map(LockId).filter(|lock| !self.held.contains(lock)).collect();
        if nested && !free.is_empty() && rng.chance(70) {
            let lock = rng.pick(&free);
            let inside = rng.between(1, left - 1);
            self.code.push(Instr::Acquire { lock });
            self.held.push(lock);
            self.depth += 1;
            self.statements(rng, inside);
            self.depth -= 1;
            self.held.pop();
            self.code.push(Instr::Release { lock });
            return inside + 1;
        }
        self.access(rng);
        1
    }

    fn branch(&mut self, rng: &mut Rng, left: u32) -> u32 {
        let inside = rng.between(1, left);
        let otherwise = if inside < left && rng.chance(100) { 1 } else { 0 };
        let register = rng.below(REGISTERS as u32) as u8;
        let value = rng.below(u32::from(self.values)) as u8;
        // Mostly on something that was just read, as programs do.
        if rng.chance(180) {
            let var = VarId(rng.below(self.vars));
            self.code.push(Instr::Read { register, var });
        }
        let test = self.code.len();
        self.code.push(Instr::Unless { register, value, target: 0 });
        self.depth += 1;
        self.statements(rng, inside);
        let jump = self.code.len();
        if otherwise > 0 {
            self.code.push(Instr::Jump { target: 0 });
        }
        let target = self.code.len() as u32;
        self.code[test] = Instr::Unless { register, value, target };
        if otherwise > 0 {
            self.statements(rng, otherwise);
            let target = self.code.len() as u32;
            self.code[jump] = Instr::Jump { target };
        }
        self.depth -= 1;
        inside + otherwise + 1
    }

    fn access(&mut self, rng: &mut Rng) {
        let var = VarId(rng.below(self.vars));
        let register = rng.below(REGISTERS as u32) as u8;
        if rng.chance(128) {
            self.code.push(Instr::Read { register, var });
            return;
        }
        let value = match rng.below(3) {
            0 => Expr::Constant(rng.below(u32::from(self.values)) as u8),
            1 => Expr::Register(register),
            _ => Expr::Successor(register),
        };
        self.code.push(Instr::Write { var, value });
    }
}
