use untorn_trace::{LockId, ThreadId, VarId};

use super::*;
use crate::rng::Rng;
use crate::validity::is_well_formed;

fn place(thread: u32, instr: u32) -> InstructionPoint {
    InstructionPoint { thread: ThreadId(thread), instr }
}

#[test]
fn recorded_runs_are_well_formed_and_feasible() {
    let mut rng = Rng::new(1);
    for _ in 0..2000 {
        let program = random_program(&ProgramKnobs::default(), &mut rng);
        let Some(explored) = Explored::new(&program, 20_000) else { continue };
        let recording = program.record(&mut rng);
        assert!(is_well_formed(&recording.events));
        let mut places = recording.places.clone();
        places.dedup(); // a branch has the place of its event
        assert!(explored.is_feasible(&places), "{program:?}");
    }
}

#[test]
fn a_branch_on_a_value_read_decides_what_is_feasible() {
    let (x, y) = (VarId(0), VarId(1));
    // T0: write x 1. T1: if x is 1, write y.
    let reader = vec![
        Instr::Read { register: 0, var: x },
        Instr::Unless { register: 0, value: 1, target: 3 },
        Instr::Write { var: y, value: Expr::Constant(1) },
    ];
    let writer = vec![Instr::Write { var: x, value: Expr::Constant(1) }];
    let program = Program { threads: vec![writer, reader], vars: 2, locks: 0, values: 2 };
    let explored = Explored::new(&program, 1000).expect("a few states");
    assert!(explored.is_feasible(&[place(0, 0), place(1, 2)]));
    assert!(!explored.is_feasible(&[place(1, 2), place(0, 0)]));
    assert!(explored.is_feasible(&[place(1, 0), place(0, 0)]));
}

#[test]
fn a_lock_keeps_others_out() {
    let lock = LockId(0);
    let body = |value| {
        vec![
            Instr::Acquire { lock },
            Instr::Write { var: VarId(0), value: Expr::Constant(value) },
            Instr::Write { var: VarId(0), value: Expr::Constant(value) },
            Instr::Release { lock },
        ]
    };
    let program = Program { threads: vec![body(1), body(2)], vars: 1, locks: 1, values: 3 };
    let explored = Explored::new(&program, 1000).expect("a few states");
    assert!(!explored.is_feasible(&[place(0, 1), place(1, 1), place(0, 2)]));
    assert!(explored.is_feasible(&[place(0, 1), place(0, 2), place(1, 1)]));
}
