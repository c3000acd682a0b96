//! From slots to values.
//!
//! Paper: the form is that of Cytron, Ferrante, Rosen, Wegman and Zadeck, *Efficiently computing
//! static single assignment form*, TOPLAS 1991. Deviation: merges are not placed by dominance
//! frontiers. The code is executed abstractly, block by block, until nothing changes; where ways
//! bring different values into a slot, a merge is made, and stays. Merges of one value only are
//! taken out in the end. That needs one pass for code without loops and hardly ever more than three.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use untorn_bytecode::{ClassFile, Method};

use super::blocks::Blocks;
use super::steps::{Act, Step, step};
use super::{Action, Body, Instr, Operation, ValueDef};
use crate::error::BodyError;
use crate::ids::{ClassId, FieldId, InstrId, Node, RefId, ValueId};
use untorn_bytecode::descriptor::{Signature, slots};

/// Gives numbers to what code names.
pub trait Linker {
    fn class(&mut self, name: &str) -> ClassId;
    fn field(&mut self, class: &str, name: &str, descriptor: &str) -> FieldId;
    fn method(&mut self, class: &str, name: &str, descriptor: &str) -> RefId;
}

/// Blocks times slots. Larger methods would take too much memory.
const MAX_CELLS: usize = 16 << 20;
/// After so many rounds every slot that still changes becomes a merge.
const MAX_ROUNDS: u32 = 16;

const UNDEFINED: ValueId = ValueId(0);

/// The body of a method with code.
pub fn build<L: Linker>(
    class: &ClassFile<'_>,
    method: &Method<'_>,
    linker: &mut L,
) -> Result<Body, BodyError> {
    let code = method.code().ok_or(BodyError::Malformed("no code"))?;
    let cut = Blocks::cut(code)?;
    let locals = usize::from(code.max_locals());
    let limit = locals + usize::from(code.max_stack());
    if cut.blocks.len().saturating_mul(limit) > MAX_CELLS {
        return Err(BodyError::TooLarge);
    }
    let steps: Result<Vec<Step>, BodyError> =
        cut.code.iter().map(|instr| step(class, instr, linker)).collect();
    let steps = steps?;
    let mut builder = Builder {
        results: vec![None; steps.len()],
        steps,
        values: vec![ValueDef::Undefined],
        merges: FxHashMap::default(),
        caught: FxHashMap::default(),
        locals,
        limit,
    };
    let start = builder.parameters(method)?;
    let flow = builder.run_to_fixed_point(&cut, &start)?;
    let mut body = builder.emit(cut, &flow, &start)?;
    body.lines = lines(code);
    body.drop_plain_merges();
    Ok(body)
}

fn lines(code: &untorn_bytecode::Code<'_>) -> Vec<(u16, u16)> {
    let mut lines: Vec<(u16, u16)> = Vec::new();
    for instr in code.instructions().flatten() {
        if let Some(line) = code.line_of(instr.pc)
            && lines.last().is_none_or(|&(_, last)| last != line)
        {
            lines.push((instr.pc as u16, line));
        }
    }
    lines
}

/// What the slots hold at a point: the local variables, then the stack.
type State = Vec<ValueId>;

struct Builder {
    steps: Vec<Step>,
    /// The value that each step defines, made when it is first needed.
    results: Vec<Option<ValueId>>,
    values: Vec<ValueDef>,
    /// The merge of a slot at the beginning of a block.
    merges: FxHashMap<(Node, usize), ValueId>,
    caught: FxHashMap<Node, ValueId>,
    locals: usize,
    limit: usize,
}

/// The ways into blocks, and what the slots hold when blocks begin and end.
struct Flow {
    order: Vec<Node>,
    preds: Vec<Vec<Node>>,
    throwers: Vec<Vec<Node>>,
    entries: Vec<Option<State>>,
    outs: Vec<Option<State>>,
}

impl Builder {
    fn value(&mut self, def: ValueDef) -> ValueId {
        self.values.push(def);
        ValueId::new(self.values.len() - 1)
    }

    fn parameters(&mut self, method: &Method<'_>) -> Result<State, BodyError> {
        let signature =
            Signature::parse(method.descriptor()).ok_or(BodyError::Malformed("a descriptor"))?;
        let receiver = (!method.is_static()).then_some(1);
        let sizes = receiver.into_iter().chain(signature.parameters.iter().map(|text| slots(text)));
        let mut state = State::new();
        for (number, slots) in sizes.enumerate() {
            let value = self.value(ValueDef::Parameter(number as u32));
            state.extend(std::iter::repeat_n(value, slots));
        }
        if state.len() > self.locals {
            return Err(BodyError::Malformed("more parameters than local variables"));
        }
        state.resize(self.locals, UNDEFINED);
        Ok(state)
    }

