//! The simulation filter's abstraction, searched through: the most that any choice of schedules can keep.

use std::collections::HashSet;

use untorn_trace::{Event, Op};

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    done: Vec<usize>,
    /// By variable: its value; `None` if it is unknown.
    memory: Vec<Option<u64>>,
    tainted: Vec<bool>,
    stopped: Vec<bool>,
    /// How many of the three events have happened.
    progress: usize,
}

/// Whether some order of the events reaches the third, with the taints of the simulation filter.
/// For traces with all values known, exclusive locks without re-entrance, and 0 at first.
pub fn reaches(events: &[Event], triple: [usize; 3]) -> bool {
    let count = events.iter().map(|event| event.thread.index() + 1).max().unwrap_or(0);
    let mut threads = vec![Vec::new(); count];
    for (index, event) in events.iter().enumerate() {
        threads[event.thread.index()].push(index);
    }
    let vars = events.iter().map(|event| event.op.target() as usize + 1).max().unwrap_or(0);
    let start = State {
        done: vec![0; count],
        memory: vec![Some(0); vars],
        tainted: vec![false; count],
        stopped: vec![false; count],
        progress: 0,
    };
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        for (thread, own) in threads.iter().enumerate() {
            let Some(&index) = own.get(state.done[thread]) else { continue };
            if state.stopped[thread] || !is_free(events, &threads, &state, thread, index) {
                continue;
            }
            let place = triple.iter().position(|&at| at == index);
            if place.is_some_and(|place| place != state.progress) {
                continue;
            }
            let mut next = state.clone();
            step(&mut next, thread, &events[index]);
            if place.is_some() && !next.stopped[thread] {
                next.progress += 1;
            }
            if next.progress == 3 {
                return true;
            }
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    false
}

fn is_free(
    events: &[Event],
    threads: &[Vec<usize>],
    state: &State,
    thread: usize,
    index: usize,
) -> bool {
    let Op::Acquire { lock, .. } = events[index].op else { return true };
    (0..threads.len()).filter(|&other| other != thread).all(|other| {
        let done = threads[other][..state.done[other]].iter();
        let last = done.rev().map(|&index| events[index].op).find(|op| match op {
            Op::Acquire { lock: own, .. } | Op::Release { lock: own, .. } => *own == lock,
            _ => false,
        });
        !matches!(last, Some(Op::Acquire { .. }))
    })
}

fn step(state: &mut State, thread: usize, event: &Event) {
    if state.tainted[thread] && matches!(event.op, Op::Branch { count } if count > 0) {
        state.stopped[thread] = true;
        return;
    }
    state.done[thread] += 1;
    match event.op {
        Op::Write { var, value, .. } => {
            state.memory[var.index()] = (!state.tainted[thread]).then_some(value.0);
        }
        Op::Read { var, value, .. } if state.memory[var.index()] != Some(value.0) => {
            state.tainted[thread] = true;
        }
        _ => {}
    }
}
