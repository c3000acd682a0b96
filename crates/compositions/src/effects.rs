//! What calls do to fields, as access paths from parameters, `this` and static fields.
//!
//! Paper: ICFinder, section 4 (transitive side effects). Deviations: an effect keeps its root and
//! the way to the field (at most three fields), so that "which object" can be asked at the call; it
//! keeps which objects on the way were locked when it happened; the content of collections, arrays
//! and texts of the JDK counts as the field that holds them; the thread-safe classes of the
//! boundary's table have a state of their own.
//!
//! Promise: none of completeness. Longer ways, unknown roots and more than [`MAX_EFFECTS`] effects of one
//! method are left out; wide and reflective calls have none.

use rustc_hash::FxHashSet;
use untorn_bytecode::access;

use crate::boundary::{Boundary, Op, op, plain_op};
use crate::locks::{HeldLock, Locks, owners};
use untorn_bytecode::descriptor::Signature;
use untorn_codemodel::access_paths::{AccessPath, Base, Getters, MethodContext};
use untorn_codemodel::body::{Action, Body, Invoke};
use untorn_codemodel::calls::{Calls, Site};
use untorn_codemodel::ids::{ClassId, FieldId, InstrId, MethodId, ValueId};
use untorn_codemodel::program::Program;
use untorn_codemodel::types::Types;

/// As many effects of a method are kept.
pub const MAX_EFFECTS: usize = 96;

/// A field is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Effect {
    /// The field: the last one of the way.
    pub place: AccessPath,
    pub write: bool,
    /// Bit `n`: the object after `n` fields of the way is locked.
    pub locked: u8,
}

impl Effect {
    pub const fn is_locked(&self, owner: usize) -> bool {
        self.locked & (1 << owner) != 0
    }
}

/// Everything that is known of a program when effects are asked for.
#[derive(Debug)]
pub struct Facts {
    pub types: Types,
    pub boundary: Boundary,
    pub calls: Calls,
    pub getters: Getters,
    pub locks: Locks,
    /// By row of the boundary's table, the field that represents the state.
    states: Vec<(&'static str, FieldId)>,
    /// Classes with signs of being made for threads.
    for_threads: Vec<bool>,
}

impl Facts {
    pub fn new(program: &mut Program) -> Self {
        let states = Boundary::classes().map(|class| (class, program.state_of(class))).collect();
        let types = Types::new(program);
        let boundary = Boundary::new(program);
        let calls = Calls::new(program, &types);
        let getters = Getters::new(program, &calls);
        let locks = Locks::new(program, &calls, &getters);
        let for_threads = for_threads(program, &types, &boundary);
        Self { types, boundary, calls, getters, locks, states, for_threads }
    }

    /// Whether a class locks something, has volatile or concurrent fields, or is a thread.
    pub fn is_for_threads(&self, class: ClassId) -> bool {
        self.for_threads.get(class.at()).copied().unwrap_or(false)
    }

    pub fn context<'a>(
        &'a self,
        program: &'a Program,
        method: MethodId,
    ) -> Option<MethodContext<'a>> {
        MethodContext::new(program, &self.calls, &self.getters, method)
    }

    fn state(&self, class: &str) -> Option<FieldId> {
        self.states.iter().find(|row| row.0 == class).map(|row| row.1)
    }

    /// What a call does to a thread-safe object of the JDK, if that is what it is asked of.
    pub fn boundary_op(&self, context: &MethodContext<'_>, site: &Site) -> Option<BoundaryCall> {
        if site.invoke == Invoke::Static {
            return None;
        }
        let program = context.program;
        let called = program.method_ref(site.called);
        if !self.calls.targets(site).is_empty() && program.class(called.class).is_ours() {
            return None;
        }
        let &receiver = context.body.instr(site.instr).operands.first()?;
        let inside = (context.method, context.body);
        let value = || self.boundary.of_value(program, &self.types, inside, receiver);
        // A getter's result is what the field holds.
        let held = context.access_path(receiver).last();
        let entry = held
            .and_then(|field| self.boundary.of_field(program, &self.types, field))
            .or_else(value)?;
        let parameters = Signature::parse(program.text(called.descriptor))?.parameters.len();
        let op = op(entry.family, program.text(called.name), parameters)?;
        let state = self.state(entry.class)?;
        Some(BoundaryCall { receiver, op, state })
    }
}

