//! What speaks for and against a pair: locks over both calls, and what the ranking asks.

use rustc_hash::FxHashMap;
use untorn_bytecode::access;

use crate::boundary::Op;
use crate::clients::Unit;
use crate::effects::Facts;
use crate::locks::{Held, owners};
use crate::prune::decides;
use crate::rank::Reason;
use crate::symptoms::Pair;
use untorn_codemodel::access_paths::{Base, Look, Place};
use untorn_codemodel::body::{Action, ValueDef};
use untorn_codemodel::dependence::{Dependence, Kind};
use untorn_codemodel::ids::{ClassId, FieldId, InstrId, ValueId};
use untorn_codemodel::program::Program;

/// A lock, told from the object that holds the owner of a set: by fields of that object, or
/// absolutely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Beside(Place),
    Absolute(Place),
}

/// Which locks are held wherever a field's object is changed.
#[derive(Debug, Default)]
pub struct Mutators {
    /// The locks that all changes have in common so far.
    common: FxHashMap<FieldId, Vec<Key>>,
}

impl Mutators {
    /// Notes the changes that a method makes.
    pub fn note(&mut self, facts: &Facts, look: &Look<'_>, units: &[Unit]) {
        if look.program.text(look.program.method(look.method).name).starts_with('<') {
            return;
        }
        for unit in units.iter().filter(|unit| unit.is_write() && unit.depth == 0) {
            let Some(field) = unit.owner.last() else { continue };
            let held = keys(&unit.owner, facts.locks.at(look.method, unit.instr));
            match self.common.get_mut(&field) {
                Some(common) => common.retain(|key| held.contains(key)),
                None => drop(self.common.insert(field, held)),
            }
        }
    }

    fn all_hold(&self, owner: &Place, held: &Held) -> bool {
        let common = owner.last().and_then(|field| self.common.get(&field));
        let keys = keys(owner, std::slice::from_ref(held));
        common.is_some_and(|common| keys.iter().any(|key| common.contains(key)))
    }
}

