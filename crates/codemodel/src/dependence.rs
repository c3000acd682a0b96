//! Program dependence: on what an instruction depends, and by which steps.
//!
//! Paper: Ferrante, Ottenstein and Warren, *The program dependence graph and its use in
//! optimization*, TOPLAS 1987; ICFinder, section 7, for arguments, returns and the heap. A call's
//! result depends on its arguments, unless the callee is known not to return anything made of them;
//! a field that is read depends on stores to the same place before it. Deviation: exceptions make
//! dependence only from a call to what runs in its handler alone; with an edge from every
//! instruction that may throw, everything would depend on everything.
//!
//! Promise: dependences that are reported follow from the graphs; through the heap of other methods
//! and deeper places they are missed.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::access_paths::{Getters, MethodContext};
use crate::body::{Action, Body, ValueDef};
use crate::calls::Calls;
use crate::control::ControlDependence;
use crate::dominators::{Dominators, post_dominators, to_exit};
use crate::graph::Graph;
use crate::ids::{FieldId, InstrId, MethodId, Node};
use crate::program::Program;

/// How one step depends on the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// It uses the result.
    Data,
    /// Whether it runs is decided there.
    Control,
    /// It reads the field that is written there.
    Heap,
    /// It runs only if that throws.
    Exception,
}

/// Steps from the first instruction to the last, each with how it depends on the one before.
pub type Chain = Vec<(InstrId, Kind)>;

/// What is needed to answer questions about one body.
#[derive(Debug)]
pub struct Dependence<'a> {
    body: &'a Body,
    control: ControlDependence,
    /// Ways with exceptions.
    full: Graph,
    dominators: Dominators,
    /// Stores by field.
    stores: FxHashMap<FieldId, Vec<InstrId>>,
    reach: FxHashMap<Node, Vec<bool>>,
}

impl<'a> Dependence<'a> {
    pub fn new(body: &'a Body) -> Self {
        let full = body.full_graph();
        let mut normal = body.normal_graph();
        // Handlers count, although no normal way leads to them.
        to_exit(&mut normal, &full.reverse_postorder(Node(0)), body.exit());
        let post = post_dominators(&normal, body.exit());
        let control = ControlDependence::new(&normal, &full.reachable(Node(0)), &post);
        let dominators = Dominators::new(&full, Node(0));
        let mut stores: FxHashMap<FieldId, Vec<InstrId>> = FxHashMap::default();
        for at in body.ids() {
            if let Action::Put(field) = body.instr(at).action {
                stores.entry(field).or_default().push(at);
            }
        }
        Self { body, control, full, dominators, stores, reach: FxHashMap::default() }
    }

    /// Whether `b` can run after `a`, exceptions included.
    pub fn reaches(&mut self, a: InstrId, b: InstrId) -> bool {
        let (from, to) = (self.body.instr(a).block, self.body.instr(b).block);
        if from == to && a < b {
            return true;
        }
        let full = &self.full;
        let seen = self.reach.entry(from).or_insert_with(|| {
            let mut seen = vec![false; full.len()];
            for &next in full.succs(from) {
                if !seen[next.at()] {
                    let more = full.reachable(next);
                    seen.iter_mut().zip(more).for_each(|(seen, more)| *seen |= more);
                }
            }
            seen
        });
        seen[to.at()]
    }

    pub fn dominates(&self, a: InstrId, b: InstrId) -> bool {
        let (from, to) = (self.body.instr(a).block, self.body.instr(b).block);
        if from == to { a < b } else { self.dominators.dominates(from, to) }
    }

    /// The branches that decide whether an instruction runs, the nearest first.
    pub fn branches(&self, at: InstrId) -> Vec<InstrId> {
        let mut found: Vec<InstrId> = Vec::new();
        let mut open = VecDeque::from([self.body.instr(at).block]);
        while let Some(node) = open.pop_front() {
            for &branch in self.control.branches(node) {
                let block = &self.body.blocks[branch.at()];
                let last = InstrId(block.end.saturating_sub(1));
                let is_branch = block.first < block.end && self.is_branch(last);
                if is_branch && !found.contains(&last) {
                    found.push(last);
                    open.push_back(branch);
                }
            }
        }
        found
    }

    fn is_branch(&self, at: InstrId) -> bool {
        matches!(self.body.instr(at).action, Action::Branch(_))
    }

