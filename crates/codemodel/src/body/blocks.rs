//! Basic blocks and the ways between them, exceptions included.
//!
//! Where handlers are in force, a block also ends after every store to a local variable. So a
//! block that throws has, at each point where it can, the local variables that it began with:
//! what a handler sees is what its predecessors saw at their beginning.

use smallvec::SmallVec;
use untorn_bytecode::{Code, Handler, Instr, op};

use super::operation::{Condition, Switch};
use crate::error::BodyError;
use crate::ids::Node;

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a way into another block.
    Goes,
    Returns,
    Throws,
}

/// A handler that covers a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Catch {
    pub handler: Node,
    /// Whether it catches everything: `finally`, and the end of `synchronized`.
    pub any: bool,
}

/// Instructions that run one after the other.
#[derive(Clone, Debug)]
pub struct Block {
    /// The first instruction, and the one after the last: of the code at first, of the body when
    /// that is built.
    pub first: u32,
    pub end: u32,
    /// Of a branch, the block it jumps to first and the one that follows in the code last.
    pub succs: SmallVec<[Node; 2]>,
    pub catches: SmallVec<[Catch; 1]>,
    pub ending: Ending,
}

/// Decoded code, cut into blocks.
#[derive(Debug)]
pub struct Blocks<'a> {
    pub code: Vec<Instr<'a>>,
    pub blocks: Vec<Block>,
    /// By their pc.
    pub switches: Vec<(u32, Switch)>,
}

impl<'a> Blocks<'a> {
    pub fn cut(code: &Code<'a>) -> Result<Self, BodyError> {
        let decoded: Result<Vec<_>, _> = code.instructions().collect();
        let decoded = decoded.map_err(|_| BodyError::Malformed("an instruction"))?;
        if decoded.is_empty() {
            return Err(BodyError::Malformed("no instructions"));
        }
        let is_subroutine =
            |instr: &Instr<'_>| matches!(instr.opcode, op::JSR | op::JSR_W | op::RET);
        if decoded.iter().any(is_subroutine) {
            return Err(BodyError::Subroutine);
        }
        let handlers: Vec<Handler> =
            code.handlers().filter(|handler| handler.start < handler.end).collect();
        let starts = starts(&decoded, &handlers)?;
        let block_of = |pc: u32| -> Result<Node, BodyError> {
            let at = index_of(&decoded, pc)?;
            Ok(Node::new(starts.partition_point(|&start| start as usize <= at) - 1))
        };
        let switches = switches(&decoded, &block_of)?;
        let mut blocks = Vec::with_capacity(starts.len());
        for (number, &first) in starts.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(decoded.len() as u32);
            let last = &decoded[end as usize - 1];
            let mut succs = SmallVec::new();
            for target in last.targets() {
                let to = block_of(target)?;
                if !succs.contains(&to) {
                    succs.push(to);
                }
            }
            if last.falls_through() {
                if end as usize == decoded.len() {
                    return Err(BodyError::Malformed("the code goes past its end"));
                }
                succs.push(Node::new(number + 1));
            }
            let covered = &decoded[first as usize..end as usize];
            let catches = catches(covered, &handlers, &block_of)?;
            blocks.push(Block { first, end, succs, catches, ending: ending(last.opcode) });
        }
        Ok(Self { code: decoded, blocks, switches })
    }
}

const fn ending(opcode: u8) -> Ending {
    match opcode {
        op::ATHROW => Ending::Throws,
        opcode if op::is_return(opcode) => Ending::Returns,
        _ => Ending::Goes,
    }
}

fn index_of(code: &[Instr<'_>], pc: u32) -> Result<usize, BodyError> {
    code.binary_search_by_key(&pc, |instr| instr.pc)
        .map_err(|_| BodyError::Malformed("a jump into the middle of an instruction"))
}

/// The first instructions of blocks, in order.
fn starts(code: &[Instr<'_>], handlers: &[Handler]) -> Result<Vec<u32>, BodyError> {
    let mut is_start = vec![false; code.len() + 1];
    is_start[0] = true;
    let behind = |pc: u32| code.partition_point(|instr| instr.pc < pc);
    let mut depth = vec![0_i32; code.len() + 1];
    for handler in handlers {
        is_start[index_of(code, handler.target)?] = true;
        for (pc, change) in [(handler.start, 1), (handler.end, -1)] {
            is_start[behind(pc)] = true;
            depth[behind(pc)] += change;
        }
    }
    let mut covered = 0;
    for (at, instr) in code.iter().enumerate() {
        covered += depth[at];
        let mut ends = !instr.falls_through() || (covered > 0 && instr.is_store());
        for target in instr.targets() {
            is_start[index_of(code, target)?] = true;
            ends = true;
        }
        if ends {
            is_start[at + 1] = true;
        }
    }
    Ok((0..code.len() as u32).filter(|&at| is_start[at as usize]).collect())
}

fn switches(
    code: &[Instr<'_>],
    block_of: &impl Fn(u32) -> Result<Node, BodyError>,
) -> Result<Vec<(u32, Switch)>, BodyError> {
    let mut found = Vec::new();
    for instr in code.iter().filter(|instr| Condition::of(instr.opcode) == Some(Condition::Switch))
    {
        let case = |(key, target)| Ok((key, block_of(target)?));
        let cases: Result<Vec<_>, BodyError> = instr.cases().map(case).collect();
        let default = block_of(instr.target().unwrap_or(instr.pc))?;
        found.push((instr.pc, Switch { cases: cases?, default }));
    }
    Ok(found)
}

/// Where exceptions of a block go: to each handler up to one that catches everything.
fn catches(
    covered: &[Instr<'_>],
    handlers: &[Handler],
    block_of: &impl Fn(u32) -> Result<Node, BodyError>,
) -> Result<SmallVec<[Catch; 1]>, BodyError> {
    let mut found: SmallVec<[Catch; 1]> = SmallVec::new();
    if handlers.is_empty() || !covered.iter().any(|instr| can_throw(instr.opcode)) {
        return Ok(found);
    }
    let pc = covered[0].pc;
    for handler in handlers.iter().filter(|handler| (handler.start..handler.end).contains(&pc)) {
        let catch = Catch { handler: block_of(handler.target)?, any: handler.catch_type == 0 };
        if !found.iter().any(|other| other.handler == catch.handler) {
            found.push(catch);
        }
        if catch.any {
            break;
        }
    }
    Ok(found)
}

/// Whether an instruction may throw something that a program catches on purpose.
const fn can_throw(opcode: u8) -> bool {
    matches!(
        opcode,
        op::IALOAD..=op::SALOAD
            | op::IASTORE..=op::SASTORE
            | op::IDIV
            | op::LDIV
            | op::IREM
            | op::LREM
            | op::GETSTATIC..=op::ATHROW
            | op::CHECKCAST
            | op::MONITORENTER
            | op::MONITOREXIT
            | op::MULTIANEWARRAY
    )
}
