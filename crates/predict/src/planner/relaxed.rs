//! How far the goal is if nothing is ever deleted, and how such a plan begins.

use super::State;
use crate::strips::Task;

const NEVER: u32 = u32::MAX;

pub(super) struct Relaxed<'t> {
    task: &'t Task,
    /// By fact: the actions that need it.
    needed_by: Vec<Vec<u32>>,
    /// Actions that need nothing.
    free: Vec<u32>,
    /// By fact: the layer in which it appears, and the action that adds it there.
    layer: Vec<u32>,
    adder: Vec<u32>,
    /// By action: how many of its needs have not appeared yet.
    missing: Vec<u32>,
    /// By action: whether it is in the relaxed plan.
    chosen: Vec<bool>,
}

impl<'t> Relaxed<'t> {
    pub(super) fn new(task: &'t Task) -> Self {
        let mut needed_by = vec![Vec::new(); task.facts.len()];
        for (i, action) in task.actions.iter().enumerate() {
            for &fact in &action.needs {
                needed_by[fact as usize].push(i as u32);
            }
        }
        let free = (0..task.actions.len() as u32)
            .filter(|&a| task.actions[a as usize].needs.is_empty())
            .collect();
        Self {
            task,
            needed_by,
            free,
            layer: vec![NEVER; task.facts.len()],
            adder: vec![NEVER; task.facts.len()],
            missing: vec![0; task.actions.len()],
            chosen: vec![false; task.actions.len()],
        }
    }

    /// The number of actions of a relaxed plan and, of those, the ones that can be done at once.
    /// `None` if there is none: then there is no plan either.
    pub(super) fn distance(&mut self, state: &State, goal: u32) -> Option<(u32, Vec<u32>)> {
        self.spread(state, goal);
        if self.layer[goal as usize] == NEVER {
            return None;
        }
        Some(self.extract(goal))
    }

    /// Layer after layer: what can be done, and what that adds.
    fn spread(&mut self, state: &State, goal: u32) {
        self.layer.fill(NEVER);
        for (missing, action) in self.missing.iter_mut().zip(&self.task.actions) {
            *missing = action.needs.len() as u32;
        }
        let mut now: Vec<u32> = Vec::new();
        for fact in 0..self.task.facts.len() as u32 {
            if super::has(state, fact) {
                self.layer[fact as usize] = 0;
                self.adder[fact as usize] = NEVER;
                now.push(fact);
            }
        }
        let mut ready = self.free.clone();
        let mut depth = 1;
        while (!now.is_empty() || !ready.is_empty()) && self.layer[goal as usize] == NEVER {
            for &fact in &now {
                for &action in &self.needed_by[fact as usize] {
                    self.missing[action as usize] -= 1;
                    if self.missing[action as usize] == 0 {
                        ready.push(action);
                    }
                }
            }
            now.clear();
            ready.sort_unstable();
            for action in ready.drain(..) {
                for &fact in &self.task.actions[action as usize].adds {
                    if self.layer[fact as usize] == NEVER {
                        self.layer[fact as usize] = depth;
                        self.adder[fact as usize] = action;
                        now.push(fact);
                    }
                }
            }
            depth += 1;
        }
    }

    fn extract(&mut self, goal: u32) -> (u32, Vec<u32>) {
        self.chosen.fill(false);
        let (mut length, mut helpful, mut open) = (0, Vec::new(), vec![goal]);
        while let Some(fact) = open.pop() {
            let action = self.adder[fact as usize];
            if self.layer[fact as usize] == 0 || self.chosen[action as usize] {
                continue;
            }
            self.chosen[action as usize] = true;
            length += 1;
            let needs = &self.task.actions[action as usize].needs;
            open.extend_from_slice(needs);
            if needs.iter().all(|&need| self.layer[need as usize] == 0) {
                helpful.push(action);
            }
        }
        helpful.sort_unstable();
        (length, helpful)
    }
}
