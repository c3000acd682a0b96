//! What speaks for and against a pair: locks over both calls, and what the ranking asks.

use rustc_hash::FxHashMap;
use untorn_bytecode::access;

use crate::boundary::Op;
use crate::clients::SetCall;
use crate::effects::Facts;
use crate::locks::{HeldLock, owners};
use crate::prune::decides;
use crate::rank::Reason;
use crate::symptoms::Pair;
use untorn_codemodel::access_paths::{AccessPath, Base, MethodContext};
use untorn_codemodel::body::{Action, ValueDef};
use untorn_codemodel::dependence::{Dependence, Kind};
use untorn_codemodel::ids::{ClassId, FieldId, InstrId, ValueId};
use untorn_codemodel::program::Program;

/// A lock, relative to the object that holds the owner of a set: by fields of that object, or
/// absolutely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Beside(AccessPath),
    Absolute(AccessPath),
}

/// Which locks are held wherever a field's object is changed.
#[derive(Debug, Default)]
pub struct Mutators {
    /// The locks that all changes have in common so far.
    common: FxHashMap<FieldId, Vec<Key>>,
}

impl Mutators {
    /// Notes the changes that a method makes.
    pub fn note(&mut self, facts: &Facts, context: &MethodContext<'_>, set_calls: &[SetCall]) {
        if context.program.text(context.program.method(context.method).name).starts_with('<') {
            return;
        }
        for set_call in
            set_calls.iter().filter(|set_call| set_call.is_write() && set_call.depth == 0)
        {
            let Some(field) = set_call.owner.last() else { continue };
            let held = keys(&set_call.owner, facts.locks.at(context.method, set_call.instr));
            match self.common.get_mut(&field) {
                Some(common) => common.retain(|key| held.contains(key)),
                None => drop(self.common.insert(field, held)),
            }
        }
    }

    fn all_hold(&self, owner: &AccessPath, held: &HeldLock) -> bool {
        let common = owner.last().and_then(|field| self.common.get(&field));
        let keys = keys(owner, std::slice::from_ref(held));
        common.is_some_and(|common| keys.iter().any(|key| common.contains(key)))
    }
}

/// Locks in terms of the object that holds `owner`.
fn keys(owner: &AccessPath, held: &[HeldLock]) -> Vec<Key> {
    let mut found = Vec::new();
    for held in held {
        if let Base::Class(_) = held.place.base {
            found.push(Key::Absolute(held.place));
        }
        let Some(len) = owner.len().checked_sub(1) else { continue };
        let holder = owner.prefix(len);
        if held.place.starts_with(&holder) {
            let start = AccessPath::new(Base::Parameter(0));
            let mut rest = held.place.path()[len..].iter();
            let beside = rest.try_fold(start, |place, &field| place.field(field));
            found.extend(beside.map(Key::Beside));
        }
    }
    found
}

/// How locks bear on a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// No lock is held over both calls.
    None,
    /// Some lock is, but not all known code that changes the object acquires it.
    Some,
    /// The object's own lock is, or one that all code that changes the object takes.
    Sure,
}

pub fn guard(
    facts: &Facts,
    mutators: &Mutators,
    context: &MethodContext<'_>,
    a: &SetCall,
    b: &SetCall,
) -> Guard {
    let first = facts.locks.at(context.method, a.instr);
    let second = facts.locks.at(context.method, b.instr);
    let across: Vec<&HeldLock> = first.iter().filter(|held| second.contains(held)).collect();
    if across.is_empty() {
        return Guard::None;
    }
    let own = |held: &&HeldLock| {
        // Concurrent collections do not lock themselves; wrappers and old classes do.
        let locks_itself = a.op.is_none() || is_its_own_lock(context.program, a);
        let owners = owners(context.program, &facts.types, &held.place);
        locks_itself && (owners.contains(&a.owner) && (a.op.is_none() || held.place == a.owner))
    };
    let is_sure = |held: &&HeldLock| own(held) || mutators.all_hold(&a.owner, held);
    if across.iter().any(is_sure) { Guard::Sure } else { Guard::Some }
}

fn is_its_own_lock(program: &Program, set_call: &SetCall) -> bool {
    let field = set_call.reads.first().or(set_call.writes.first());
    field.is_some_and(|&field| {
        let name = program.class_name(program.field(field).class);
        name.starts_with("java/util/Collections$") || set_call.legacy
    })
}

