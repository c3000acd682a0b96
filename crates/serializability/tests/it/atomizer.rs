//! Atomizer and Eraser on the examples of their papers, and what may be expected of them at all.

use untorn_serializability::aerodrome::AeroDrome;
use untorn_serializability::atomizer::Atomizer;
use untorn_serializability::eraser::Eraser;
use untorn_serializability::{Checker, Verdict, Warning};
use untorn_testkit::{Knobs, Shape, ShapeSource, ShapeSpec, TraceGen};
use untorn_trace::{Access, Event, EventIdx, Hold, LabelId, LockId, Op, SiteId, ThreadId, VarId};

const X: VarId = VarId(0);
const Y: VarId = VarId(1);
const L: LockId = LockId(0);
const M: LockId = LockId(1);

fn trace(steps: &[(u32, Op)]) -> Vec<Event> {
    steps.iter().map(|&(t, op)| Event::new(ThreadId(t), op, SiteId::NONE)).collect()
}

fn begin(label: u32) -> Op {
    Op::begin(LabelId(label))
}

fn end(label: u32) -> Op {
    Op::End { label: LabelId(label) }
}

fn volatile(op: Op) -> Op {
    with_access(op, Access::Volatile)
}

fn with_access(mut op: Op, new: Access) -> Op {
    if let Op::Read { access, .. } | Op::Write { access, .. } = &mut op {
        *access = new;
    }
    op
}

fn warnings(mut checker: impl Checker, steps: &[(u32, Op)]) -> Vec<Warning> {
    let _ = checker.events(EventIdx(0), &trace(steps));
    let outcome = checker.finish();
    assert_eq!(outcome.verdict, Verdict::Undecided);
    outcome.warnings
}

/// Label, position of the commit, position of the offending step, occurrences.
fn not_reducible(steps: &[(u32, Op)]) -> Vec<(u32, u64, u64, u64)> {
    let short = |warning| match warning {
        Warning::NotReducible { block, commit, at, occurrences } => {
            (block.label.0, commit.at.0, at.at.0, occurrences)
        }
        Warning::Unprotected { .. } => panic!("Atomizer does not say this"),
    };
    warnings(Atomizer::new(), steps).into_iter().map(short).collect()
}

/// Variable and position.
fn unprotected(steps: &[(u32, Op)]) -> Vec<(u32, u64)> {
    let short = |warning| match warning {
        Warning::Unprotected { var, at } => (var.0, at.at.0),
        Warning::NotReducible { .. } => panic!("Eraser does not say this"),
    };
    warnings(Eraser::new(), steps).into_iter().map(short).collect()
}

fn locked(thread: u32, lock: LockId, op: Op) -> [(u32, Op); 3] {
    [(thread, Op::acquire(lock)), (thread, op), (thread, Op::release(lock))]
}

#[test]
fn one_critical_section_is_reducible() {
    let block = [begin(0), Op::acquire(L), Op::read(X), Op::write(X), Op::release(L), end(0)];
    let steps: Vec<_> = [0, 1].into_iter().flat_map(|t| block.map(|op| (t, op))).collect();
    assert_eq!(not_reducible(&steps), []);
    assert_eq!(unprotected(&steps), []);
}

/// `Set.add` of the Velodrome paper: `if (!v.contains(x)) v.add(x)` on a synchronized vector.
#[test]
fn two_critical_sections_are_not() {
    let add = [
        begin(7),
        Op::acquire(L),
        Op::read(X),
        Op::release(L),
        Op::acquire(L),
        Op::write(X),
        Op::release(L),
        end(7),
    ];
    let steps: Vec<_> = [0, 1, 0].into_iter().flat_map(|t| add.map(|op| (t, op))).collect();
    assert_eq!(not_reducible(&steps), [(7, 3, 4, 3)], "once for its label, three times met");
}

/// The hand-over by a volatile flag in the Velodrome paper: Atomizer cries, and is wrong.
#[test]
fn a_hand_over_by_flag_is_a_false_alarm() {
    let mut steps = vec![];
    for round in 0..4 {
        let thread = round % 2;
        steps.extend([
            (thread, volatile(Op::read(Y))),
            (thread, begin(thread)),
            (thread, Op::read(X)),
            (thread, Op::write(X)),
            (thread, volatile(Op::write(Y))),
            (thread, end(thread)),
        ]);
    }
    let labels: Vec<_> = not_reducible(&steps).iter().map(|w| w.0).collect();
    assert_eq!(labels, [1, 0], "x has no lock");
    let mut exact = AeroDrome::new();
    let _ = exact.events(EventIdx(0), &trace(&steps));
    assert_eq!(exact.finish().verdict, Verdict::Serializable);
}

#[test]
fn re_entrance_moves_freely() {
    let block = [
        begin(0),
        Op::acquire(L),
        Op::acquire(L),
        Op::write(X),
        Op::release(L),
        Op::acquire(L),
        Op::release(L),
        Op::release(L),
        end(0),
    ];
    assert_eq!(not_reducible(&block.map(|op| (0, op))), []);
}

#[test]
fn a_wait_cuts_its_block() {
    let block = [
        begin(0),
        Op::acquire(L),
        Op::Wait { lock: L },
        Op::Resume { lock: L },
        Op::release(L),
        end(0),
    ];
    assert_eq!(not_reducible(&block.map(|op| (0, op))), [(0, 2, 3, 1)]);
}

