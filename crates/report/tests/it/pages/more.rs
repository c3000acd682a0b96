//! Deadlocks, two variables, and stages that are too long to show.

use untorn_report::model::{
    Block, Evidence, Excerpt, Scene, SceneStep, SceneVariable, Transaction,
};
use untorn_report::{Action, EdgeKind, Finding, Operation};

use crate::samples;

const LOCKS: &str = "\
class LockOrder {
    static void leftToRight() {
        synchronized (left) {
            synchronized (right) {
                transfers++;
            }
        }
    }

    static void rightToLeft() {
        synchronized (right) {
            synchronized (left) {
                transfers++;
            }
        }
    }
}
";

const POINT: &str = "\
class Point {
    private int x, y;

    void moveTo(int to) {
        x = to;
        y = to;
    }

    boolean isOnDiagonal() {
        return x == y;
    }
}
";

fn bare(at: u64, thread: &str, node: Option<usize>, action: Action, target: &str) -> SceneStep {
    SceneStep {
        operation: Operation {
            at,
            thread: thread.into(),
            transaction: node,
            place: String::new(),
            action,
            target: target.into(),
            value: None,
            manner: None,
        },
        class: String::new(),
        method: String::new(),
        holds: vec![],
        stack: vec![],
        hidden: 0,
    }
}

fn at(mut step: SceneStep, place: &str) -> SceneStep {
    step.operation.place = place.into();
    step
}

fn with(mut step: SceneStep, value: &str) -> SceneStep {
    step.operation.value = Some(value.into());
    step
}

fn thread(name: &str, block: &str, begin: u64) -> Transaction {
    let block = Block {
        name: block.into(),
        place: String::new(),
        begin,
        end: None,
        depth: 0,
        refuted: false,
    };
    Transaction { thread: name.into(), blocks: vec![block], blamed: false }
}

fn evidence(effect: &str, values: &[&str]) -> Evidence {
    Evidence {
        values: values.iter().map(|&text| text.into()).collect(),
        effects: vec![effect.into()],
        trace: "run-4.utr".into(),
        run: 4,
        replay: "untorn replay untorn-out/report.json 1".into(),
        milliseconds: 1705,
        preemptions: Some(1),
        ..Evidence::default()
    }
}

fn source(file: &str, text: &str) -> Excerpt {
    Excerpt {
        file: file.into(),
        path: format!("src/{file}"),
        first: 1,
        lines: text.lines().map(str::to_owned).collect(),
    }
}

/// Two locks in opposite orders, and a thread that waits for their end.
pub fn deadlock() -> Finding {
    let names = ["Alice", "Bob"];
    let step = |at_: u64, node: usize, action: Action, lock: &str, line: u32| {
        at(bare(at_, names[node], Some(node), action, lock), &format!("LockOrder.java:{line}"))
    };
    let steps = vec![
        step(10, 0, Action::Begin, "LockOrder.leftToRight (synchronized)", 3),
        step(11, 0, Action::Acquire, "Object#5", 3),
        step(20, 1, Action::Begin, "LockOrder.rightToLeft (synchronized)", 11),
        step(21, 1, Action::Acquire, "Object#6", 11),
        step(22, 0, Action::Request, "Object#6", 4),
        step(23, 1, Action::Request, "Object#5", 12),
    ];
    let operations: Vec<Operation> = steps
        .iter()
        .map(|step| step.operation.clone())
        .filter(|op| op.action != Action::Begin)
        .collect();
    let mut main = at(bare(9, "main", None, Action::Wait, "Thread#3"), "Thread.java:1313");
    (main.class, main.method) = ("java.lang.Thread".into(), "join".into());
    let mut finding = Finding::deadlock(
        vec![
            thread("Alice", "LockOrder.leftToRight (synchronized)", 10),
            thread("Bob", "LockOrder.rightToLeft (synchronized)", 20),
        ],
        operations,
        vec![(2, 1), (3, 0)],
        vec![main],
    );
    finding.badges.push("replayable".into());
    finding.evidence = Some(evidence("deadlock: 3 threads wait for ever", &[]));
    finding.scene = Some(Scene { threads: 3, variables: vec![], steps, whole: true });
    finding.sources = vec![source("LockOrder.java", LOCKS)];
    finding
}

/// A circle of `count`, all in the same lines; nothing is known but the cycle.
pub fn philosophers(count: usize) -> Finding {
    let fork = |index: usize| format!("Fork#{}", index % count + 1);
    let mut operations = Vec::new();
    for (index, action) in
        (0..count).map(|i| (i, Action::Acquire)).chain((0..count).map(|i| (i, Action::Request)))
    {
        let (lock, line) =
            if action == Action::Acquire { (fork(index), 67) } else { (fork(index + 1), 68) };
        let name = format!("philosopher-{index}");
        let step = bare(operations.len() as u64 + 10, &name, Some(index), action, &lock);
        operations.push(at(step, &format!("Philosophers.java:{line}")).operation);
    }
    let edges = (0..count).map(|index| (count + index, (index + 1) % count)).collect();
    let threads = (0..count)
        .map(|index| thread(&format!("philosopher-{index}"), "Philosopher.eat (synchronized)", 1));
    let mut finding = Finding::deadlock(threads.collect(), operations, edges, vec![]);
    finding.evidence = Some(evidence("deadlock: all threads wait for ever", &[]));
    finding
}

