//! What the runs show of the method and the variable that alone are looked for, torn or not.

use std::collections::{BTreeMap, BTreeSet};

use untorn_trace::{Access, LabelId, Op, ThreadId, VarId};

use super::Focus;
use crate::run::Run;

/// How often the method ran, and what it did to the variable.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FocusActivity {
    /// Activations of the method in all runs.
    pub activations: u64,
    /// Runs in which it ran.
    pub runs: u32,
    /// The most steps that one activation took on the variable. Both halves of an indivisible update are one.
    pub most_steps: u64,
    /// Methods of the program that access the variable.
    pub users: BTreeSet<String>,
}

impl FocusActivity {
    pub(crate) fn add(&mut self, run: &Run, only: &Focus) {
        let is_method = |label: LabelId| only.is_method(&run.method_of(label));
        let labels: Vec<bool> = (0..run.tables.labels.len())
            .map(|index| is_method(LabelId::from_index(index)))
            .collect();
        let is_own = |label: LabelId| labels.get(label.index()).copied().unwrap_or(false);
        // A method that is a declared block as well has both; one of a library is a block only.
        let events = run.history.events();
        let has_calls = events
            .iter()
            .any(|event| matches!(event.op, Op::Call { method, .. } if is_own(method)));
        let begins = |op: Op| match op {
            Op::Call { method, .. } => has_calls && is_own(method),
            Op::Begin { label, .. } => !has_calls && is_own(label),
            _ => false,
        };
        let ends = |op: Op| match op {
            Op::Return { method, .. } => has_calls && is_own(method),
            Op::End { label } => !has_calls && is_own(label),
            _ => false,
        };
        let mut vars: BTreeMap<VarId, bool> = BTreeMap::new();
        let mut open: BTreeMap<ThreadId, (u64, u64)> = BTreeMap::new();
        let before = self.activations;
        for event in events {
            let (depth, steps) = open.entry(event.thread).or_default();
            if begins(event.op) {
                self.activations += 1;
                *steps = if *depth == 0 { 0 } else { *steps };
                *depth += 1;
            } else if ends(event.op) {
                *depth = depth.saturating_sub(1);
            }
            let (Op::Read { var, access, .. } | Op::Write { var, access, .. }) = event.op else {
                continue;
            };
            if !*vars.entry(var).or_insert_with(|| only.is_variable(&run.tables.member_name(var))) {
                continue;
            }
            if let Some(site) =
                run.tables.sites.get(event.site).filter(|site| !site.facts.is_library)
            {
                self.users.insert(format!("{}.{}", site.class, site.method));
            }
            let is_second = access == Access::Update && matches!(event.op, Op::Write { .. });
            if *depth > 0 && !is_second {
                *steps += 1;
                self.most_steps = self.most_steps.max(*steps);
            }
        }
        self.runs += u32::from(self.activations > before);
    }
}
