//! Which locks are held where.
//!
//! Monitors, `synchronized` methods, `java.util.concurrent.locks`, methods that only lock or only
//! unlock (`lockInternal()`), and locks that all callers of a method hold. Where ways meet, what
//! they have in common from the outside in counts. `tryLock` counts as taken: a way on which it
//! failed hardly ever continues to the calls in question.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use untorn_bytecode::access;

use crate::boundary::LOCK;
use untorn_codemodel::access_paths::{AccessPath, Base, Getters, MethodContext};
use untorn_codemodel::body::Action;
use untorn_codemodel::calls::{Calls, Site};
use untorn_codemodel::ids::{ClassId, InstrId, MethodId, Node};
use untorn_codemodel::program::Program;
use untorn_codemodel::types::Types;

/// A lock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeldLock {
    pub place: AccessPath,
    /// What took it; none if it was held when the method began.
    pub taken: Option<InstrId>,
}

pub type Stack = SmallVec<[HeldLock; 2]>;

/// The locks held at each instruction of a method.
#[derive(Clone, Debug, Default)]
struct MethodLocks {
    /// Different stacks; the first is empty.
    stacks: Vec<Stack>,
    /// By instruction, which of them.
    at: Vec<u32>,
    /// What is held at all returns, beyond what was held at the beginning.
    kept: Vec<AccessPath>,
    /// What is released without having been taken.
    released: Vec<AccessPath>,
}

#[derive(Debug, Default)]
pub struct Locks {
    /// None for methods that hold no lock anywhere.
    methods: Vec<Option<Box<MethodLocks>>>,
    wrappers: FxHashMap<MethodId, Wrapper>,
}

/// A method that takes or releases locks of its parameters for its caller.
#[derive(Clone, Debug, Default)]
struct Wrapper {
    kept: Vec<AccessPath>,
    released: Vec<AccessPath>,
}

/// Locks are handed down so many calls deep.
const ROUNDS: u32 = 3;

impl Locks {
    pub fn new(program: &Program, calls: &Calls, getters: &Getters) -> Self {
        let mut locks = Self { methods: vec![None; program.methods.len()], ..Self::default() };
        let lock = program.find_class(LOCK);
        for (method, _, body) in program.bodies() {
            let context = MethodContext { program, calls, getters, method, body };
            if let Some(found) = locks.compute(&context, lock, &[]) {
                let wrapper =
                    Wrapper { kept: found.kept.clone(), released: found.released.clone() };
                if !wrapper.kept.is_empty() || !wrapper.released.is_empty() {
                    locks.wrappers.insert(method, wrapper);
                }
                locks.methods[method.at()] = Some(Box::new(found));
            }
        }
        locks.use_wrappers(program, calls, getters, lock);
        for _ in 0..ROUNDS {
            locks.hand_down(program, calls, getters, lock);
        }
        locks
    }

    /// What is held when an instruction runs, the outermost first.
    pub fn at(&self, method: MethodId, instr: InstrId) -> &[HeldLock] {
        match &self.methods[method.at()] {
            Some(found) => &found.stacks[found.at[instr.at()] as usize],
            None => &[],
        }
    }

    /// Looks at the callers of wrappers again.
    fn use_wrappers(
        &mut self,
        program: &Program,
        calls: &Calls,
        getters: &Getters,
        lock: Option<ClassId>,
    ) {
        let mut again: Vec<MethodId> =
            self.wrappers.keys().flat_map(|&wrapper| calls.callers(wrapper)).copied().collect();
        again.sort_unstable();
        again.dedup();
        for method in again {
            if let Some(body) = &program.method(method).body {
                let context = MethodContext { program, calls, getters, method, body };
                let found = self.compute(&context, lock, &[]);
                self.methods[method.at()] = found.map(Box::new);
            }
        }
    }

