//! Findings drawn by hand, so that the renderers are tested without a checker.

use untorn_report::{Action, Block, EdgeKind, Finding, Operation, Transaction};

/// Puts a finding together; positions in the trace are the names of operations.
#[derive(Default)]
pub struct Sketch {
    transactions: Vec<Transaction>,
    operations: Vec<Operation>,
    edges: Vec<(u64, u64, EdgeKind)>,
}

impl Sketch {
    /// A transaction of a thread, without blocks.
    pub fn transaction(mut self, thread: &str) -> Self {
        self.transactions.push(Transaction {
            thread: thread.into(),
            blocks: vec![],
            blamed: false,
        });
        self
    }

    /// A block of the latest transaction; a block inside the extent of another is nested.
    pub fn block(mut self, name: &str, begin: u64, end: Option<u64>) -> Self {
        let own = self.transactions.last_mut().expect("a block belongs to a transaction");
        let depth = own.blocks.iter().filter(|b| b.end.is_none_or(|end| end > begin)).count();
        own.blocks.push(Block {
            name: name.into(),
            place: String::new(),
            begin,
            end,
            depth: u32::try_from(depth).expect("a few"),
            refuted: false,
        });
        self
    }

    /// The latest block cannot be atomic.
    pub fn refuted(mut self) -> Self {
        let own = self.transactions.last_mut().expect("a block belongs to a transaction");
        own.blamed = true;
        own.blocks.last_mut().expect("a block").refuted = true;
        self
    }

    /// An operation of the latest transaction.
    pub fn op(mut self, at: u64, action: Action, target: &str, value: &str, place: &str) -> Self {
        let transaction = self.transactions.len() - 1;
        self.operations.push(Operation {
            at,
            thread: self.transactions[transaction].thread.clone(),
            transaction: Some(transaction),
            place: place.into(),
            action,
            target: target.into(),
            value: (!value.is_empty()).then(|| value.into()),
            manner: None,
        });
        self
    }

    pub fn edge(mut self, from: u64, to: u64, why: EdgeKind) -> Self {
        self.edges.push((from, to, why));
        self
    }

    pub fn finish(mut self) -> Finding {
        self.operations.sort_by_key(|op| op.at);
        let index = |at| self.operations.iter().position(|op| op.at == at).expect("known position");
        let edges = self.edges.iter().map(|&(a, b, why)| (index(a), index(b), why)).collect();
        Finding::new(self.transactions, self.operations, edges, 1)
    }
}

pub fn bank() -> Finding {
    Sketch::default()
        .transaction("Alice")
        .block("Account.withdraw", 2, Some(10))
        .refuted()
        .op(3, Action::Read, "balance", "20", "Account.java:14")
        .op(9, Action::Write, "balance", "10", "Account.java:15")
        .transaction("Bob")
        .block("Account.withdraw", 4, Some(7))
        .op(5, Action::Read, "balance", "20", "Account.java:14")
        .op(6, Action::Write, "balance", "5", "Account.java:15")
        .edge(3, 6, EdgeKind::Variable)
        .edge(6, 9, EdgeKind::Variable)
        .finish()
}

pub fn set_add() -> Finding {
    Sketch::default()
        .transaction("T1")
        .block("Set.add", 1, Some(22))
        .refuted()
        .block("Vector.contains", 2, Some(6))
        .block("Vector.add", 14, Some(21))
        .op(3, Action::Acquire, "Vector#2", "", "Vector.java:40")
        .op(5, Action::Release, "Vector#2", "", "Vector.java:42")
        .op(15, Action::Acquire, "Vector#2", "", "Vector.java:61")
        .transaction("T2")
        .block("Set.add", 7, Some(13))
        .block("Vector.contains", 8, Some(10))
        .op(9, Action::Acquire, "Vector#2", "", "Vector.java:40")
        .op(12, Action::Release, "Vector#2", "", "Vector.java:42")
        .edge(5, 9, EdgeKind::Lock)
        .edge(12, 15, EdgeKind::Lock)
        .finish()
}

pub fn three_threads() -> Finding {
    Sketch::default()
        .transaction("Thread 1")
        .block("A", 1, Some(31))
        .refuted()
        .block("A.inner", 28, Some(30))
        .op(10, Action::Release, "m", "", "A.java:5")
        .op(29, Action::Read, "x", "1", "A.java:9")
        .transaction("Thread 2")
        .block("B'", 11, Some(15))
        .op(12, Action::Acquire, "m", "", "B.java:3")
        .op(13, Action::Write, "y", "1", "B.java:4")
        .transaction("Thread 3")
        .block("C'", 20, Some(24))
        .op(21, Action::Read, "y", "1", "C.java:7")
        .op(22, Action::Write, "x", "1", "C.java:8")
        .edge(10, 12, EdgeKind::Lock)
        .edge(13, 21, EdgeKind::Variable)
        .edge(22, 29, EdgeKind::Variable)
        .finish()
}

/// A ring of `count` transactions; thread 0 is interrupted, others follow each other out of lane order.
pub fn ring(count: u64, threads: u64) -> Finding {
    let last = count * 10 + 5;
    let mut sketch = Sketch::default()
        .transaction("worker-0")
        .block("Ring.pass", 1, Some(last + 1))
        .refuted()
        .op(2, Action::Write, "slot[0]", "1", "Ring.java:12")
        .op(last, Action::Read, &format!("slot[{}]", count - 1), "7", "Ring.java:13")
        .edge(2, 11, EdgeKind::Variable);
    for i in 1..count {
        // Steps of three visit the lanes in a scattered order.
        let thread = 1 + (i * 3) % (threads - 1);
        let at = i * 10;
        sketch = sketch
            .transaction(&format!("worker-{thread}"))
            .block("Ring.pass", at, Some(at + 3))
            .op(at + 1, Action::Read, &format!("slot[{}]", i - 1), "1", "Ring.java:12")
            .op(at + 2, Action::Write, &format!("slot[{i}]"), "2", "Ring.java:13");
        let next = if i + 1 == count { last } else { at + 11 };
        sketch = sketch.edge(at + 2, next, EdgeKind::Variable);
    }
    sketch.finish()
}

