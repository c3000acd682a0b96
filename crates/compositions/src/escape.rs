//! Objects that never leave the method that makes them.
//!
//! Paper: ICFinder, section 3, prunes what only one thread can reach, with an analysis off the
//! shelf. Ours analyses values, not the heap: an object escapes if it is stored into a field or
//! array, returned, thrown, captured, or passed to a method that lets it escape. Asking an object
//! of the JDK something does not make it escape, passing it to the JDK does.
//!
//! Promise: an object that is reported as local is local (except for reflection). Many local objects are not
//! recognised.

use untorn_codemodel::body::{Action, Body, Invoke, ValueDef};
use untorn_codemodel::calls::Calls;
use untorn_codemodel::ids::{InstrId, MethodId, ValueId};
use untorn_codemodel::program::Program;

/// Which parameters escape, by method.
#[derive(Debug)]
pub struct Escape {
    parameters: Vec<u64>,
}

/// Parameters after the 64th escape.
const TOLD_APART: u32 = 64;

impl Escape {
    /// `order` has callees before callers; what is not known yet escapes.
    pub fn new(program: &Program, calls: &Calls, order: &[MethodId]) -> Self {
        let mut escape = Self { parameters: vec![u64::MAX; program.methods.len()] };
        for &method in order {
            let Some(body) = &program.method(method).body else { continue };
            let escaping = escape.values(calls, method, body);
            let mut mask = 0;
            for (at, value) in body.values.iter().enumerate() {
                if let ValueDef::Parameter(number) = value
                    && escaping[at]
                    && *number < TOLD_APART
                {
                    mask |= 1 << number;
                }
            }
            escape.parameters[method.at()] = mask;
        }
        escape
    }

    fn lets_escape(&self, method: MethodId, parameter: usize) -> bool {
        parameter >= TOLD_APART as usize || self.parameters[method.at()] & (1 << parameter) != 0
    }

    /// Which values of a method escape.
    pub fn values(&self, calls: &Calls, method: MethodId, body: &Body) -> Vec<bool> {
        let mut escaping = vec![false; body.values.len()];
        let mut open: Vec<ValueId> = Vec::new();
        for at in body.ids() {
            let operands = &body.instr(at).operands;
            match body.instr(at).action {
                Action::Put(_) | Action::ArrayStore(_) => open.extend(operands.last()),
                Action::Return | Action::Throw | Action::Lambda(..) | Action::Dynamic => {
                    open.extend(operands);
                }
                Action::Call(..) => {
                    let passed = operands.iter().enumerate();
                    let escapes = |number| self.passed(calls, method, at, number);
                    open.extend(
                        passed.filter(|&(number, _)| escapes(number)).map(|(_, value)| value),
                    );
                }
                _ => {}
            }
        }
        while let Some(value) = open.pop() {
            if std::mem::replace(&mut escaping[value.at()], true) {
                continue;
            }
            match body.value(value) {
                ValueDef::Merge(_, sources) => open.extend(sources),
                ValueDef::Instr(at) if matches!(body.instr(*at).action, Action::Cast(_)) => {
                    open.extend(&body.instr(*at).operands);
                }
                _ => {}
            }
        }
        escaping
    }

    fn passed(&self, calls: &Calls, method: MethodId, at: InstrId, number: usize) -> bool {
        let sites = calls.sites(method);
        let Ok(found) = sites.binary_search_by_key(&at, |site| site.instr) else { return true };
        let site = &sites[found];
        let targets = calls.targets(site);
        if targets.is_empty() {
            return number > 0 || site.invoke == Invoke::Static;
        }
        targets.iter().any(|&target| self.lets_escape(target, number))
    }
}