fn for_threads(program: &Program, types: &Types, boundary: &Boundary) -> Vec<bool> {
    let mut found = vec![false; program.classes.len()];
    for method in &program.methods {
        let enters = |body: &Body| body.instrs.iter().any(|instr| instr.action == Action::Enter);
        found[method.class.at()] |=
            method.is_synchronized() || method.body.as_ref().is_some_and(enters);
    }
    for (at, field) in program.fields.iter().enumerate() {
        let safe = boundary.of_field(program, types, FieldId::new(at));
        let concurrent = safe.is_some_and(|entry| !entry.legacy);
        found[field.class.at()] |= concurrent || field.access & access::VOLATILE != 0;
    }
    for (at, found) in found.iter_mut().enumerate() {
        let runs = |&ancestor: &ClassId| {
            matches!(program.class_name(ancestor), "java/lang/Runnable" | "java/lang/Thread")
        };
        *found |= program.ancestors(ClassId::new(at)).iter().any(runs);
    }
    found
}

/// A call of a thread-safe object of the JDK.
#[derive(Clone, Copy, Debug)]
pub struct BoundaryCall {
    pub receiver: ValueId,
    pub op: Op,
    pub state: FieldId,
}

/// The effects of all methods.
#[derive(Debug)]
pub struct Effects {
    methods: Vec<Vec<Effect>>,
}

impl Effects {
    pub fn new(program: &Program, facts: &Facts) -> Self {
        let mut effects = Self { methods: vec![Vec::new(); program.methods.len()] };
        let order = facts.calls.bottom_up(program);
        let mut queued = vec![true; program.methods.len()];
        let mut open: std::collections::VecDeque<MethodId> = order.into();
        while let Some(method) = open.pop_front() {
            queued[method.at()] = false;
            let Some(context) = facts.context(program, method) else { continue };
            let found = effects.summary(facts, &context);
            if found.len() > effects.methods[method.at()].len() {
                effects.methods[method.at()] = found;
                for &caller in facts.calls.callers(method) {
                    if !std::mem::replace(&mut queued[caller.at()], true) {
                        open.push_back(caller);
                    }
                }
            }
        }
        effects
    }

    pub fn of(&self, method: MethodId) -> &[Effect] {
        &self.methods[method.at()]
    }

    /// The effects of a method whose access paths its callers can express.
    fn summary(&self, facts: &Facts, context: &MethodContext<'_>) -> Vec<Effect> {
        let mut found: FxHashSet<Effect> = FxHashSet::default();
        let mut list = Vec::new();
        let mut add = |effect: Effect| {
            let known = matches!(effect.place.base, Base::Parameter(_) | Base::Class(_));
            if known && list.len() < MAX_EFFECTS && found.insert(effect) {
                list.push(effect);
            }
        };
        direct(facts, context, &mut add);
        for site in facts.calls.sites(context.method) {
            for called in self.of_call(facts, context, site) {
                add(called.effect);
            }
        }
        list
    }

