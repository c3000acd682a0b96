//! Bodies against naive definitions, on random methods with loops and handlers: which ways there
//! are, and which definitions reach a use.

use std::collections::{BTreeMap, BTreeSet};

use untorn_bytecode::{ClassFile, op};
use untorn_codemodel::BodyError;
use untorn_codemodel::body::{Action, Body, ValueDef, build};
use untorn_codemodel::ids::{InstrId, Node, ValueId};
use untorn_testkit::class_file::{Body as Code, Maker};
use untorn_testkit::rng::Rng;

use crate::common::NoNames;

/// Random methods.
fn cases() -> u64 {
    untorn_testkit::cases(20_000, 400_000)
}

const LOCALS: u32 = 4;

/// A statement of a random method. Each leaves the stack as it was.
#[derive(Clone, Copy, Debug)]
enum Statement {
    /// `x = constant`
    Set(u8),
    /// `x = y`
    Copy(u8, u8),
    /// `x++`
    Increment(u8),
    /// `use(x)`, which may throw
    Use(u8),
}

#[derive(Clone, Copy, Debug)]
enum End {
    FallsThrough,
    Goes(usize),
    /// `if (x == 0) goto`
    Asks(u8, usize),
    Returns,
    Throws,
}

#[derive(Debug)]
struct Program {
    blocks: Vec<(Vec<Statement>, End)>,
    /// First and last block that is covered, and the handler's block.
    handlers: Vec<(usize, usize, usize)>,
    /// The block begins with an exception on the stack.
    catches: Vec<bool>,
}

fn random(rng: &mut Rng) -> Program {
    let len = rng.between(1, 8) as usize;
    let extra = rng.below(3) as usize;
    let local = |rng: &mut Rng| rng.below(LOCALS) as u8;
    let mut blocks = Vec::new();
    for at in 0..len + extra {
        let statements = (0..rng.below(4)).map(|_| match rng.below(5) {
            0 | 1 => Statement::Use(local(rng)),
            2 => Statement::Copy(local(rng), local(rng)),
            3 => Statement::Increment(local(rng)),
            _ => Statement::Set(local(rng)),
        });
        let statements = statements.collect();
        let target = rng.below(len as u32) as usize;
        // A handler must not be run into, and the last block must not be run out of.
        let end = match rng.below(6) {
            0 | 1 if at + 1 < len => End::FallsThrough,
            2 => End::Goes(target),
            3 if at + 1 < len => End::Asks(local(rng), target),
            4 => End::Throws,
            _ => End::Returns,
        };
        blocks.push((statements, end));
    }
    let handlers = (len..len + extra).map(|handler| {
        let start = rng.below(len as u32) as usize;
        (start, rng.between(start as u32, (len + extra) as u32 - 1) as usize, handler)
    });
    let handlers = handlers.collect();
    let catches = (0..len + extra).map(|at| at >= len).collect();
    Program { blocks, handlers, catches }
}

/// An instruction of the naive view, with the pc where it stands.
#[derive(Clone, Copy, Debug)]
enum Naive {
    Statement(Statement),
    End(End),
    Pop,
}