/// The reasons for and against a pair.
pub fn reasons(
    facts: &Facts,
    context: &MethodContext<'_>,
    set_calls: &[SetCall],
    pair: &Pair,
    guard: Guard,
    dependence: &Dependence<'_>,
) -> Vec<Reason> {
    let (a, b) = (&set_calls[pair.first], &set_calls[pair.second]);
    let mut found = Vec::new();
    let mut note = |holds: bool, reason: Reason| {
        if holds {
            found.push(reason);
        }
    };
    note(!a.is_write() && b.is_write(), Reason::ReadThenWrite);
    note(!a.is_write() && !b.is_write(), Reason::ReadThenRead);
    note(a.is_write(), Reason::WriteFirst);
    note(branches_on(context, dependence, a.instr, b.instr), Reason::BranchOnResult);
    note(same_argument(context, a, b), Reason::SameArgument);
    note(is_data(context, a.instr, b.instr), Reason::DataDependence);
    let only =
        |kind| pair.uses.as_ref().is_some_and(|chain| chain.iter().all(|step| step.1 == kind));
    let let_go = is_let_go(facts, context, a, b);
    note(let_go, Reason::LockLetGo);
    note(only(Kind::Heap) && !let_go, Reason::OnlyHeap);
    note(pair.uses.is_some() && touch_apart(a, b), Reason::OtherFields);
    note(pair.uses.is_none(), Reason::OnlyTogether);
    note(pair.uses.is_none() && !a.is_write() && !b.is_write(), Reason::WrittenTogether);
    let is_static = matches!(a.owner.base, Base::Class(_));
    let is_this = is_this(context, &a.owner);
    note(is_static || is_this && !a.owner.is_empty(), Reason::FieldReceiver);
    note(!is_static && !is_this, Reason::LocalReceiver);
    note(a.depth.max(b.depth) > 0, Reason::Indirect);
    note(is_private(context, a) || is_private(context, b), Reason::OwnHelper);
    note(a.legacy, Reason::Legacy);
    note(a.legacy && !facts.is_for_threads(holder(context, a)), Reason::NoThreads);
    let called = context.program.text(context.program.method_ref(b.called).name);
    let checks = matches!(b.op, Some(Op::Conditional | Op::Compare)) || decides(called);
    note(checks, Reason::SecondDecides);
    note(guard == Guard::Some, Reason::LockHeld);
    note(is_checked_again(facts, context, set_calls, pair, dependence), Reason::DoubleChecked);
    let name = context.program.text(context.program.method(context.method).name);
    note(name.starts_with('<'), Reason::Constructor);
    found
}

pub fn is_this(context: &MethodContext<'_>, place: &AccessPath) -> bool {
    place.base == Base::Parameter(0) && !context.program.method(context.method).is_static()
}

/// Whether a call is of a private method on `this`: part of the object's own work, not of its API.
fn is_private(context: &MethodContext<'_>, set_call: &SetCall) -> bool {
    let program = context.program;
    let called = program.method_ref(set_call.called);
    let own = is_this(context, &set_call.owner) && set_call.owner.is_empty();
    let method = program.resolve(called.class, called.name, called.descriptor);
    own && method.is_some_and(|method| program.method(method).access & access::PRIVATE != 0)
}

/// The class whose field holds the object, or whose method uses it.
fn holder(context: &MethodContext<'_>, set_call: &SetCall) -> ClassId {
    let field = set_call.owner.last().map(|field| context.program.field(field).class);
    field.unwrap_or(context.program.method(context.method).class)
}

/// Whether no field that one call writes is touched by the other.
fn touch_apart(a: &SetCall, b: &SetCall) -> bool {
    let touches = |set_call: &SetCall, field| {
        set_call.reads.contains(field) || set_call.writes.contains(field)
    };
    !a.writes.iter().any(|field| touches(b, field))
        && !b.writes.iter().any(|field| touches(a, field))
}

/// Whether a branch that decides about `b` asks for `a`'s result itself, or compares it.
fn branches_on(
    context: &MethodContext<'_>,
    dependence: &Dependence<'_>,
    a: InstrId,
    b: InstrId,
) -> bool {
    let asks = |branch: InstrId| {
        let operands = &context.body.instr(branch).operands;
        operands.iter().any(|&operand| is_made_by(context, operand, a, 3))
    };
    dependence.branches(b).into_iter().any(asks)
}