    /// The branches that decide directly.
    pub fn direct_branches(&self, at: InstrId) -> impl Iterator<Item = InstrId> + '_ {
        self.control.branches(self.body.instr(at).block).iter().filter_map(|branch| {
            let block = &self.body.blocks[branch.at()];
            let last = InstrId(block.end.checked_sub(1)?);
            let is_branch = block.first < block.end && self.is_branch(last);
            is_branch.then_some(last)
        })
    }

    /// Everything that an instruction depends on, with the next step towards it.
    pub fn backwards(
        &mut self,
        context: &MethodContext<'_>,
        flow: &ReturnFlow,
        from: InstrId,
    ) -> Slice {
        let mut next: FxHashMap<InstrId, (InstrId, Kind)> = FxHashMap::default();
        let mut open = VecDeque::from([from]);
        while let Some(at) = open.pop_front() {
            let mut add = |on: InstrId, kind: Kind| {
                if on != from && !next.contains_key(&on) {
                    next.insert(on, (at, kind));
                    open.push_back(on);
                }
            };
            let instr = self.body.instr(at);
            for (number, &operand) in instr.operands.iter().enumerate() {
                if at != from && !flow.passes(context, at, number) {
                    continue;
                }
                for value in self.body.reaching(operand) {
                    if let ValueDef::Instr(def) = self.body.value(value) {
                        add(*def, Kind::Data);
                    }
                }
            }
            for branch in self.direct_branches(at) {
                add(branch, Kind::Control);
            }
            if let Action::Get(field) = instr.action {
                for store in self.stored_before(context, at, field) {
                    add(store, Kind::Heap);
                }
            }
        }
        Slice { from, next }
    }

    /// Stores to the place that an instruction reads.
    fn stored_before(
        &mut self,
        context: &MethodContext<'_>,
        at: InstrId,
        field: FieldId,
    ) -> Vec<InstrId> {
        let body = self.body;
        let owner = |at: InstrId, operands: usize| {
            let operands = body.instr(at).operands.get(..operands)?;
            operands.first().map(|&object| context.access_path(object))
        };
        let read = owner(at, body.instr(at).operands.len());
        let stores = self.stores.get(&field).cloned().unwrap_or_default();
        stores
            .into_iter()
            .filter(|&store| owner(store, body.instr(store).operands.len() - 1) == read)
            .filter(|&store| self.reaches(store, at))
            .collect()
    }

    /// Whether `b` runs only in a handler of what `a` throws: one for certain classes, since
    /// `finally` runs either way.
    pub fn handles(&self, a: InstrId, b: InstrId) -> bool {
        let (thrower, node) = (self.body.instr(a).block, self.body.instr(b).block);
        self.body.blocks[thrower.at()]
            .catches
            .iter()
            .any(|catch| !catch.any && self.dominators.dominates(catch.handler, node))
    }
}

/// What an instruction depends on.
#[derive(Debug)]
pub struct Slice {
    from: InstrId,
    next: FxHashMap<InstrId, (InstrId, Kind)>,
}

impl Slice {
    /// The steps from `on` to the instruction that was asked about; `None` if it does not depend.
    pub fn chain(&self, on: InstrId) -> Option<Chain> {
        let mut chain = Vec::new();
        let mut at = on;
        while at != self.from {
            let &(next, kind) = self.next.get(&at)?;
            chain.push((next, kind));
            at = next;
        }
        Some(chain)
    }
}

/// Of which parameters the result of a method is made.
#[derive(Debug)]
pub struct ReturnFlow {
    masks: Vec<u64>,
}

impl ReturnFlow {
    /// `order` has callees before callers; of what is not known yet, all parameters count.
    pub fn new(program: &Program, calls: &Calls, getters: &Getters, order: &[MethodId]) -> Self {
        let mut flow = Self { masks: vec![u64::MAX; program.methods.len()] };
        for &method in order {
            if let Some(context) = MethodContext::new(program, calls, getters, method)
                && context.body.instrs.len() <= MAX_INSTRS
            {
                flow.masks[method.at()] = flow.mask(&context);
            }
        }
        flow
    }

    fn mask(&self, context: &MethodContext<'_>) -> u64 {
        let body = context.body;
        let mut dependence = Dependence::new(body);
        let mut mask = 0;
        let returns: Vec<InstrId> = body
            .ids()
            .filter(|&at| body.instr(at).action == Action::Return)
            .filter(|&at| !body.instr(at).operands.is_empty())
            .collect();
        for at in returns {
            let slice = dependence.backwards(context, self, at);
            for step in slice.next.keys().copied().chain([at]) {
                for &operand in &body.instr(step).operands {
                    for value in body.reaching(operand) {
                        if let ValueDef::Parameter(number @ 0..64) = body.value(value) {
                            mask |= 1 << number;
                        }
                    }
                }
            }
        }
        mask
    }

    /// Whether what an instruction gives is made of its operand of this number.
    fn passes(&self, context: &MethodContext<'_>, at: InstrId, number: usize) -> bool {
        let Some(site) = context.site(at) else { return true };
        let targets = context.calls.targets(site);
        let uses = |target: &MethodId| {
            number >= 64
                || self.masks[target.at()] & (1 << number) != 0
                || context.program.method(*target).body.is_none()
        };
        targets.is_empty() || targets.iter().any(uses)
    }
}

/// Larger methods are taken to return something of everything.
const MAX_INSTRS: usize = 400;

/// Fields that one call writes and a later one reads.
pub fn through_heap(writes: &[FieldId], reads: &[FieldId]) -> Option<FieldId> {
    writes.iter().copied().find(|field| reads.contains(field))
}
