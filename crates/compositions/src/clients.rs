//! Client methods and their set calls. A set call is a call that touches one atomic set of one object.
//!
//! Paper: ICFinder, section 4. Deviations: a set call knows which object it touches (its owner, as an
//! access path), so that calls on two objects of one class are not taken for a composition; and a call
//! counts only if it is atomic by itself: it locks what it touches, or reads a single field. A call
//! within a `synchronized` block on the owner counts as well, even if the callee locks nothing:
//! then the block is the atomic unit of the paper's Listing 7.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::boundary::Op;
use crate::effects::{CallEffect, Effects, Facts, is_logger};
use crate::escape::Escape;
use crate::sets::{SetId, Sets};
use untorn_codemodel::access_paths::{AccessPath, Base, MethodContext};
use untorn_codemodel::body::{Action, Invoke, ValueDef};
use untorn_codemodel::calls::Site;
use untorn_codemodel::ids::{ClassId, FieldId, InstrId, RefId};

/// A call that touches an atomic set.
#[derive(Clone, Debug)]
pub struct SetCall {
    pub instr: InstrId,
    pub called: RefId,
    /// The object that holds the set.
    pub owner: AccessPath,
    pub set: SetId,
    pub reads: SmallVec<[FieldId; 4]>,
    pub writes: SmallVec<[FieldId; 4]>,
    /// The entry of the boundary's table, for a call of the JDK.
    pub op: Option<Op>,
    pub legacy: bool,
    /// How many fields lead from the passed object to the owner.
    pub depth: usize,
}

impl SetCall {
    pub fn is_write(&self) -> bool {
        !self.writes.is_empty()
    }
}

/// More set calls of one method are not examined.
const MAX_SET_CALLS: usize = 400;

/// The set calls of a method.
pub fn set_calls(
    facts: &Facts,
    effects: &Effects,
    sets: &Sets,
    escape: &Escape,
    context: &MethodContext<'_>,
) -> Vec<SetCall> {
    let mut found = Vec::new();
    let mut escaping: Option<Vec<bool>> = None;
    for site in facts.calls.sites(context.method) {
        if !is_api(context, site) {
            continue;
        }
        for set_call in of_site(facts, effects, sets, context, site) {
            let is_fresh = is_fresh(context, &set_call.owner);
            let stays = is_fresh && {
                let escaping = escaping.get_or_insert_with(|| {
                    escape.values(&facts.calls, context.method, context.body)
                });
                matches!(set_call.owner.base, Base::Value(value) if !escaping[value.at()])
            };
            if !stays && found.len() < MAX_SET_CALLS {
                found.push(set_call);
            }
        }
    }
    found
}

/// Whether the method itself makes the object that the way begins with.
fn is_fresh(context: &MethodContext<'_>, owner: &AccessPath) -> bool {
    let Base::Value(value) = owner.base else { return false };
    matches!(context.body.value(value),
        ValueDef::Instr(at) if matches!(context.body.instr(*at).action, Action::New(_)))
}

/// Constructors, loggers, checks of assertions and lambdas are no API.
fn is_api(context: &MethodContext<'_>, site: &Site) -> bool {
    let program = context.program;
    let called = program.method_ref(site.called);
    let is_call = matches!(context.body.instr(site.instr).action, Action::Call(..));
    let is_super =
        site.invoke == Invoke::Special && called.class != program.method(context.method).class;
    is_call
        && !is_super
        && !program.text(called.name).starts_with('<')
        && !program.text(called.name).starts_with("assert")
        && !is_logger(program.class_name(called.class))
}

#[derive(Debug, Default)]
struct FieldAccesses {
    reads: SmallVec<[FieldId; 4]>,
    writes: SmallVec<[FieldId; 4]>,
    /// Whether some access is not locked.
    unlocked: bool,
    legacy: bool,
    depth: usize,
}

fn of_site(
    facts: &Facts,
    effects: &Effects,
    sets: &Sets,
    context: &MethodContext<'_>,
    site: &Site,
) -> Vec<SetCall> {
    let mut touched: FxHashMap<(AccessPath, SetId), FieldAccesses> = FxHashMap::default();
    for called in effects.of_call(facts, context, site) {
        let place = called.effect.place;
        for (at, &field) in place.path().iter().enumerate() {
            let locked = called.effect.is_locked(at);
            // Objects other than the passed one count only with their lock.
            let other = place
                .last()
                .is_some_and(|last| context.program.field(last).is_state && at + 1 < place.len());
            if other
                || at != called.known && !locked
                || !is_library(facts, context, site, &called, at)
            {
                continue;
            }
            let owner = place.prefix(at);
            let class = owner_class(facts, context, &owner);
            let Some(set) = sets.lookup(context.program, class, field) else { continue };
            let touch = touched.entry((owner, set)).or_default();
            // What is written deeper down is this object's state unless another lock is over it.
            let inside = called.effect.locked >> (at + 1) != 0;
            let is_write = called.effect.write && (at + 1 == place.len() || !inside);
            let list = if is_write { &mut touch.writes } else { &mut touch.reads };
            if !list.contains(&field) {
                list.push(field);
            }
            touch.unlocked |= !locked;
            let home = context.program.field(field);
            let entry = facts.boundary.entry(home.class).filter(|_| home.is_state);
            touch.legacy |= entry.is_some_and(|entry| entry.legacy);
            touch.depth = at.saturating_sub(called.known);
        }
    }
    let boundary = facts.boundary_op(context, site);
    let mut found: Vec<SetCall> = touched
        .into_iter()
        .filter(|(_, touch)| !touch.unlocked || touch.writes.is_empty() && touch.reads.len() == 1)
        .map(|((owner, set), touch)| SetCall {
            instr: site.instr,
            called: site.called,
            owner,
            set,
            reads: touch.reads,
            writes: touch.writes,
            op: boundary.map(|call| call.op),
            legacy: touch.legacy,
            depth: touch.depth,
        })
        .collect();
    found.sort_by_key(|set_call| (set_call.owner, set_call.set));
    found
}

/// Whether the called method speaks for the object after `at` fields: it is the one that is passed
/// (or that the caller knows itself), or a field of it that the method's class declares. What lies
/// deeper is accessed incidentally, and a static field only by methods of its own class.
fn is_library(
    facts: &Facts,
    context: &MethodContext<'_>,
    site: &Site,
    called: &CallEffect,
    at: usize,
) -> bool {
    let place = &called.effect.place;
    let program = context.program;
    let speaks_for = |class: ClassId| {
        let method = program.method_ref(site.called);
        let targets = facts.calls.targets(site).iter().map(|&target| program.method(target).class);
        targets.chain([method.class]).any(|own| program.is_subtype(own, class))
    };
    match (place.base, at.checked_sub(called.known)) {
        (Base::Class(class), Some(0)) if called.known == 0 => speaks_for(class),
        (_, None | Some(0)) => true,
        (_, Some(1)) => speaks_for(program.field(place.path()[at - 1]).class),
        _ => false,
    }
}

/// The class of the object at a place.
pub fn owner_class(
    facts: &Facts,
    context: &MethodContext<'_>,
    owner: &AccessPath,
) -> Option<ClassId> {
    if let Some(field) = owner.last() {
        return facts.types.field(context.program, field).map(|typed| typed.class);
    }
    match owner.base {
        Base::Parameter(number) => facts.types.parameter(context.method, number),
        Base::Class(class) => Some(class),
        Base::Value(value) => {
            let typed = facts.types.value(context.program, context.method, context.body, value);
            typed.map(|typed| typed.class)
        }
    }
}