/// Locks in terms of the object that holds `owner`.
fn keys(owner: &Place, held: &[Held]) -> Vec<Key> {
    let mut found = Vec::new();
    for held in held {
        if let Base::Class(_) = held.place.base {
            found.push(Key::Absolute(held.place));
        }
        let Some(len) = owner.len().checked_sub(1) else { continue };
        let holder = owner.prefix(len);
        if held.place.starts_with(&holder) {
            let start = Place::new(Base::Parameter(0));
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
    /// Some lock is, but not everybody who changes the object takes it, as far as we see.
    Some,
    /// The object's own lock is, or one that everybody who changes the object takes.
    Sure,
}

pub fn guard(facts: &Facts, mutators: &Mutators, look: &Look<'_>, a: &Unit, b: &Unit) -> Guard {
    let first = facts.locks.at(look.method, a.instr);
    let second = facts.locks.at(look.method, b.instr);
    let across: Vec<&Held> = first.iter().filter(|held| second.contains(held)).collect();
    if across.is_empty() {
        return Guard::None;
    }
    let own = |held: &&Held| {
        // Concurrent collections do not lock themselves; wrappers and old classes do.
        let locks_itself = a.op.is_none() || is_its_own_lock(look.program, a);
        let owners = owners(look.program, &facts.types, &held.place);
        locks_itself && (owners.contains(&a.owner) && (a.op.is_none() || held.place == a.owner))
    };
    let is_sure = |held: &&Held| own(held) || mutators.all_hold(&a.owner, held);
    if across.iter().any(is_sure) { Guard::Sure } else { Guard::Some }
}

fn is_its_own_lock(program: &Program, unit: &Unit) -> bool {
    let field = unit.reads.first().or(unit.writes.first());
    field.is_some_and(|&field| {
        let name = program.class_name(program.field(field).class);
        name.starts_with("java/util/Collections$") || unit.legacy
    })
}

/// The reasons for and against a pair.
pub fn reasons(
    facts: &Facts,
    look: &Look<'_>,
    units: &[Unit],
    pair: &Pair,
    guard: Guard,
    dependence: &Dependence<'_>,
) -> Vec<Reason> {
    let (a, b) = (&units[pair.first], &units[pair.second]);
    let mut found = Vec::new();
    let mut note = |holds: bool, reason: Reason| {
        if holds {
            found.push(reason);
        }
    };
    note(!a.is_write() && b.is_write(), Reason::ReadThenWrite);
    note(!a.is_write() && !b.is_write(), Reason::ReadThenRead);
    note(a.is_write(), Reason::WriteFirst);
    note(branches_on(look, dependence, a.instr, b.instr), Reason::BranchOnResult);
    note(same_argument(look, a, b), Reason::SameArgument);
    note(is_data(look, a.instr, b.instr), Reason::DataDependence);
    let only =
        |kind| pair.uses.as_ref().is_some_and(|chain| chain.iter().all(|step| step.1 == kind));
    let let_go = is_let_go(facts, look, a, b);
    note(let_go, Reason::LockLetGo);
    note(only(Kind::Heap) && !let_go, Reason::OnlyHeap);
    note(pair.uses.is_some() && touch_apart(a, b), Reason::OtherFields);
    note(pair.uses.is_none(), Reason::OnlyTogether);
    note(pair.uses.is_none() && !a.is_write() && !b.is_write(), Reason::WrittenTogether);
    let is_static = matches!(a.owner.base, Base::Class(_));
    let is_this = is_this(look, &a.owner);
    note(is_static || is_this && !a.owner.is_empty(), Reason::FieldReceiver);
    note(!is_static && !is_this, Reason::LocalReceiver);
    note(a.depth.max(b.depth) > 0, Reason::Indirect);
    note(is_private(look, a) || is_private(look, b), Reason::OwnHelper);
    note(a.legacy, Reason::Legacy);
    note(a.legacy && !facts.is_for_threads(holder(look, a)), Reason::NoThreads);
    let called = look.program.text(look.program.method_ref(b.called).name);
    let checks = matches!(b.op, Some(Op::Conditional | Op::Compare)) || decides(called);
    note(checks, Reason::SecondDecides);
    note(guard == Guard::Some, Reason::LockHeld);
    note(is_checked_again(facts, look, units, pair, dependence), Reason::DoubleChecked);
    let name = look.program.text(look.program.method(look.method).name);
    note(name.starts_with('<'), Reason::Constructor);
    found
}

pub fn is_this(look: &Look<'_>, place: &Place) -> bool {
    place.base == Base::Parameter(0) && !look.program.method(look.method).is_static()
}

/// Whether a call is of a private method on `this`: part of the object's own work, not of its API.
fn is_private(look: &Look<'_>, unit: &Unit) -> bool {
    let program = look.program;
    let called = program.method_ref(unit.called);
    let own = is_this(look, &unit.owner) && unit.owner.is_empty();
    let method = program.resolve(called.class, called.name, called.descriptor);
    own && method.is_some_and(|method| program.method(method).access & access::PRIVATE != 0)
}

/// The class whose field holds the object, or whose method uses it.
fn holder(look: &Look<'_>, unit: &Unit) -> ClassId {
    let field = unit.owner.last().map(|field| look.program.field(field).class);
    field.unwrap_or(look.program.method(look.method).class)
}

/// Whether no field that one call writes is touched by the other.
fn touch_apart(a: &Unit, b: &Unit) -> bool {
    let touches = |unit: &Unit, field| unit.reads.contains(field) || unit.writes.contains(field);
    !a.writes.iter().any(|field| touches(b, field))
        && !b.writes.iter().any(|field| touches(a, field))
}

/// Whether a branch that decides about `b` asks for `a`'s result itself, or compares it.
fn branches_on(look: &Look<'_>, dependence: &Dependence<'_>, a: InstrId, b: InstrId) -> bool {
    let asks = |branch: InstrId| {
        let operands = &look.body.instr(branch).operands;
        operands.iter().any(|&operand| is_made_by(look, operand, a, 3))
    };
    dependence.branches(b).into_iter().any(asks)
}

/// Whether a value is an instruction's result, or computed from it in a few steps.
fn is_made_by(look: &Look<'_>, value: ValueId, by: InstrId, steps: u32) -> bool {
    look.body.reaching(value).into_iter().any(|value| match look.body.value(value) {
        ValueDef::Instr(at) if *at == by => true,
        ValueDef::Instr(at) if steps > 0 => {
            let instr = look.body.instr(*at);
            let passes = match instr.action {
                Action::Compute(_) | Action::Cast(_) => true,
                Action::Call(_, called) => is_unboxing(look.program, called),
                _ => false,
            };
            passes && instr.operands.iter().any(|&operand| is_made_by(look, operand, by, steps - 1))
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

fn is_data(look: &Look<'_>, a: InstrId, b: InstrId) -> bool {
    let operands = &look.body.instr(b).operands;
    operands.iter().any(|&operand| is_made_by(look, operand, a, 4))
}

/// Whether both calls are given the same thing, constants of code such as `true` aside.
fn same_argument(look: &Look<'_>, a: &Unit, b: &Unit) -> bool {
    let arguments = |unit: &Unit| {
        let operands = &look.body.instr(unit.instr).operands;
        let things = operands.iter().skip(1).map(|&value| thing(look, value));
        // The object itself, and who holds it, are the same for every call on it.
        things
            .filter(|thing| !thing.is_some_and(|thing| leads_to(thing, &a.owner)))
            .collect::<Vec<_>>()
    };
    let second = arguments(b);
    arguments(a).iter().any(|thing| thing.is_some() && second.contains(thing))
}

fn leads_to(thing: Thing, owner: &Place) -> bool {
    matches!(thing, Thing::Place(place) if owner.starts_with(&place) && !owner.is_empty())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thing {
    Place(Place),
    Constant(u16),
}

/// What an argument is, if that can be compared.
fn thing(look: &Look<'_>, value: ValueId) -> Option<Thing> {
    let mut value = value;
    // Boxes are made anew for every call; what they hold is the same.
    for _ in 0..2 {
        if let ValueDef::Instr(at) = look.body.value(value)
            && let Action::Call(_, called) = look.body.instr(*at).action
            && look.program.text(look.program.method_ref(called).name) == "valueOf"
            && let [inner] = look.body.instr(*at).operands[..]
        {
            value = inner;
        }
    }
    if let ValueDef::Instr(at) = look.body.value(value) {
        match look.body.instr(*at).action {
            Action::Literal(_) | Action::Null => return None,
            Action::Constant { index, .. } => return Some(Thing::Constant(index)),
            _ => {}
        }
    }
    Some(Thing::Place(look.place(value)))
}

/// Whether the lock of the object is held at each call, but taken anew for the second.
fn is_let_go(facts: &Facts, look: &Look<'_>, a: &Unit, b: &Unit) -> bool {
    let own = |at: InstrId| {
        let held = facts.locks.at(look.method, at).iter();
        held.filter(|held| owners(look.program, &facts.types, &held.place).contains(&a.owner))
    };
    own(a.instr).any(|first| {
        own(b.instr).any(|second| first.place == second.place && first.taken != second.taken)
    })
}

/// Whether the first call is made again under a lock that is still held at the second, or the second
/// is the first one made again under a lock.
fn is_checked_again(
    facts: &Facts,
    look: &Look<'_>,
    units: &[Unit],
    pair: &Pair,
    dependence: &Dependence<'_>,
) -> bool {
    let (a, b) = (&units[pair.first], &units[pair.second]);
    let held = facts.locks.at(look.method, b.instr);
    let first = facts.locks.at(look.method, a.instr);
    let taken = held.iter().any(|lock| !first.contains(lock));
    if a.called == b.called && !a.is_write() && taken && same_argument(look, a, b) {
        return true;
    }
    units.iter().any(|again| {
        again.called == a.called
            && again.owner == a.owner
            && again.instr != a.instr
            && dependence.dominates(again.instr, b.instr)
            && facts.locks.at(look.method, again.instr).iter().any(|lock| held.contains(lock))
            && !first.iter().any(|lock| held.contains(lock))
    })
}
