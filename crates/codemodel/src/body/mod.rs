//! The code of a method in stack-to-variables form.
//!
//! Slots of the stack and local variables become values: each is defined once, by an instruction,
//! a parameter, a caught exception or a merge of ways ([`ValueDef`]). Loads, stores and the
//! shuffling of the stack leave no trace. An instruction then names the values it uses, and what
//! reaches a use is read off instead of searched for ([`Body::reaching`]).
//!
//! Promise: for code that the JVM would verify, a use names exactly the definitions that reach it
//! over ways of the control-flow graph, exceptional ones included. Other code is refused or gives
//! some body; it never panics.

mod blocks;
mod operation;
mod shape;
mod ssa;
mod steps;

use smallvec::SmallVec;

pub use blocks::{Block, Catch, Ending};
pub use operation::{
    Arithmetic, ArrayClass, Condition, Element, IfNan, NumberType, Operation, Primitive, Relation,
    Switch,
};
pub use untorn_bytecode::Number;

use crate::graph::Graph;
use crate::ids::{ClassId, FieldId, InstrId, Node, RefId, ValueId};

pub use ssa::{Linker, build};

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Makes a number that the instruction itself holds.
    Literal(Number),
    /// Makes a constant of the constant pool. What is no number is a text, a method handle, a method type
    /// or computed when it is first needed.
    Constant {
        index: u16,
        number: Option<Number>,
    },
    Null,
    ClassConstant(ClassId),
    Compute(Operation),
    Cast(ClassId),
    New(ClassId),
    /// Operands: the lengths.
    NewArray(ArrayClass),
    /// Operand: the object, unless static.
    Get(FieldId),
    /// Operands: the object, unless static; the value.
    Put(FieldId),
    /// Operands: the array, the index.
    ArrayLoad(Element),
    /// Operands: the array, the index, the value.
    ArrayStore(Element),
    /// Operands: the receiver, unless static; the arguments.
    Call(Invoke, RefId),
    /// A lambda or method reference is made; its code will run with these operands first.
    Lambda(Invoke, RefId),
    /// A dynamic call that is none of these, such as joining texts.
    Dynamic,
    /// A conditional jump or switch.
    Branch(Condition),
    Enter,
    Exit,
    Return,
    Throw,
    /// Jumps that are always taken, and pops. They end up in no body.
    Nothing,
}

/// How a method is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Invoke {
    Static,
    /// Constructors, private methods and `super`: no choice at run time.
    Special,
    Virtual,
}

#[derive(Clone, Debug)]
pub struct Instr {
    pub pc: u32,
    pub block: Node,
    pub action: Action,
    pub operands: SmallVec<[ValueId; 3]>,
    pub result: Option<ValueId>,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// Nothing was stored there.
    Undefined,
    /// The parameter of this number, counted from 0 with the receiver first.
    Parameter(u32),
    Instr(InstrId),
    /// The exception that a handler begins with.
    Caught(Node),
    /// One of these, depending on the way into the block.
    Merge(Node, SmallVec<[ValueId; 4]>),
}

/// A method's code.
#[derive(Clone, Debug)]
pub struct Body {
    pub blocks: Vec<Block>,
    pub instrs: Vec<Instr>,
    pub values: Vec<ValueDef>,
    /// First pc and line, by pc.
    pub lines: Vec<(u16, u16)>,
    /// By the pc of the switch.
    switches: Vec<(u32, Switch)>,
}

impl Body {
    pub fn instr(&self, id: InstrId) -> &Instr {
        &self.instrs[id.at()]
    }

    pub fn value(&self, id: ValueId) -> &ValueDef {
        &self.values[id.at()]
    }

    pub fn ids(&self) -> impl Iterator<Item = InstrId> + use<> {
        (0..self.instrs.len()).map(InstrId::new)
    }

    /// The source line of an instruction, if the compiler left line numbers.
    pub fn line(&self, id: InstrId) -> Option<u32> {
        let pc = self.instr(id).pc;
        let behind = self.lines.partition_point(|&(start, _)| u32::from(start) <= pc);
        self.lines[..behind].last().map(|&(_, line)| u32::from(line))
    }

    /// The cases of a switch; `None` if the instruction is none.
    pub fn switch(&self, id: InstrId) -> Option<&Switch> {
        let pc = self.instr(id).pc;
        let found = self.switches.binary_search_by_key(&pc, |&(pc, _)| pc).ok()?;
        Some(&self.switches[found].1)
    }

    /// The virtual node after all returns and uncaught throws.
    pub fn exit(&self) -> Node {
        Node::new(self.blocks.len())
    }

    /// Control flow with handlers: where an exception can go counts as a way.
    pub fn full_graph(&self) -> Graph {
        let mut graph = self.normal_graph();
        for (at, block) in self.blocks.iter().enumerate() {
            for catch in &block.catches {
                graph.add_edge(Node::new(at), catch.handler);
            }
        }
        graph
    }

    /// Control flow without exceptions, except that `throw` leads to the exit.
    pub fn normal_graph(&self) -> Graph {
        let mut graph = Graph::new(self.blocks.len() + 1);
        for (at, block) in self.blocks.iter().enumerate() {
            for &to in &block.succs {
                graph.add_edge(Node::new(at), to);
            }
            if block.ending != Ending::Goes {
                graph.add_edge(Node::new(at), self.exit());
            }
        }
        graph
    }

    /// What defines a value, looking through merges: the reaching definitions of a use.
    pub fn reaching(&self, value: ValueId) -> SmallVec<[ValueId; 4]> {
        let mut found: SmallVec<[ValueId; 4]> = SmallVec::new();
        let mut seen: SmallVec<[ValueId; 8]> = SmallVec::from_slice(&[value]);
        let mut next = 0;
        while let Some(&value) = seen.get(next) {
            next += 1;
            match self.value(value) {
                ValueDef::Merge(_, sources) => {
                    for &source in sources {
                        if !seen.contains(&source) {
                            seen.push(source);
                        }
                    }
                }
                _ => found.push(value),
            }
        }
        found
    }
}