    /// Executes blocks until the states at their beginnings reach a fixed point.
    fn run_to_fixed_point(&mut self, cut: &Blocks<'_>, start: &State) -> Result<Flow, BodyError> {
        let mut flow = Flow::new(cut);
        let mut changed = true;
        let mut rounds = 0;
        while std::mem::take(&mut changed) {
            rounds += 1;
            for at in 0..flow.order.len() {
                let node = flow.order[at];
                let entry = self.entry(node, &flow, start, rounds > MAX_ROUNDS)?;
                if flow.entries[node.at()].as_ref() == Some(&entry) {
                    continue;
                }
                changed = true;
                let mut state = entry.clone();
                flow.entries[node.at()] = Some(entry);
                let block = &cut.blocks[node.at()];
                for instr in block.first..block.end {
                    self.apply(instr as usize, &mut state, None)?;
                }
                flow.outs[node.at()] = Some(state);
            }
        }
        Ok(flow)
    }

    /// What the slots hold at the beginning of a block, as far as its predecessors are known.
    fn entry(
        &mut self,
        node: Node,
        flow: &Flow,
        start: &State,
        force_merges: bool,
    ) -> Result<State, BodyError> {
        let mut states = self.sources(node, flow, start).into_iter();
        let mut entry = states.next().ok_or(BodyError::Malformed("a block without a way to it"))?;
        let mut differs = vec![false; entry.len()];
        for state in states {
            if state.len() != entry.len() {
                return Err(BodyError::Malformed("ways meet with stacks of different heights"));
            }
            for ((slot, &other), differs) in entry.iter_mut().zip(&state).zip(&mut differs) {
                *differs |= *slot != other;
            }
        }
        let before = flow.entries[node.at()].as_ref();
        for (slot, value) in entry.iter_mut().enumerate() {
            let is_unstable =
                force_merges && before.is_some_and(|before| before.get(slot) != Some(value));
            if let Some(&merge) = self.merges.get(&(node, slot)) {
                *value = merge;
            } else if differs[slot] || is_unstable {
                let merge = ValueDef::Merge(node, SmallVec::new());
                *value = self.value(merge);
                self.merges.insert((node, slot), *value);
            }
        }
        Ok(entry)
    }

    /// The states that meet at the beginning of a block.
    fn sources(&mut self, node: Node, flow: &Flow, start: &State) -> Vec<State> {
        let first = (node == Node(0)).then(|| start.clone());
        let normal = flow.preds[node.at()].iter().filter_map(|pred| flow.outs[pred.at()].clone());
        let mut found: Vec<State> = first.into_iter().chain(normal).collect();
        for thrower in &flow.throwers[node.at()] {
            if let Some(entry) = &flow.entries[thrower.at()] {
                let mut state = entry[..self.locals].to_vec();
                state.push(self.exception(node));
                found.push(state);
            }
        }
        found
    }

    fn exception(&mut self, node: Node) -> ValueId {
        if let Some(&known) = self.caught.get(&node) {
            return known;
        }
        let value = self.value(ValueDef::Caught(node));
        self.caught.insert(node, value);
        value
    }

    fn result(&mut self, at: usize) -> ValueId {
        if let Some(known) = self.results[at] {
            return known;
        }
        // The instruction gets its number when the body is written.
        let value = self.value(ValueDef::Undefined);
        self.results[at] = Some(value);
        value
    }

    /// Executes one instruction; `used` gets its operands.
    fn apply(
        &mut self,
        at: usize,
        state: &mut State,
        used: Option<&mut SmallVec<[ValueId; 3]>>,
    ) -> Result<(), BodyError> {
        let locals = self.locals;
        let underflow = BodyError::Malformed("the stack is too short");
        let local = |local: usize, slots: usize| {
            let fits = local + slots <= locals;
            if fits {
                Ok(local..local + slots)
            } else {
                Err(BodyError::Malformed("a local variable"))
            }
        };
        match &self.steps[at] {
            &Step::Load { local: number, slots } => state.extend_from_within(local(number, slots)?),
            &Step::Store { local: number, slots } => {
                let from = state.len().checked_sub(slots).filter(|&from| from >= locals);
                let from = from.ok_or(underflow)?;
                state.copy_within(from.., local(number, slots)?.start);
                state.truncate(from);
            }
            &Step::Increment { local: number, .. } => {
                let range = local(number, 1)?;
                if let Some(used) = used {
                    used.push(state[range.start]);
                }
                state[range.start] = self.result(at);
            }
            &Step::Shuffle { takes, gives } => {
                let from = state.len().checked_sub(takes).filter(|&from| from >= locals);
                let from = from.ok_or(underflow)?;
                let taken: SmallVec<[ValueId; 4]> = SmallVec::from_slice(&state[from..]);
                state.truncate(from);
                state.extend(gives.iter().map(|&give| taken[give]));
            }
            Step::Act(act) => {
                let gives = act.gives;
                let from = state.len().checked_sub(act.takes()).filter(|&from| from >= locals);
                let from = from.ok_or(underflow)?;
                if let Some(used) = used {
                    *used = operands(act, &state[from..]);
                }
                state.truncate(from);
                if gives > 0 {
                    let value = self.result(at);
                    state.extend(std::iter::repeat_n(value, gives));
                }
            }
        }
        if state.len() > self.limit {
            return Err(BodyError::Malformed("the stack is too high"));
        }
        Ok(())
    }

