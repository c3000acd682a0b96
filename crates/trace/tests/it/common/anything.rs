//! Random traces that need not make sense, with everything that a trace can contain.

use untorn_testkit::Rng;
use untorn_trace::{
    Access, AddressRange, BlockKind, CallOutcome, CodePosition, Event, Hold, LabelFacts, LabelId,
    LockId, MemberId, MemoryOrder, ObjectId, Op, RecordingSummary, RunMeta, Site, SiteFacts,
    SiteId, Tables, ThreadId, Trace, Value, ValueKind, VarFacts, VarId, VarRole,
};

const KINDS: [ValueKind; 6] = [
    ValueKind::Int,
    ValueKind::Bool,
    ValueKind::Char,
    ValueKind::Float,
    ValueKind::Double,
    ValueKind::Ref,
];

fn random_value(rng: &mut Rng) -> Value {
    let bits = rng.bits();
    Value(match rng.below(10) {
        0 => 0,
        1 => 1,
        2 => u64::from(rng.below(0x11_0000)),
        3 => f64::NAN.to_bits(),
        4 => [f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.1][rng.below(4) as usize].to_bits(),
        5 => u64::from([f32::NAN, f32::INFINITY, -0.0, 0.1][rng.below(4) as usize].to_bits()),
        6 => bits >> 32,
        7 => Value::int(-(i64::from(rng.below(1000)))).0,
        _ => bits,
    })
}

fn random_tables(rng: &mut Rng) -> Tables {
    let mut tables = Tables::default();
    let texts = ["", "A.java", "a:b:7", "7"];
    for i in 0..6 {
        tables.threads.intern(&format!("thread \"{i}\""));
        tables.locks.intern(&format!("lock\n{i}"));
        let label = tables.labels.intern(&format!("A.m{i}(int)"));
        if rng.below(2) == 0 {
            let class = tables.sites.intern_symbol(rng.pick(&texts));
            let method = tables.sites.intern_symbol(rng.pick(&texts));
            let (is_library, is_entry) = (rng.below(2) == 0, rng.below(2) == 0);
            tables.set_label_facts(label, LabelFacts { class, method, is_library, is_entry });
        }
        let var = tables.vars.intern(&format!("näme {i}"));
        if rng.below(3) > 0 {
            let initial = (rng.below(2) == 0).then(|| random_value(rng));
            let facts = VarFacts::new(rng.pick(&KINDS), initial);
            let owner = [ObjectId::NONE, ObjectId(rng.below(5)), ObjectId::class(rng.below(3))];
            let member = tables.members.intern(rng.pick(&texts));
            let member = rng.pick(&[MemberId::NONE, member]);
            let role = rng.pick(&VarRole::ALL);
            tables.set_var_facts(var, facts.with_place(role, rng.pick(&owner), member));
            if role == VarRole::Memory {
                let address = u64::from(rng.below(1000)) << 40;
                tables.set_var_range(var, AddressRange { address, size: 1 + rng.below(8) });
            }
        }
    }
    for _ in 0..6 {
        let [file, method, class, text] = [0; 4].map(|_| rng.pick(&texts));
        let offset = u64::from(rng.below(9)) << 33;
        let position = [
            CodePosition::Unknown,
            CodePosition::Text("7"),
            CodePosition::Bytecode { descriptor: text, offset: Some(rng.below(9)) },
            CodePosition::Bytecode { descriptor: text, offset: None },
            CodePosition::Module { module: text, offset },
        ];
        let facts = SiteFacts {
            is_library: rng.below(2) == 0,
            access_size: rng.below(9) as u8,
            order: rng.pick(&MemoryOrder::ALL),
        };
        let inlined_into = tables.sites.len().checked_sub(1).map(SiteId::from_index);
        let (line, position) = (rng.below(3), rng.pick(&position));
        let site = Site { file, line, method, class, position, facts, inlined_into };
        tables.sites.intern(&site);
    }
    tables.sites.intern_loc("A.java:12");
    tables.sites.intern_loc("345");
    tables.sites.intern_loc("a:07");
    if rng.below(2) == 0 {
        tables.meta = RunMeta {
            command: vec!["java".into(), "A \"b\"".into()],
            seed: Some(rng.bits()),
            front_end: "generate".into(),
            setup: None,
            summary: (rng.below(2) == 0).then(RecordingSummary::default),
            other: [("jvm".to_owned(), serde_json::json!({"version": [1, 2.5]}))].into(),
        };
    }
    tables
}

fn random_op(rng: &mut Rng) -> Op {
    let id = rng.below(6);
    let (var, lock, child) = (VarId(id), LockId(id), ThreadId(id));
    let label = if rng.below(4) == 0 { LabelId::NONE } else { LabelId(id) };
    let access = rng.pick(&[Access::Plain, Access::Volatile, Access::Update]);
    let hold = rng.pick(&[Hold::Exclusive, Hold::Shared]);
    let (known, value) = (false, Value(0));
    let outcome = rng.pick(&[CallOutcome::Returned, CallOutcome::Threw]);
    let kind = rng.pick(&BlockKind::ALL);
    let op = match rng.below(21) {
        0 => Op::Read { var, access, known, value },
        1 => Op::Write { var, access, known, value },
        2 => Op::Acquire { lock, hold },
        3 => Op::Release { lock, hold },
        4 => Op::Request { lock },
        5 => Op::Wait { lock },
        6 => Op::Resume { lock },
        7 => Op::Notify { lock, all: false },
        8 => Op::Notify { lock, all: true },
        9 => Op::Fork { child },
        10 => Op::Join { child },
        11 => Op::begin(label),
        12 => Op::End { label },
        13 => Op::Branch { count: rng.bits() as u32 },
        14 => Op::Call { method: label, known, value },
        15 => Op::Return { method: label, outcome, known, value },
        16 => Op::Begin { kind, label, lock },
        17 => Op::Argument { method: label, number: rng.below(128) as u8, known, value },
        18 => Op::Allocate { object: ObjectId(rng.below(9)), known, value },
        19 => Op::Deallocate { object: ObjectId(rng.below(9)) },
        _ => Op::Input { source: label, known, value },
    };
    if rng.below(4) > 0 { op.with_value(random_value(rng)) } else { op }
}

/// A trace with everything that events and tables can contain.
pub fn random_trace(rng: &mut Rng) -> Trace {
    let tables = random_tables(rng);
    let mut event = || {
        let site = rng.below(tables.sites.len() as u32 + 1);
        let site = if site as usize == tables.sites.len() { SiteId::NONE } else { SiteId(site) };
        Event::new(ThreadId(rng.below(6)), random_op(rng), site)
    };
    let events = (0..40).map(|_| event()).collect();
    Trace { tables, events }
}
