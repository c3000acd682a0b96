use super::*;
use untorn_trace::{LabelId, LockId, SiteId, ThreadId, VarId};

/// `T:op` words: `[` begin, `]` end, `rx` `wx`, `+l` `-l` locks, `~l` `=l` shared side, `f1` `j1`.
fn parse(text: &str) -> Vec<Event> {
    let event = |word: &str| {
        let (thread, op) = word.split_once(':').expect("thread:operation");
        let id = |at: usize| u32::from(op.as_bytes()[at] - b'0');
        let op = match op.as_bytes()[0] {
            b'[' => Op::begin(LabelId::NONE),
            b']' => Op::End { label: LabelId::NONE },
            b'r' => Op::read(VarId(id(1))),
            b'w' => Op::write(VarId(id(1))),
            b'+' => Op::acquire(LockId(id(1))),
            b'-' => Op::release(LockId(id(1))),
            b'~' => Op::Acquire { lock: LockId(id(1)), hold: Hold::Shared },
            b'=' => Op::Release { lock: LockId(id(1)), hold: Hold::Shared },
            b'f' => Op::Fork { child: ThreadId(id(1)) },
            b'j' => Op::Join { child: ThreadId(id(1)) },
            b'b' => Op::Branch { count: 1 },
            other => panic!("unknown operation {other}"),
        };
        Event::new(ThreadId(thread.parse().expect("a number")), op, SiteId::NONE)
    };
    text.split_whitespace().map(event).collect()
}

fn at(text: &str) -> Option<u64> {
    first_violation(&parse(text)).map(|at| at.0)
}

fn refuted(text: &str) -> Vec<u64> {
    refuted_blocks(&parse(text)).into_iter().map(|begin| begin.0).collect()
}

#[test]
fn verdicts_by_hand() {
    assert_eq!(at(""), None);
    assert_eq!(at("0:[ 0:r0 1:w0 0:w0 0:]"), Some(3), "a lost update");
    assert_eq!(at("0:[ 0:r0 1:r0 0:r0 0:]"), None, "reads do not conflict");
    assert_eq!(at("0:r0 1:w0 0:w0"), None, "outside of blocks every step stands alone");
    assert_eq!(at("0:[ 0:w0 1:[ 1:r0 1:] 1:[ 1:w1 1:] 0:w1 0:]"), Some(8), "by program order");
    assert_eq!(at("0:[ 0:w0 1:r0 1:w1 0:r1 0:]"), Some(4), "through two outside steps");
    assert_eq!(at("0:[ 0:[ 0:r0 0:] 1:w0 0:w0 0:]"), Some(5), "the outermost block counts");
    assert_eq!(at("0:[ 0:~0 1:~0 1:=0 0:=0 0:]"), None, "shared sides do not conflict");
    assert_eq!(at("0:[ 0:+0 0:-0 1:+0 1:-0 0:+0 0:]"), Some(5), "a lock taken twice");
    assert_eq!(at("0:[ 1:[ 0:w0 1:r0 1:w1 0:r1"), Some(5), "blocks that never end");
    assert_eq!(at("0:[ 0:r0 1:b 0:w0 0:]"), None, "a branch is no operation");
}

#[test]
fn fork_and_join() {
    assert_eq!(at("0:[ 0:f1 0:j1 0:]"), None, "the child never ran");
    assert_eq!(at("0:[ 0:f1 1:r0 0:j1 0:]"), Some(3), "it ran in the middle of its parent's block");
    assert_eq!(at("0:[ 0:f1 1:[ 1:] 0:j1 0:]"), Some(4), "an empty block is a transaction");
    assert_eq!(at("0:[ 0:f1 1:b 0:j1 0:]"), None, "a branch does not make it run");
    assert_eq!(at("0:f1 1:r0 0:j1"), None);
}

#[test]
fn refuted_blocks_by_hand() {
    assert_eq!(refuted("0:[ 0:r0 1:w0 0:w0 0:]"), [0]);
    assert_eq!(
        refuted("0:[ 0:r0 0:[ 1:w0 0:w0 0:] 0:]"),
        [0],
        "the inner block holds one end only"
    );
    assert_eq!(refuted("0:[ 0:[ 0:r0 1:w0 0:w0 0:] 0:]"), [0, 1]);
    // Two blocks that cannot both have run alone, though each could.
    let crossed = "0:[ 1:[ 0:w0 1:r0 1:w1 0:r1 0:] 1:]";
    assert_eq!(at(crossed), Some(5));
    assert_eq!(refuted(crossed), [0]);
    let woven = "0:[ 1:[ 0:w0 1:w1 1:w0 0:w1 0:] 1:]";
    assert_eq!(at(woven), Some(5));
    assert_eq!(refuted(woven), [] as [u64; 0]);
    assert!(is_self_serializable(&parse(woven), EventIdx(0)));
}

#[test]
fn witnesses_are_verified() {
    let events = parse("0:[ 0:r0 1:w0 0:w0 0:]");
    let idx = |list: &[u64]| list.iter().map(|&i| EventIdx(i)).collect::<Vec<_>>();
    let edge = |a, b| (EventIdx(a), EventIdx(b));
    let check = |cycle: &[u64], edges: &[_]| check_cycle(&events, &idx(cycle), edges);
    assert_eq!(check(&[0, 2], &[edge(1, 2), edge(2, 3)]), Ok(()));
    assert_eq!(check(&[0], &[edge(1, 3)]), Err(CycleFault::Shape));
    assert_eq!(check(&[0, 2], &[edge(1, 2), edge(2, 9)]), Err(CycleFault::NoSuchEvent(1)));
    assert_eq!(check(&[0, 2], &[edge(1, 2), edge(3, 2)]), Err(CycleFault::NotForward(1)));
    assert_eq!(check(&[0, 2], &[edge(0, 2), edge(2, 3)]), Err(CycleFault::NoConflict(0)));
    assert_eq!(check(&[1, 2], &[edge(1, 2), edge(2, 3)]), Err(CycleFault::WrongTransaction(0)));
    assert_eq!(check(&[0, 0], &[edge(1, 3), edge(1, 3)]), Err(CycleFault::Loop(0)));
}
