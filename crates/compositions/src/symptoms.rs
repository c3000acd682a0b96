//! Which set calls of a client method look like one step.
//!
//! Paper: ICFinder, section 5. *USE*: the second call depends on the first. *Complementation*: one
//! never runs without the other. Deviations: dependence by exceptions counts only for what runs in
//! a handler alone; dependence through fields counts only where the first call always comes first;
//! complementation is asked of normal ways, and regions that cannot reach a `return` do not count,
//! since with exceptions nothing ever comes in pairs; a pair of reads complements each other only if
//! some call writes what both read; calls that bracket work, and compare-and-set, are left out.
//!
//! Promise: none. Both symptoms are guesses about what programmers mean.

use rustc_hash::FxHashMap;

use crate::boundary::Op;
use crate::clients::SetCall;
use crate::prune::{compares, is_bracket, puts_back};
use crate::sets::{SetId, Sets};
use untorn_codemodel::access_paths::{AccessPath, MethodContext};
use untorn_codemodel::body::{Action, Body, Ending, ValueDef};
use untorn_codemodel::dependence::{Chain, Dependence, Kind, ReturnFlow, through_heap};
use untorn_codemodel::dominators::{Dominators, post_dominators, to_exit};
use untorn_codemodel::graph::Graph;
use untorn_codemodel::ids::{InstrId, Node};
use untorn_codemodel::program::Program;

/// Two set calls that look like one step.
#[derive(Clone, Debug)]
pub struct Pair {
    pub first: usize,
    pub second: usize,
    /// The steps by which the second depends on the first.
    pub uses: Option<Chain>,
    pub complements: bool,
}

/// Pairs that were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// They bracket work, or take something out and put it back.
    pub brackets: u64,
    /// The second compares with what the first read.
    pub compares: u64,
}

/// Units of one set of one object; more of them are not compared.
const MAX_ALIKE: usize = 48;

/// The pairs of a method.
pub fn pairs(
    context: &MethodContext<'_>,
    set_calls: &[SetCall],
    sets: &Sets,
    flow: &ReturnFlow,
    dependence: &mut Dependence<'_>,
    pruned: &mut Pruned,
) -> Vec<Pair> {
    let mut groups: FxHashMap<(AccessPath, SetId), Vec<usize>> = FxHashMap::default();
    for (at, set_call) in set_calls.iter().enumerate() {
        groups.entry((set_call.owner, set_call.set)).or_default().push(at);
    }
    let mut groups: Vec<Vec<usize>> =
        groups.into_values().filter(|group| (2..=MAX_ALIKE).contains(&group.len())).collect();
    if groups.is_empty() {
        return Vec::new();
    }
    groups.sort_unstable();
    let together = JointExecution::new(context.body);
    let asserted: Vec<bool> =
        set_calls.iter().map(|set_call| is_asserted(context, dependence, set_call.instr)).collect();
    let mut found = Vec::new();
    for group in &groups {
        for &second in group {
            let slice = dependence.backwards(context, flow, set_calls[second].instr);
            for &first in group.iter().filter(|&&first| first != second && !asserted[first]) {
                let (a, b) = (&set_calls[first], &set_calls[second]);
                // Round a loop the second call of one round comes before the first of the next.
                let backwards = dependence.dominates(b.instr, a.instr);
                if a.instr == b.instr || backwards || !dependence.reaches(a.instr, b.instr) {
                    continue;
                }
                let uses = slice.chain(a.instr).or_else(|| weaker(dependence, a, b));
                let complements = a.instr < b.instr
                    && together.always(a.instr, b.instr, context.body)
                    && is_whole(sets, a, b);
                let pair = Pair { first, second, uses, complements };
                found.extend(prune(context.program, a, b, pair, pruned));
            }
        }
    }
    found
}

/// Whether a call is part of an `assert`: the program does not act on its result.
fn is_asserted(context: &MethodContext<'_>, dependence: &Dependence<'_>, at: InstrId) -> bool {
    let asks = |branch: InstrId| {
        let operands = &context.body.instr(branch).operands;
        operands.iter().any(|&value| match context.body.value(value) {
            ValueDef::Instr(at) => match context.body.instr(*at).action {
                Action::Get(field) => {
                    context.program.text(context.program.field(field).name) == "$assertionsDisabled"
                }
                _ => false,
            },
            _ => false,
        })
    };
    dependence.direct_branches(at).any(asks)
}