    /// Gives methods whose callers are all known the locks that all of these hold.
    fn hand_down(
        &mut self,
        program: &Program,
        calls: &Calls,
        getters: &Getters,
        lock: Option<ClassId>,
    ) {
        let mut given: FxHashMap<MethodId, Option<Vec<AccessPath>>> = FxHashMap::default();
        for (caller, _, body) in program.bodies() {
            let context = MethodContext { program, calls, getters, method: caller, body };
            for site in calls.sites(caller) {
                for &target in calls.targets(site).iter().filter(|&&target| target != caller) {
                    if program.method(target).access & access::PUBLIC != 0 {
                        continue;
                    }
                    let held = handed(&context, site, self.at(caller, site.instr));
                    match given.entry(target).or_insert(None) {
                        Some(known) => known.retain(|place| held.contains(place)),
                        first => *first = Some(held),
                    }
                }
            }
        }
        for (method, places) in given {
            let places = places.unwrap_or_default();
            let body = program.method(method).body.as_ref();
            if let Some(body) = body.filter(|_| !places.is_empty()) {
                let context = MethodContext { program, calls, getters, method, body };
                let found = self.compute(&context, lock, &places);
                self.methods[method.at()] = found.map(Box::new);
            }
        }
    }

    /// Follows lock stacks through a body. `None` if nothing is ever held or released.
    fn compute(
        &self,
        context: &MethodContext<'_>,
        lock: Option<ClassId>,
        given: &[AccessPath],
    ) -> Option<MethodLocks> {
        let method = context.program.method(context.method);
        let mut start: Stack = given.iter().map(|&place| HeldLock { place, taken: None }).collect();
        if method.is_synchronized() {
            let base =
                if method.is_static() { Base::Class(method.class) } else { Base::Parameter(0) };
            start.push(HeldLock { place: AccessPath::new(base), taken: None });
        }
        let events = self.events(context, lock);
        if start.is_empty() && events.is_empty() {
            return None;
        }
        let mut found = MethodLocks {
            stacks: vec![Stack::new()],
            at: vec![0; context.body.instrs.len()],
            ..MethodLocks::default()
        };
        let entries = settle(context, &start, &events, &mut found.released);
        for (number, block) in context.body.blocks.iter().enumerate() {
            let Some(mut stack) = entries[number].clone() else { continue };
            for at in block.first..block.end {
                found.at[at as usize] = found.number(&stack);
                apply(&events, InstrId(at), &mut stack, None);
            }
        }
        found.kept = kept(context, &found, start.len());
        found.released.retain(|place| !matches!(place.base, Base::Value(_)));
        Some(found)
    }

    /// Which instructions take and release what.
    fn events(&self, context: &MethodContext<'_>, lock: Option<ClassId>) -> Events {
        let mut events = Events::default();
        for at in context.body.ids() {
            let instr = context.body.instr(at);
            let mut add = |event| events.entry(at).or_default().push(event);
            match instr.action {
                Action::Enter => add(Event::Take(context.access_path(instr.operands[0]))),
                Action::Exit => add(Event::Release(context.access_path(instr.operands[0]))),
                Action::Call(_, called) => {
                    let called = context.program.method_ref(called);
                    let is_lock =
                        lock.is_some_and(|lock| context.program.is_subtype(called.class, lock));
                    match (is_lock, context.program.text(called.name), instr.operands.first()) {
                        (true, "lock" | "lockInterruptibly" | "tryLock", Some(&on)) => {
                            add(Event::Take(context.access_path(on)));
                        }
                        (true, "unlock", Some(&on)) => add(Event::Release(context.access_path(on))),
                        _ => self.wrapped(context, at, &mut add),
                    }
                }
                _ => {}
            }
        }
        events
    }