/// The bytes of a program, and its instructions by pc.
fn assemble(program: &Program) -> (Vec<u8>, BTreeMap<u32, (usize, Naive)>) {
    let mut maker = Maker::new(61);
    let called = maker.member(10, "Made", "use", "(I)V").to_be_bytes();
    let mut code = Vec::new();
    let mut naive = BTreeMap::new();
    let mut starts = Vec::new();
    let mut jumps = Vec::new();
    for (block, (statements, end)) in program.blocks.iter().enumerate() {
        starts.push(code.len());
        if program.catches[block] {
            naive.insert(code.len() as u32, (block, Naive::Pop));
            code.push(op::POP);
        }
        for &statement in statements {
            naive.insert(code.len() as u32, (block, Naive::Statement(statement)));
            match statement {
                Statement::Set(x) => code.extend([op::ICONST_1, op::ISTORE, x]),
                Statement::Copy(x, y) => code.extend([op::ILOAD, y, op::ISTORE, x]),
                Statement::Increment(x) => code.extend([op::IINC, x, 1]),
                Statement::Use(x) => {
                    code.extend([op::ILOAD, x, op::INVOKESTATIC, called[0], called[1]]);
                }
            }
        }
        naive.insert(code.len() as u32, (block, Naive::End(*end)));
        match *end {
            // Something to stand at.
            End::FallsThrough => code.push(op::NOP),
            End::Goes(to) => {
                jumps.push((code.len(), to));
                code.extend([op::GOTO, 0, 0]);
            }
            End::Asks(x, to) => {
                code.extend([op::ILOAD, x]);
                jumps.push((code.len(), to));
                code.extend([op::IFEQ, 0, 0]);
            }
            End::Returns => code.push(op::RETURN),
            End::Throws => code.extend([op::ACONST_NULL, op::ATHROW]),
        }
    }
    starts.push(code.len());
    for (at, to) in jumps {
        let offset = (starts[to] as i64 - at as i64) as i16;
        code[at + 1..at + 3].copy_from_slice(&offset.to_be_bytes());
    }
    let mut body = Code::new(code);
    body.descriptor = "(IIII)V";
    for &(first, last, handler) in &program.handlers {
        let [start, end, target] = [starts[first], starts[last + 1], starts[handler]];
        body.handlers.push([start as u16, end as u16, target as u16, 0]);
    }
    maker.method(&body);
    (maker.finish(), naive)
}

/// What a local variable may hold: the pcs where it was made, or the parameter (beyond all pcs).
type Origins = Vec<BTreeSet<u32>>;

const PARAMETER: u32 = 1_000_000;

/// The ways of the naive view: from each pc, the next ones, and whether by an exception.
fn ways(program: &Program, naive: &BTreeMap<u32, (usize, Naive)>) -> Vec<(u32, u32, bool)> {
    let first = |block: usize| {
        let found = naive.iter().find(|(_, (other, _))| *other == block);
        *found.expect("no block is empty").0
    };
    let mut ways = Vec::new();
    for (&pc, &(block, instr)) in naive {
        let next = naive.range(pc + 1..).next().map(|(&next, _)| next);
        match instr {
            Naive::End(End::Goes(to)) => ways.push((pc, first(to), false)),
            Naive::End(End::Asks(_, to)) => {
                ways.push((pc, first(to), false));
                ways.extend(next.map(|next| (pc, next, false)));
            }
            Naive::End(End::Returns | End::Throws) => {}
            _ => ways.extend(next.map(|next| (pc, next, false))),
        }
        let throws = matches!(instr, Naive::Statement(Statement::Use(_)) | Naive::End(End::Throws));
        // Everything is caught by the first handler that covers it.
        let handler = program.handlers.iter().find(|(from, to, _)| (*from..=*to).contains(&block));
        if let Some(&(_, _, handler)) = handler.filter(|_| throws) {
            ways.push((pc, first(handler), true));
        }
    }
    ways
}

/// Collects what may be where until nothing changes.
fn naive_origins(
    naive: &BTreeMap<u32, (usize, Naive)>,
    ways: &[(u32, u32, bool)],
) -> BTreeMap<u32, Origins> {
    let start: Origins = (0..LOCALS).map(|local| BTreeSet::from([PARAMETER + local])).collect();
    let mut states = BTreeMap::from([(0, start)]);
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for &(from, to, _) in ways {
            let Some(mut state) = states.get(&from).cloned() else { continue };
            if let Naive::Statement(statement) = naive[&from].1 {
                match statement {
                    Statement::Set(x) | Statement::Increment(x) => {
                        state[usize::from(x)] = BTreeSet::from([from]);
                    }
                    Statement::Copy(x, y) => {
                        state[usize::from(x)] = state[usize::from(y)].clone();
                    }
                    Statement::Use(_) => {}
                }
            }
            let known = states.entry(to).or_insert_with(|| vec![BTreeSet::new(); LOCALS as usize]);
            let before = known.clone();
            for (known, new) in known.iter_mut().zip(state) {
                known.extend(new);
            }
            changed |= *known != before || before.iter().all(BTreeSet::is_empty);
        }
    }
    states
}

fn origins(body: &Body, value: ValueId) -> BTreeSet<u32> {
    let origin = |value: ValueId| match body.value(value) {
        ValueDef::Parameter(number) => PARAMETER + number,
        ValueDef::Instr(at) => body.instr(*at).pc,
        other => panic!("{other:?} defines a number"),
    };
    body.reaching(value).into_iter().map(origin).collect()
}

