//! The call graph.
//!
//! Papers: Dean, Grove and Chambers, *Optimization of object-oriented programs using static class
//! hierarchy analysis*, ECOOP 1995; Bacon and Sweeney, *Fast static analysis of C++ virtual function
//! calls*, OOPSLA 1996 (only instantiated classes count). Deviations: the receiver's class is first
//! narrowed by what is known of the value; if no instantiated class is left (libraries are
//! instantiated by others) all count; a call with more than [`MAX_TARGETS`] targets has none, and is
//! counted; the JDK is a boundary. Bridge methods are methods like others: their bodies call the
//! real ones.
//!
//! Promise: none of completeness. Reflection, native methods and wide calls are counted, not followed.

use rustc_hash::FxHashMap;

use crate::body::{Action, Body, Invoke};
use crate::ids::{ClassId, InstrId, MethodId, RefId};
use crate::program::Program;
use crate::types::{ClassBound, Types};

/// A call with more targets is counted as wide and has none.
pub const MAX_TARGETS: usize = 24;
/// How many subclasses are searched for targets.
const MAX_DESCENDANTS: usize = 400;

#[derive(Clone, Copy, Debug)]
pub struct Site {
    pub instr: InstrId,
    pub invoke: Invoke,
    pub called: RefId,
    /// Its targets in [`Calls::targets`].
    targets: (u32, u32),
}

#[derive(Debug, Default)]
pub struct Calls {
    /// Calls and lambdas, by method, in order of instructions.
    sites: Vec<Vec<Site>>,
    arena: Vec<MethodId>,
    callers: Vec<Vec<MethodId>>,
    /// Calls that may go anywhere by reflection.
    pub reflective: u64,
    /// Calls with too many targets.
    pub wide: u64,
}

type TargetCache = FxHashMap<(RefId, Invoke, Option<ClassBound>), (u32, u32)>;

impl Calls {
    pub fn new(program: &Program, types: &Types) -> Self {
        let mut calls = Self {
            sites: vec![Vec::new(); program.methods.len()],
            callers: vec![Vec::new(); program.methods.len()],
            ..Self::default()
        };
        let mut known = TargetCache::default();
        for (id, _, body) in program.bodies() {
            for at in body.ids() {
                let (invoke, called) = match body.instr(at).action {
                    Action::Call(invoke, called) | Action::Lambda(invoke, called) => {
                        (invoke, called)
                    }
                    _ => continue,
                };
                calls.reflective += u64::from(is_reflective(program, called));
                let receiver = receiver(program, types, (id, body), at, invoke);
                let targets = *known
                    .entry((called, invoke, receiver))
                    .or_insert_with(|| calls.find(program, types, called, invoke, receiver));
                calls.sites[id.at()].push(Site { instr: at, invoke, called, targets });
                for &target in &calls.arena[targets.0 as usize..targets.1 as usize] {
                    let callers = &mut calls.callers[target.at()];
                    if callers.last() != Some(&id) {
                        callers.push(id);
                    }
                }
            }
        }
        calls
    }

    pub fn sites(&self, method: MethodId) -> &[Site] {
        &self.sites[method.at()]
    }

    pub fn targets(&self, site: &Site) -> &[MethodId] {
        &self.arena[site.targets.0 as usize..site.targets.1 as usize]
    }

    pub fn callers(&self, method: MethodId) -> &[MethodId] {
        &self.callers[method.at()]
    }

    /// Callees before callers, as far as there is such an order.
    pub fn bottom_up(&self, program: &Program) -> Vec<MethodId> {
        let mut order = Vec::new();
        let mut seen = vec![false; program.methods.len()];
        for root in program.method_ids() {
            let mut stack = vec![(root, 0, 0)];
            if std::mem::replace(&mut seen[root.at()], true) {
                continue;
            }
            while let Some((method, site, target)) = stack.last_mut() {
                let Some(found) = self.sites(*method).get(*site) else {
                    order.push(*method);
                    stack.pop();
                    continue;
                };
                match self.targets(found).get(*target) {
                    None => (*site, *target) = (*site + 1, 0),
                    Some(&next) => {
                        *target += 1;
                        if !std::mem::replace(&mut seen[next.at()], true) {
                            stack.push((next, 0, 0));
                        }
                    }
                }
            }
        }
        order
    }

    fn find(
        &mut self,
        program: &Program,
        types: &Types,
        called: RefId,
        invoke: Invoke,
        receiver: Option<ClassBound>,
    ) -> (u32, u32) {
        let start = self.arena.len() as u32;
        let method = program.method_ref(called);
        let (name, descriptor) = (method.name, method.descriptor);
        match (invoke, receiver) {
            (Invoke::Static | Invoke::Special, _) => {
                self.arena.extend(program.resolve(method.class, name, descriptor));
            }
            (Invoke::Virtual, Some(ClassBound { class, exact: true })) => {
                self.arena.extend(program.resolve(class, name, descriptor));
            }
            (Invoke::Virtual, receiver) => {
                let class = receiver.map_or(method.class, |typed| typed.class);
                match virtual_targets(program, types, class, (name, descriptor)) {
                    Some(targets) => self.arena.extend(targets),
                    None => self.wide += 1,
                }
            }
        }
        (start, self.arena.len() as u32)
    }
}

fn virtual_targets(
    program: &Program,
    types: &Types,
    class: ClassId,
    (name, descriptor): (crate::ids::Sym, crate::ids::Sym),
) -> Option<Vec<MethodId>> {
    let below = program.descendants(class, MAX_DESCENDANTS);
    if below.len() == MAX_DESCENDANTS {
        return None;
    }
    let targets = |only_instantiated: bool| {
        let mut found: Vec<MethodId> = below
            .iter()
            .filter(|&&class| program.class(class).is_ours())
            .filter(|&&class| !only_instantiated || types.instantiated[class.at()])
            .filter_map(|&class| program.resolve(class, name, descriptor))
            .filter(|&method| !program.method(method).is_abstract())
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    let mut found = targets(true);
    if found.is_empty() {
        found = targets(false);
    }
    (found.len() <= MAX_TARGETS).then_some(found)
}

/// What is known of the receiver beyond its type in the call.
fn receiver(
    program: &Program,
    types: &Types,
    (method, body): (MethodId, &Body),
    at: InstrId,
    invoke: Invoke,
) -> Option<ClassBound> {
    let value = *body.instr(at).operands.first().filter(|_| invoke == Invoke::Virtual)?;
    let Action::Call(_, called) = body.instr(at).action else { return None };
    let typed = types.value(program, method, body, value)?;
    program.is_subtype(typed.class, program.method_ref(called).class).then_some(typed)
}

fn is_reflective(program: &Program, called: RefId) -> bool {
    let called = program.method_ref(called);
    matches!(
        (program.class_name(called.class), program.text(called.name)),
        ("java/lang/Class", "forName" | "newInstance")
            | ("java/lang/ClassLoader", "loadClass")
            | ("java/lang/reflect/Method", "invoke")
            | ("java/lang/reflect/Constructor", "newInstance")
            | ("java/lang/invoke/MethodHandle", "invoke" | "invokeExact" | "invokeWithArguments")
            | ("java/util/ServiceLoader", "load")
    )
}