    fn wrapped(&self, context: &MethodContext<'_>, at: InstrId, add: &mut impl FnMut(Event)) {
        let Some(&[target]) = context.site(at).map(|site| context.calls.targets(site)) else {
            return;
        };
        let Some(wrapper) = self.wrappers.get(&target) else { return };
        let here = |place: &AccessPath| match place.base {
            Base::Parameter(number) => {
                let operand = context.body.instr(at).operands.get(number as usize)?;
                place.after(&context.access_path(*operand))
            }
            _ => Some(*place),
        };
        wrapper.released.iter().filter_map(here).for_each(|place| add(Event::Release(place)));
        wrapper.kept.iter().filter_map(here).for_each(|place| add(Event::Take(place)));
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Take(AccessPath),
    Release(AccessPath),
}

type Events = FxHashMap<InstrId, SmallVec<[Event; 1]>>;

fn apply(events: &Events, at: InstrId, stack: &mut Stack, released: Option<&mut Vec<AccessPath>>) {
    let Some(events) = events.get(&at) else { return };
    let mut lost = Vec::new();
    for event in events {
        match *event {
            Event::Take(place) => stack.push(HeldLock { place, taken: Some(at) }),
            Event::Release(place) => match stack.iter().rposition(|held| held.place == place) {
                Some(found) => drop(stack.remove(found)),
                None => lost.push(place),
            },
        }
    }
    if let Some(released) = released {
        released.extend(lost);
    }
}

/// What is held when blocks begin.
fn settle(
    context: &MethodContext<'_>,
    start: &Stack,
    events: &Events,
    released: &mut Vec<AccessPath>,
) -> Vec<Option<Stack>> {
    let body = context.body;
    let mut entries: Vec<Option<Stack>> = vec![None; body.blocks.len()];
    entries[0] = Some(start.clone());
    let mut open = vec![Node(0)];
    while let Some(node) = open.pop() {
        let block = &body.blocks[node.at()];
        let Some(entry) = entries[node.at()].clone() else { continue };
        let mut stack = entry.clone();
        for at in block.first..block.end {
            apply(events, InstrId(at), &mut stack, Some(released));
        }
        let thrown = common(&entry, &stack);
        let normal = block.succs.iter().map(|&to| (to, &stack));
        let caught = block.catches.iter().map(|catch| (catch.handler, &thrown));
        for (to, state) in normal.chain(caught) {
            let merged = match &entries[to.at()] {
                None => state.clone(),
                Some(before) => common(before, state),
            };
            if entries[to.at()].as_ref() != Some(&merged) {
                entries[to.at()] = Some(merged);
                open.push(to);
            }
        }
    }
    released.sort_unstable();
    released.dedup();
    entries
}

/// What two stacks have in common from the outside in.
fn common(a: &Stack, b: &Stack) -> Stack {
    a.iter().zip(b).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect()
}

impl MethodLocks {
    fn number(&mut self, stack: &Stack) -> u32 {
        let known = self.stacks.iter().rposition(|other| other == stack);
        known.unwrap_or_else(|| {
            self.stacks.push(stack.clone());
            self.stacks.len() - 1
        }) as u32
    }
}

fn kept(context: &MethodContext<'_>, found: &MethodLocks, before: usize) -> Vec<AccessPath> {
    let mut kept: Option<Vec<AccessPath>> = None;
    for at in context.body.ids() {
        if context.body.instr(at).action != Action::Return {
            continue;
        }
        let stack = &found.stacks[found.at[at.at()] as usize];
        let held: Vec<AccessPath> = stack.iter().skip(before).map(|held| held.place).collect();
        match &mut kept {
            Some(kept) => kept.retain(|place| held.contains(place)),
            None => kept = Some(held),
        }
    }
    let mut kept = kept.unwrap_or_default();
    kept.retain(|place| !matches!(place.base, Base::Value(_)));
    kept
}

/// The locks held at a call, in terms of the callee.
fn handed(context: &MethodContext<'_>, site: &Site, held: &[HeldLock]) -> Vec<AccessPath> {
    let operands = &context.body.instr(site.instr).operands;
    let mut found = Vec::new();
    for held in held {
        if let Base::Class(_) = held.place.base {
            found.push(held.place);
        }
        for (number, &operand) in operands.iter().enumerate() {
            let actual = context.access_path(operand);
            if held.place.starts_with(&actual) {
                let start = AccessPath::new(Base::Parameter(number as u32));
                let rest = &held.place.path()[actual.len()..];
                found.extend(rest.iter().try_fold(start, |place, &field| place.field(field)));
            }
        }
    }
    found
}

/// The objects that a lock protects: of a lock that only serves as one (`this.lock`, `this.map`),
/// the object that owns it, and itself; of any other object, itself.
pub fn owners(program: &Program, types: &Types, lock: &AccessPath) -> SmallVec<[AccessPath; 2]> {
    let mut found = SmallVec::from_slice(&[*lock]);
    if let Some(field) = lock.last() {
        let class = types.field(program, field).map(|typed| typed.class);
        if class.is_none_or(|class| !program.class(class).is_ours()) {
            found.push(lock.prefix(lock.len() - 1));
        }
    }
    found
}