pub fn nested() -> Finding {
    Sketch::default()
        .transaction("Thread 1")
        .block("p", 0, Some(9))
        .refuted()
        .block("q", 1, Some(8))
        .refuted()
        .op(2, Action::Read, "x", "0", "")
        .block("r", 4, Some(7))
        .op(6, Action::Write, "x", "1", "")
        .transaction("Thread 2")
        .op(5, Action::Write, "x", "5", "")
        .edge(2, 5, EdgeKind::Variable)
        .edge(5, 6, EdgeKind::Variable)
        .finish()
}

/// Names as large programs have them, and as an enemy would choose them.
pub fn long_names() -> Finding {
    let field = "com.example.payments.settlement.internal.ReconciliationBatch#4711.outstanding";
    Sketch::default()
        .transaction("ForkJoinPool.commonPool-worker-with-a-very-long-name-17")
        .block(
            "com.example.payments.settlement.internal.Reconciliation.finalizeOutstanding",
            1_000_001,
            Some(1_000_900),
        )
        .refuted()
        .block("<script>alert(1)</script>", 1_000_850, Some(1_000_890))
        .op(
            1_000_003,
            Action::Read,
            field,
            "-9223372036854775808",
            "src/main/java/com/example/payments/settlement/Reconciliation.java:1123",
        )
        .op(
            1_000_880,
            Action::Write,
            field,
            "9223372036854775807",
            "src/main/java/com/example/payments/settlement/Reconciliation.java:1187",
        )
        .transaction("名前名前名前\u{1b}[31m & \"quoted\"")
        .block(
            "void std::__1::vector<int, std::__1::allocator<int>>::push_back(int const&)",
            1_000_100,
            None,
        )
        .op(1_000_200, Action::Write, field, "0", "")
        .edge(1_000_003, 1_000_200, EdgeKind::Variable)
        .edge(1_000_200, 1_000_880, EdgeKind::Variable)
        .finish()
}

pub fn no_blame() -> Finding {
    Sketch::default()
        .transaction("Thread 1")
        .block("D", 0, Some(7))
        .op(3, Action::Write, "x", "1", "")
        .op(6, Action::Read, "y", "1", "")
        .transaction("Thread 2")
        .block("E", 1, Some(8))
        .op(2, Action::Write, "y", "1", "")
        .op(5, Action::Read, "x", "1", "")
        .edge(3, 5, EdgeKind::Variable)
        .edge(2, 6, EdgeKind::Variable)
        .finish()
}

/// A cycle that passes through two transactions of one thread.
pub fn program_order() -> Finding {
    Sketch::default()
        .transaction("T0")
        .block("outer", 0, Some(9))
        .refuted()
        .op(1, Action::Write, "x", "", "")
        .op(8, Action::Write, "y", "", "")
        .transaction("T1")
        .block("get", 2, Some(4))
        .op(3, Action::Read, "x", "", "")
        .op(4, Action::End, "get", "", "")
        .transaction("T1")
        .block("put", 5, Some(7))
        .op(5, Action::Begin, "put", "", "")
        .op(6, Action::Write, "y", "", "")
        .edge(1, 3, EdgeKind::Variable)
        .edge(4, 5, EdgeKind::ProgramOrder)
        .edge(6, 8, EdgeKind::Variable)
        .finish()
}

/// Transactions that overlap in time, and arrows that cross lanes in both directions.
pub fn tangle() -> Finding {
    Sketch::default()
        .transaction("T1")
        .block("Pool.drain", 0, Some(60))
        .refuted()
        .op(1, Action::Write, "a", "", "Pool.java:11")
        .op(50, Action::Read, "f", "", "Pool.java:12")
        .transaction("T2")
        .block("Queue.take", 2, Some(30))
        .op(10, Action::Read, "a", "", "Queue.java:6")
        .op(12, Action::Write, "b", "", "Queue.java:7")
        .transaction("T4")
        .block("Log.flush", 4, Some(45))
        .op(14, Action::Read, "b", "", "Log.java:8")
        .op(20, Action::Write, "c", "", "Log.java:9")
        .transaction("T3")
        .block("Cache.load", 3, Some(41))
        .op(22, Action::Read, "c", "", "Cache.java:41")
        .op(24, Action::Write, "d", "", "Cache.java:42")
        .transaction("T2")
        .block("Queue.put", 31, Some(47))
        .op(34, Action::Read, "d", "", "Queue.java:16")
        .op(36, Action::Write, "e", "", "Queue.java:17")
        .transaction("T5")
        .block("Stats.sum", 5, Some(49))
        .op(38, Action::Read, "e", "", "Stats.java:2")
        .op(40, Action::Write, "f", "", "Stats.java:3")
        .edge(1, 10, EdgeKind::Variable)
        .edge(12, 14, EdgeKind::Variable)
        .edge(20, 22, EdgeKind::Variable)
        .edge(24, 34, EdgeKind::Variable)
        .edge(36, 38, EdgeKind::Variable)
        .edge(40, 50, EdgeKind::Variable)
        .finish()
}
