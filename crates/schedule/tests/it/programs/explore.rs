//! Every run of a small program: which orders of events can happen.

use std::collections::HashMap;

use super::machine::{Action, Effect, Machine};
use super::program::{Program, Script};

/// An event of the program: its script, and its number there.
pub type Label = (Script, usize);

/// All states of a program, and the steps between them.
pub struct Graph {
    /// By state: the event that the step executes, if any, and the next state.
    steps: Vec<Vec<(Option<Label>, usize)>>,
}

impl Graph {
    /// Explores everything. A thread with a deadline may find it passed at any time: the others
    /// were slow.
    pub fn of(program: &Program) -> Self {
        let mut machine = Machine::new(program);
        machine.start(0);
        let mut known = HashMap::from([(machine.clone(), 0)]);
        let mut todo = vec![machine];
        let mut steps = Vec::new();
        let mut explored = 0;
        while explored < todo.len() {
            let mut from_here = Vec::new();
            for script in 0..program.scripts.len() {
                if let Some((label, next)) = successor(&todo[explored], script) {
                    let new = known.len();
                    let state = *known.entry(next.clone()).or_insert(new);
                    if state == new {
                        todo.push(next);
                    }
                    from_here.push((label, state));
                }
            }
            steps.push(from_here);
            explored += 1;
        }
        Self { steps }
    }

    /// Some run executes these events in this order.
    pub fn allows(&self, order: &[Label]) -> bool {
        let mut seen = vec![false; self.steps.len() * (order.len() + 1)];
        let mut todo = vec![(0, 0)];
        while let Some((state, done)) = todo.pop() {
            if done == order.len() {
                return true;
            }
            if std::mem::replace(&mut seen[state * (order.len() + 1) + done], true) {
                continue;
            }
            for &(label, next) in &self.steps[state] {
                let planned = label.and_then(|label| order.iter().position(|&l| l == label));
                match planned {
                    None => todo.push((next, done)),
                    Some(at) if at == done => todo.push((next, done + 1)),
                    Some(_) => {}
                }
            }
        }
        false
    }
}

/// The result of a step of the script, if it can take one.
fn successor<'p>(from: &Machine<'p>, script: Script) -> Option<(Option<Label>, Machine<'p>)> {
    let mut machine = from.clone();
    if from.deadline(script).is_some() {
        machine.wake(script, untorn_schedule::Wake::TimedOut);
        return Some((None, machine));
    }
    if !from.can_run(script) {
        return None;
    }
    machine.begin_turn(script);
    let event = machine.arrives_at(script);
    match machine.step(script, 0) {
        Effect::Event(action, _) => {
            if let Action::Spawn(started) = action {
                machine.start(started);
            }
            machine.act(action);
            return Some((event.map(|event| (script, event)), machine));
        }
        Effect::Outside => {
            machine.leave(script);
            machine.come_back(script);
        }
        Effect::Ended => machine.ended(script),
        Effect::Blocked(_) | Effect::Yielded => {}
    }
    Some((None, machine))
}