#[test]
fn one_non_mover_is_allowed() {
    let once = [begin(0), volatile(Op::write(Y)), end(0)];
    assert_eq!(not_reducible(&once.map(|op| (0, op))), []);
    let twice = [begin(0), volatile(Op::read(Y)), volatile(Op::write(Y)), end(0)];
    assert_eq!(not_reducible(&twice.map(|op| (0, op))), [(0, 1, 2, 1)]);
    let update = [
        begin(0),
        with_access(Op::read(Y), Access::Update),
        with_access(Op::write(Y), Access::Update),
        end(0),
    ];
    assert_eq!(not_reducible(&update.map(|op| (0, op))), [], "both halves are one step");
}

#[test]
fn nested_blocks_are_judged_each_for_itself() {
    let section = |lock| [Op::acquire(lock), Op::release(lock)];
    let mut outer = vec![begin(0), begin(1)];
    outer.extend(section(L));
    outer.push(end(1));
    outer.push(begin(2));
    outer.extend(section(L));
    outer.extend([end(2), end(0)]);
    let steps: Vec<_> = outer.into_iter().map(|op| (0, op)).collect();
    assert_eq!(not_reducible(&steps), [(0, 3, 6, 1)], "only the outer one has two sections");
}

#[test]
fn fork_and_join_move_one_way() {
    let child = ThreadId(1);
    let join_first = [begin(0), Op::Join { child }, Op::acquire(L), Op::release(L), end(0)];
    assert_eq!(not_reducible(&join_first.map(|op| (0, op))), []);
    let fork_first = [begin(0), Op::Fork { child }, Op::acquire(L), end(0)];
    assert_eq!(not_reducible(&fork_first.map(|op| (0, op))), [(0, 1, 2, 1)]);
}

/// Figure 3 of the Eraser paper: the candidates shrink to nothing.
#[test]
fn two_locks_in_turn_protect_nothing() {
    let mut steps = vec![];
    steps.extend(locked(0, L, Op::write(X)));
    steps.extend(locked(1, L, Op::write(X)));
    assert_eq!(unprotected(&steps), []);
    steps.extend(locked(0, M, Op::write(X)));
    assert_eq!(unprotected(&steps), [(0, 7)]);
    steps.extend(locked(1, M, Op::write(X)));
    assert_eq!(unprotected(&steps), [(0, 7)], "a variable is reported once");
}

#[test]
fn initialisation_and_read_sharing_need_no_lock() {
    let mut steps = vec![(0, Op::write(X)), (0, Op::write(X))];
    steps.extend([(1, Op::read(X)), (2, Op::read(X)), (0, Op::read(X))]);
    assert_eq!(unprotected(&steps), []);
    steps.push((1, Op::write(X)));
    assert_eq!(unprotected(&steps), [(0, 5)]);
}

/// Section 2.3 of the Eraser paper: a lock held for reading does not protect a write.
#[test]
fn a_read_lock_protects_reads_only() {
    let shared = |op: fn(LockId, Hold) -> Op| op(L, Hold::Shared);
    let acquire = shared(|lock, hold| Op::Acquire { lock, hold });
    let release = shared(|lock, hold| Op::Release { lock, hold });
    let mut steps = vec![];
    steps.extend(locked(0, L, Op::write(X)));
    steps.extend([(1, acquire), (1, Op::read(X)), (1, release)]);
    steps.extend(locked(0, L, Op::write(X)));
    assert_eq!(unprotected(&steps), []);
    steps.extend([(1, acquire), (1, Op::write(X)), (1, release)]);
    assert_eq!(unprotected(&steps), [(0, 10)]);
}

#[test]
fn volatile_accesses_are_not_judged_by_eraser() {
    assert_eq!(unprotected(&[(0, volatile(Op::write(X))), (1, volatile(Op::write(X)))]), []);
}

#[test]
fn well_locked_programs_get_no_warning() {
    for shape in [Shape::Mix, Shape::Small, Shape::Large, Shape::Local] {
        let events: Vec<_> =
            ShapeSource::new(ShapeSpec::new(shape, 100_000)).expect("sound").collect();
        let mut checkers: [Box<dyn Checker>; 2] =
            [Box::new(Atomizer::new()), Box::new(Eraser::new())];
        for checker in &mut checkers {
            let _ = checker.events(EventIdx(0), &events);
            assert_eq!(checker.finish().warnings, [], "{shape:?}");
        }
    }
}

/// Warnings point at real steps of the block they speak of, in order, and nothing panics.
#[test]
fn warnings_are_consistent_on_random_traces() {
    let mut traces = TraceGen::new(Knobs::small());
    for seed in 0..100_000 {
        let events = traces.generate(seed);
        let mut atomizer = Atomizer::new();
        let _ = atomizer.events(EventIdx(0), events);
        for warning in atomizer.finish().warnings {
            let Warning::NotReducible { block, commit, at, .. } = warning else { unreachable!() };
            assert!(block.begin < commit.at && commit.at < at.at, "seed {seed}");
            let thread = events[block.begin.0 as usize].thread;
            assert!([commit.event, at.event].iter().all(|e| e.thread == thread), "seed {seed}");
            assert_eq!(events[at.at.0 as usize], at.event);
        }
    }
}