/// Whether a value is an instruction's result, or computed from it in a few steps.
fn is_made_by(context: &MethodContext<'_>, value: ValueId, by: InstrId, steps: u32) -> bool {
    context.body.reaching(value).into_iter().any(|value| match context.body.value(value) {
        ValueDef::Instr(at) if *at == by => true,
        ValueDef::Instr(at) if steps > 0 => {
            let instr = context.body.instr(*at);
            let passes = match instr.action {
                Action::Compute(_) | Action::Cast(_) => true,
                Action::Call(_, called) => is_unboxing(context.program, called),
                _ => false,
            };
            passes
                && instr.operands.iter().any(|&operand| is_made_by(context, operand, by, steps - 1))
        }
        _ => false,
    })
}

fn is_unboxing(program: &Program, called: untorn_codemodel::ids::RefId) -> bool {
    let called = program.method_ref(called);
    let class = program.class_name(called.class);
    class.starts_with("java/lang/")
        && (program.text(called.name).ends_with("Value") || program.text(called.name) == "equals")
}

fn is_data(context: &MethodContext<'_>, a: InstrId, b: InstrId) -> bool {
    let operands = &context.body.instr(b).operands;
    operands.iter().any(|&operand| is_made_by(context, operand, a, 4))
}

/// Whether both calls are given the same thing, constants of code such as `true` aside.
fn same_argument(context: &MethodContext<'_>, a: &SetCall, b: &SetCall) -> bool {
    let arguments = |set_call: &SetCall| {
        let operands = &context.body.instr(set_call.instr).operands;
        let things = operands.iter().skip(1).map(|&value| thing(context, value));
        // The object itself and its owner are the same for every call on it.
        things
            .filter(|thing| !thing.is_some_and(|thing| leads_to(thing, &a.owner)))
            .collect::<Vec<_>>()
    };
    let second = arguments(b);
    arguments(a).iter().any(|thing| thing.is_some() && second.contains(thing))
}

fn leads_to(thing: Argument, owner: &AccessPath) -> bool {
    matches!(thing, Argument::AccessPath(place) if owner.starts_with(&place) && !owner.is_empty())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    AccessPath(AccessPath),
    Constant(u16),
}

/// What an argument is, if that can be compared.
fn thing(context: &MethodContext<'_>, value: ValueId) -> Option<Argument> {
    let mut value = value;
    // Boxes are created for every call; their content is the same.
    for _ in 0..2 {
        if let ValueDef::Instr(at) = context.body.value(value)
            && let Action::Call(_, called) = context.body.instr(*at).action
            && context.program.text(context.program.method_ref(called).name) == "valueOf"
            && let [inner] = context.body.instr(*at).operands[..]
        {
            value = inner;
        }
    }
    if let ValueDef::Instr(at) = context.body.value(value) {
        match context.body.instr(*at).action {
            Action::Literal(_) | Action::Null => return None,
            Action::Constant { index, .. } => return Some(Argument::Constant(index)),
            _ => {}
        }
    }
    Some(Argument::AccessPath(context.access_path(value)))
}

/// Whether the lock of the object is held at each call, but acquired again for the second.
fn is_let_go(facts: &Facts, context: &MethodContext<'_>, a: &SetCall, b: &SetCall) -> bool {
    let own = |at: InstrId| {
        let held = facts.locks.at(context.method, at).iter();
        held.filter(|held| owners(context.program, &facts.types, &held.place).contains(&a.owner))
    };
    own(a.instr).any(|first| {
        own(b.instr).any(|second| first.place == second.place && first.taken != second.taken)
    })
}

/// Whether the first call is made again under a lock that is still held at the second, or the second
/// is the first one made again under a lock.
fn is_checked_again(
    facts: &Facts,
    context: &MethodContext<'_>,
    set_calls: &[SetCall],
    pair: &Pair,
    dependence: &Dependence<'_>,
) -> bool {
    let (a, b) = (&set_calls[pair.first], &set_calls[pair.second]);
    let held = facts.locks.at(context.method, b.instr);
    let first = facts.locks.at(context.method, a.instr);
    let taken = held.iter().any(|lock| !first.contains(lock));
    if a.called == b.called && !a.is_write() && taken && same_argument(context, a, b) {
        return true;
    }
    set_calls.iter().any(|again| {
        again.called == a.called
            && again.owner == a.owner
            && again.instr != a.instr
            && dependence.dominates(again.instr, b.instr)
            && facts.locks.at(context.method, again.instr).iter().any(|lock| held.contains(lock))
            && !first.iter().any(|lock| held.contains(lock))
    })
}