/// Dependence that does not go through values and branches.
fn weaker(dependence: &Dependence<'_>, a: &SetCall, b: &SetCall) -> Option<Chain> {
    if dependence.handles(a.instr, b.instr) {
        return Some(vec![(b.instr, Kind::Exception)]);
    }
    let real = a.op.is_none() && b.op.is_none();
    let shared = real && through_heap(&a.writes, &b.reads).is_some();
    (shared && dependence.dominates(a.instr, b.instr)).then(|| vec![(b.instr, Kind::Heap)])
}

/// Whether taking two calls apart can be noticed: one writes, or both read what is written at once.
fn is_whole(sets: &Sets, a: &SetCall, b: &SetCall) -> bool {
    a.is_write()
        || b.is_write()
        || a.reads.iter().any(|&x| b.reads.iter().any(|&y| sets.are_written_together(x, y)))
}

fn prune(
    program: &Program,
    a: &SetCall,
    b: &SetCall,
    mut pair: Pair,
    pruned: &mut Pruned,
) -> Option<Pair> {
    let name = |set_call: &SetCall| program.text(program.method_ref(set_call.called).name);
    let by_values = |chain: &Chain| chain.iter().any(|(_, kind)| *kind == Kind::Data);
    let uses_values = pair.uses.as_ref().is_some_and(by_values);
    let is_compare =
        |set_call: &SetCall| set_call.op == Some(Op::Compare) || compares(name(set_call));
    // What failed is read again and tried again.
    let retries = is_compare(a) && !b.is_write();
    if retries || uses_values && is_compare(b) {
        pruned.compares += 1;
        return None;
    }
    let depends = pair.uses.as_ref().is_some_and(|chain| {
        chain.iter().any(|(_, kind)| matches!(kind, Kind::Data | Kind::Control))
    });
    let any = pair.uses.is_some() || pair.complements;
    if any && !depends && (is_bracket(name(a), name(b)) || is_bracket(name(b), name(a))) {
        pruned.brackets += 1;
        return None;
    }
    if pair.complements && !depends && puts_back(name(a), name(b)) {
        pruned.brackets += 1;
        pair.complements = false;
    }
    (pair.uses.is_some() || pair.complements).then_some(pair)
}

/// Which instructions run together or not at all, if nothing throws.
#[derive(Debug)]
struct JointExecution {
    dominators: Dominators,
    post: Dominators,
}

impl JointExecution {
    fn new(body: &Body) -> Self {
        let graph = returning(body);
        let dominators = Dominators::new(&graph, Node(0));
        let post = post_dominators(&graph, body.exit());
        Self { dominators, post }
    }

    fn always(&self, a: InstrId, b: InstrId, body: &Body) -> bool {
        let (from, to) = (body.instr(a).block, body.instr(b).block);
        from == to || self.dominators.dominates(from, to) && self.post.dominates(to, from)
    }
}

/// Normal ways among blocks from which a `return` can be reached.
fn returning(body: &Body) -> Graph {
    let mut whole = Graph::new(body.blocks.len() + 1);
    for (at, block) in body.blocks.iter().enumerate() {
        for &to in &block.succs {
            whole.add_edge(Node::new(at), to);
        }
        if block.ending == Ending::Returns {
            whole.add_edge(Node::new(at), body.exit());
        }
    }
    let returns = whole.reversed().reachable(body.exit());
    if !returns[0] {
        let order = whole.reverse_postorder(Node(0));
        to_exit(&mut whole, &order, body.exit());
        return whole;
    }
    let mut graph = Graph::new(whole.len());
    for node in whole.nodes().filter(|node| returns[node.at()]) {
        for &to in whole.succs(node).iter().filter(|to| returns[to.at()]) {
            graph.add_edge(node, to);
        }
    }
    graph
}