    /// What a call does, in terms of the method that makes it.
    pub fn of_call(
        &self,
        facts: &Facts,
        context: &MethodContext<'_>,
        site: &Site,
    ) -> Vec<CallEffect> {
        let held = facts.locks.at(context.method, site.instr);
        let mut found = Vec::new();
        if let Some(call) = facts.boundary_op(context, site) {
            found.extend(boundary_effects(facts, context, &call, held));
            return found;
        }
        let operands = &context.body.instr(site.instr).operands;
        let actuals: Vec<AccessPath> =
            operands.iter().map(|&value| context.access_path(value)).collect();
        let targets = facts.calls.targets(site);
        for &target in targets {
            for effect in self.of(target) {
                let Some((place, known)) = translate(&effect.place, &actuals) else { continue };
                let locked = effect.locked << known | locked(facts, context, &place, held);
                let effect = Effect { place, write: effect.write, locked };
                found.push(CallEffect { effect, known });
            }
        }
        if site.invoke != Invoke::Static {
            if targets.is_empty() {
                found.extend(content(facts, context, site, &actuals, held));
            }
            found.extend(asked(facts, context, &actuals, held));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// An effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallEffect {
    pub effect: Effect,
    /// How many fields of the way the caller has gone itself: the object after these is the one
    /// that it passes.
    pub known: usize,
}

/// A place of a callee in terms of its caller, and how far the caller's own part of it goes.
fn translate(place: &AccessPath, actuals: &[AccessPath]) -> Option<(AccessPath, usize)> {
    match place.base {
        Base::Parameter(number) => {
            let actual = actuals.get(number as usize)?;
            Some((place.after(actual)?, actual.len()))
        }
        _ => Some((*place, 0)),
    }
}

fn boundary_effects(
    facts: &Facts,
    context: &MethodContext<'_>,
    call: &BoundaryCall,
    held: &[HeldLock],
) -> Vec<CallEffect> {
    let actual = context.access_path(call.receiver);
    let Some(place) = actual.field(call.state) else { return Vec::new() };
    let locked = locked(facts, context, &place, held) | 1 << actual.len();
    let effect =
        |write| CallEffect { effect: Effect { place, write, locked }, known: actual.len() };
    let reads = call.op.reads().then(|| effect(false));
    let writes = call.op.writes().then(|| effect(true));
    reads.into_iter().chain(writes).collect()
}

/// A call of an ordinary object of the JDK that a field holds reads or writes the field's content.
fn content(
    facts: &Facts,
    context: &MethodContext<'_>,
    site: &Site,
    actuals: &[AccessPath],
    held: &[HeldLock],
) -> Option<CallEffect> {
    let called = context.program.method_ref(site.called);
    let receiver = actuals.first().filter(|place| !place.is_empty())?;
    if context.program.class(called.class).is_ours() || !matters(context.program, receiver.last()?)
    {
        return None;
    }
    let parameters = Signature::parse(context.program.text(called.descriptor))?.parameters.len();
    let write = plain_op(context.program.text(called.name), parameters).writes();
    let locked = locked(facts, context, receiver, held);
    Some(CallEffect { effect: Effect { place: *receiver, write, locked }, known: receiver.len() })
}

/// Asking an object that a field holds reads the field, which counts where its owner is locked.
fn asked(
    facts: &Facts,
    context: &MethodContext<'_>,
    actuals: &[AccessPath],
    held: &[HeldLock],
) -> Option<CallEffect> {
    let place = *actuals.first().filter(|place| !place.is_empty())?;
    let locked = locked(facts, context, &place, held);
    let counts = locked != 0 && matters(context.program, place.last()?);
    counts.then_some(CallEffect {
        effect: Effect { place, write: false, locked },
        known: place.len(),
    })
}

/// Which objects on the way are locked.
fn locked(facts: &Facts, context: &MethodContext<'_>, place: &AccessPath, held: &[HeldLock]) -> u8 {
    let mut bits = 0;
    for held in held {
        for owner in owners(context.program, &facts.types, &held.place) {
            if place.starts_with(&owner) && owner.len() < place.len() {
                bits |= 1 << owner.len();
            }
        }
    }
    bits
}

/// The accesses of a method itself.
pub fn direct(facts: &Facts, context: &MethodContext<'_>, add: &mut impl FnMut(Effect)) {
    for at in context.body.ids() {
        if let Some((place, write)) = accessed(context, at)
            && place.last().is_some_and(|field| matters(context.program, field))
        {
            let locked = locked(facts, context, &place, facts.locks.at(context.method, at));
            add(Effect { place, write, locked });
        }
    }
}

/// The field that an instruction reads or writes, or whose array it does.
fn accessed(context: &MethodContext<'_>, at: InstrId) -> Option<(AccessPath, bool)> {
    let instr = context.body.instr(at);
    let of = |field: FieldId, object: Option<&ValueId>| {
        let owner = match object {
            Some(&object) => context.access_path(object),
            None => AccessPath::new(Base::Class(context.program.field(field).class)),
        };
        owner.field(field)
    };
    match instr.action {
        Action::Get(field) => Some((of(field, instr.operands.first())?, false)),
        Action::Put(field) => {
            let object = if instr.operands.len() > 1 { instr.operands.first() } else { None };
            Some((of(field, object)?, true))
        }
        Action::ArrayLoad(_) | Action::ArrayStore(_) => {
            let array = context.access_path(*instr.operands.first()?);
            (!array.is_empty()).then_some((array, matches!(instr.action, Action::ArrayStore(_))))
        }
        _ => None,
    }
}

/// Fields that cannot change, loggers, and fields that compilers add are no state.
pub fn matters(program: &Program, field: FieldId) -> bool {
    let field = program.field(field);
    if field.is_state {
        return true;
    }
    let descriptor = program.text(field.descriptor);
    let constant =
        matches!(descriptor.as_bytes(), [_] | b"Ljava/lang/String;" | b"Ljava/lang/Class;");
    let is_final = field.access & access::FINAL != 0;
    let synthetic = field.access & access::SYNTHETIC != 0;
    !(is_final && constant || synthetic || is_logger(descriptor))
}

/// Whether a descriptor or class name is one of a logger.
pub fn is_logger(name: &str) -> bool {
    let base = name.trim_end_matches(';').rsplit(['/', '$']).next().unwrap_or(name);
    base.ends_with("Logger")
        || base == "Log" && name.contains("logging/")
        || base.ends_with("StringManager")
        || base == "PrintStream"
        || base == "ResourceBundle"
}