fn body_of(bytes: &[u8]) -> Body {
    let class = ClassFile::parse(bytes).expect("made well");
    build(&class, &class.methods()[0], &mut NoNames).expect("made well")
}

#[test]
fn uses_know_the_definitions_that_reach_them() {
    let mut rng = Rng::new(4);
    let (mut uses, mut merged) = (0, 0);
    for case in 0..cases() {
        let program = random(&mut rng);
        let (bytes, naive) = assemble(&program);
        let states = naive_origins(&naive, &ways(&program, &naive));
        let body = body_of(&bytes);
        let mut seen = BTreeSet::new();
        for instr in body.instrs.iter().filter(|instr| !instr.operands.is_empty()) {
            // A call or branch follows the load of its variable.
            let load = match instr.action {
                Action::Call(..) | Action::Branch(_) => instr.pc - 2,
                _ => continue,
            };
            let (Naive::Statement(Statement::Use(x)) | Naive::End(End::Asks(x, _))) =
                naive[&load].1
            else {
                panic!("case {case}: {instr:?}")
            };
            let expected = &states[&load][usize::from(x)];
            let found = origins(&body, instr.operands[0]);
            assert_eq!(found, *expected, "case {case}, pc {}: {program:#?}", instr.pc);
            seen.insert(load);
            uses += 1;
            merged += u64::from(expected.len() > 1);
        }
        // What can run is there, and nothing else.
        let is_use = |instr: &Naive| {
            matches!(instr, Naive::Statement(Statement::Use(_)) | Naive::End(End::Asks(..)))
        };
        let expected = states.keys().copied().filter(|pc| is_use(&naive[pc].1));
        assert_eq!(seen, expected.collect::<BTreeSet<u32>>(), "case {case}");
    }
    assert!(uses > cases() && merged > cases() / 10, "{uses} uses, {merged} of merges");
}

#[test]
fn ways_between_instructions_are_all_there() {
    let mut rng = Rng::new(5);
    for case in 0..cases() / 4 {
        let program = random(&mut rng);
        let (bytes, naive) = assemble(&program);
        let ways = ways(&program, &naive);
        let body = body_of(&bytes);
        let graph = body.full_graph();
        // The statement that an instruction of the body belongs to.
        let home = |at: InstrId| {
            let pc = body.instr(at).pc;
            *naive.range(..=pc).next_back().expect("a statement").0
        };
        for a in body.ids() {
            let mut after = BTreeSet::new();
            let mut open = vec![home(a)];
            while let Some(pc) = open.pop() {
                for &(_, to, _) in ways.iter().filter(|way| way.0 == pc) {
                    if after.insert(to) {
                        open.push(to);
                    }
                }
            }
            let block = body.instr(a).block;
            // Handlers belong to whole blocks: after the last call of one there are too many paths.
            let throws = |at: &InstrId| {
                let instr = body.instr(*at);
                instr.block == block && matches!(instr.action, Action::Call(..) | Action::Throw)
            };
            let handled = !body.blocks[block.at()].catches.is_empty();
            let exact = !handled || body.ids().filter(throws).any(|thrower| thrower >= a);
            let next: BTreeSet<Node> = graph.succs(block).iter().copied().collect();
            for b in body.ids().filter(|&b| home(a) != home(b)) {
                let other = body.instr(b).block;
                let reaches = next.iter().any(|&next| graph.reachable(next)[other.at()]);
                let found = block == other && a < b || reaches;
                let expected = after.contains(&home(b));
                let right = found == expected || found && !exact;
                assert!(right, "case {case}: {a:?} {b:?} {program:?}");
            }
        }
    }
}

/// Found by mutation: a store to a field of the type `void` has no value to store.
#[test]
fn a_field_of_no_type_is_refused() {
    let mut maker = Maker::new(61);
    let field = maker.member(9, "Made", "nothing", "V").to_be_bytes();
    let code = [op::ACONST_NULL, op::PUTFIELD, field[0], field[1], op::RETURN];
    maker.method(&Code::new(code));
    let bytes = maker.finish();
    let class = ClassFile::parse(&bytes).expect("made well but for the field");
    let refused = build(&class, &class.methods()[0], &mut NoNames).err();
    assert_eq!(refused, Some(BodyError::Malformed("a descriptor")));
}