    /// Writes the body down: instructions with their operands, and what merges merge.
    fn emit(mut self, cut: Blocks<'_>, flow: &Flow, start: &State) -> Result<Body, BodyError> {
        let mut instrs: Vec<Instr> = Vec::new();
        let mut blocks = cut.blocks;
        for (number, block) in blocks.iter_mut().enumerate() {
            let range = block.first..block.end;
            block.first = instrs.len() as u32;
            if let Some(entry) = &flow.entries[number] {
                let mut state = entry.clone();
                for at in range {
                    let mut used = SmallVec::new();
                    self.apply(at as usize, &mut state, Some(&mut used))?;
                    let action = match &self.steps[at as usize] {
                        Step::Act(act) => act.action,
                        &Step::Increment { by, .. } => Action::Compute(Operation::Increment(by)),
                        _ => continue,
                    };
                    if action == Action::Nothing {
                        continue;
                    }
                    let result = self.results[at as usize];
                    if let Some(result) = result {
                        self.values[result.at()] = ValueDef::Instr(InstrId::new(instrs.len()));
                    }
                    let (pc, block) = (cut.code[at as usize].pc, Node::new(number));
                    instrs.push(Instr { pc, block, action, operands: used, result });
                }
            }
            block.end = instrs.len() as u32;
        }
        self.fill_merges(flow, start);
        let switches = cut.switches;
        Ok(Body { blocks, instrs, values: self.values, lines: Vec::new(), switches })
    }

    fn fill_merges(&mut self, flow: &Flow, start: &State) {
        let mut merges: Vec<((Node, usize), ValueId)> =
            self.merges.iter().map(|(&key, &value)| (key, value)).collect();
        merges.sort_unstable();
        let mut states: (Option<Node>, Vec<State>) = (None, Vec::new());
        for ((node, slot), merge) in merges {
            if states.0 != Some(node) {
                states = (Some(node), self.sources(node, flow, start));
            }
            let mut sources: SmallVec<[ValueId; 4]> = SmallVec::new();
            for state in &states.1 {
                if !sources.contains(&state[slot]) {
                    sources.push(state[slot]);
                }
            }
            self.values[merge.at()] = ValueDef::Merge(node, sources);
        }
    }
}

fn operands(act: &Act, taken: &[ValueId]) -> SmallVec<[ValueId; 3]> {
    let mut found = SmallVec::new();
    let mut at = 0;
    for &slots in &act.groups {
        found.push(taken[at]);
        at += usize::from(slots);
    }
    found
}

impl Flow {
    fn new(cut: &Blocks<'_>) -> Self {
        let len = cut.blocks.len();
        let (mut preds, mut throwers) = (vec![Vec::new(); len], vec![Vec::new(); len]);
        let mut graph = crate::graph::Graph::new(len);
        for (number, block) in cut.blocks.iter().enumerate() {
            let node = Node::new(number);
            for &to in &block.succs {
                preds[to.at()].push(node);
                graph.add_edge(node, to);
            }
            for catch in &block.catches {
                throwers[catch.handler.at()].push(node);
                graph.add_edge(node, catch.handler);
            }
        }
        let order = graph.reverse_postorder(Node(0));
        Self { order, preds, throwers, entries: vec![None; len], outs: vec![None; len] }
    }
}

impl Body {
    /// Takes out merges of one value (and themselves, and what is undefined).
    fn drop_plain_merges(&mut self) {
        let mut stands_for: Vec<ValueId> = (0..self.values.len()).map(ValueId::new).collect();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for at in 0..self.values.len() {
                if stands_for[at] != ValueId::new(at) {
                    continue;
                }
                let ValueDef::Merge(_, sources) = &self.values[at] else { continue };
                let mut others = sources
                    .iter()
                    .map(|&source| find(&stands_for, source))
                    .filter(|&source| source != UNDEFINED && source != ValueId::new(at));
                if let Some(first) = others.next()
                    && others.all(|other| other == first)
                {
                    stands_for[at] = first;
                    changed = true;
                }
            }
        }
        for instr in &mut self.instrs {
            for operand in &mut instr.operands {
                *operand = find(&stands_for, *operand);
            }
        }
        for value in &mut self.values {
            if let ValueDef::Merge(_, sources) = value {
                for source in sources {
                    *source = find(&stands_for, *source);
                }
            }
        }
    }
}

fn find(stands_for: &[ValueId], mut value: ValueId) -> ValueId {
    while stands_for[value.at()] != value {
        value = stands_for[value.at()];
    }
    value
}