/// No thread is left to notify.
pub fn stuck() -> Finding {
    let mut waiting = at(bare(40, "consumer", None, Action::Wait, "Queue#2"), "Queue.java:19");
    waiting.stack = vec!["Queue.take".into()];
    let mut main = at(bare(30, "main", None, Action::Wait, "Thread#3"), "Thread.java:1313");
    (main.class, main.method) = ("java.lang.Thread".into(), "join".into());
    let mut finding = Finding::deadlock(vec![], vec![], vec![], vec![main, waiting]);
    finding.evidence = Some(evidence("deadlock: 2 threads wait for ever", &[]));
    finding
}

fn of_two(
    letters: &str,
    block: &str,
    variables: [(&str, &str); 2],
    steps: Vec<SceneStep>,
    effect: &str,
) -> Finding {
    let accesses: Vec<Operation> = steps
        .iter()
        .map(|step| step.operation.clone())
        .filter(|op| matches!(op.action, Action::Read | Action::Write))
        .collect();
    let ends: Vec<u64> = steps
        .iter()
        .filter(|s| s.operation.action == Action::End)
        .map(|s| s.operation.at)
        .collect();
    let [a, b] = [&accesses[0].thread, &accesses[1].thread];
    let mut sketch = samples::Sketch::default();
    sketch = sketch.transaction(a).block(block, 1, ends.last().copied()).refuted();
    for (node, name) in [a, b].into_iter().enumerate() {
        if node == 1 {
            sketch = sketch.transaction(name);
        }
        for op in accesses.iter().filter(|op| op.thread == *name) {
            let value = op.value.as_deref().unwrap_or("");
            sketch = sketch.op(op.at, op.action, &op.target, value, &op.place);
        }
    }
    let on = |thread: &str, target: &str| {
        accesses.iter().find(|op| op.thread == thread && op.target == target).map_or(0, |op| op.at)
    };
    let [x, y] = variables.map(|(name, _)| name);
    let mut finding = sketch
        .edge(on(a, x), on(b, x), EdgeKind::Variable)
        .edge(on(b, y), on(a, y), EdgeKind::Variable)
        .finish();
    finding.badges = vec!["confirmed by values".into(), letters.into()];
    finding.evidence = Some(Evidence {
        origin: "inferred".into(),
        ..evidence(effect, &["No serial order leaves both values where they were read."])
    });
    let before = |(name, value): (&str, &str)| SceneVariable {
        name: name.into(),
        before: Some(value.into()),
    };
    finding.scene =
        Some(Scene { threads: 3, variables: variables.map(before).to_vec(), steps, whole: true });
    finding
}

/// A reader sees one new coordinate and one old.
pub fn two_fields() -> Finding {
    let access =
        |at_: u64, thread: &str, node: usize, action: Action, x: &str, value: &str, line: u32| {
            let step = bare(at_, thread, Some(node), action, &format!("Point#5.{x}"));
            at(with(step, value), &format!("Point.java:{line}"))
        };
    let block = |at_: u64, action: Action| {
        at(bare(at_, "mover", Some(0), action, "Point.moveTo"), "Point.java:5")
    };
    let steps = vec![
        block(1, Action::Begin),
        access(2, "mover", 0, Action::Write, "x", "1", 5),
        access(3, "reader", 1, Action::Read, "x", "1", 10),
        access(4, "reader", 1, Action::Read, "y", "0", 10),
        access(5, "mover", 0, Action::Write, "y", "1", 6),
        block(6, Action::End),
    ];
    let effect = "printed \"off the diagonal: (1, 0)\"";
    let variables = [("Point#5.x", "0"), ("Point#5.y", "0")];
    let mut finding = of_two("WRRW", "Point.moveTo", variables, steps, effect);
    finding.sources = vec![source("Point.java", POINT)];
    finding
}

/// Two doctors on call: each leaves because the other one is there.
pub fn write_skew() -> Finding {
    let access = |at_: u64, thread: &str, node: usize, action: Action, x: &str, value: &str| {
        let step = bare(at_, thread, Some(node), action, &format!("Ward#1.{x}"));
        at(with(step, value), "Ward.java:12")
    };
    let block = |at_: u64, action: Action| bare(at_, "Ann", Some(0), action, "Ward.leave");
    let steps = vec![
        block(1, Action::Begin),
        access(2, "Ann", 0, Action::Read, "ben", "true"),
        access(3, "Ben", 1, Action::Read, "ann", "true"),
        access(4, "Ben", 1, Action::Write, "ben", "false"),
        access(5, "Ann", 0, Action::Write, "ann", "false"),
        block(6, Action::End),
    ];
    let variables = [("Ward#1.ben", "true"), ("Ward#1.ann", "true")];
    of_two("RWRW", "Ward.leave", variables, steps, "printed \"nobody is on call\"")
}

/// A block that is interrupted once, in the middle of `count` accesses of its variable by two threads.
pub fn long(count: u64) -> Finding {
    let mut finding = super::bank();
    let Some(scene) = &mut finding.scene else { return finding };
    let mut filler = scene.steps[1].clone();
    filler.operation.transaction = None;
    let mut steps = Vec::new();
    for step in scene.steps.drain(..) {
        let is_last = step.operation.at == 410;
        if is_last {
            for index in 0..count {
                let mut more = filler.clone();
                more.operation.at = 1_000 + index;
                more.operation.thread = if index % 3 == 0 { "Carol".into() } else { "Dave".into() };
                more.hidden = if index == 5 { 100_000 } else { 0 };
                steps.push(more);
            }
        }
        steps.push(step);
        if let Some(last) = steps.last_mut().filter(|_| is_last) {
            last.operation.at = 1_000 + count;
        }
    }
    scene.steps = steps;
    for block in finding.transactions.iter_mut().flat_map(|own| &mut own.blocks) {
        if block.end == Some(410) {
            block.end = Some(1_000 + count);
        }
    }
    finding
}
