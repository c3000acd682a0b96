//! Bodies keep what each instruction computes or decides.

use std::collections::BTreeMap;

use untorn_bytecode::{ClassFile, op};
use untorn_codemodel::body::{
    Action, Arithmetic, ArrayClass, Body, Condition, Element, IfNan, Number, NumberType, Operation,
    Primitive, Relation, build,
};
use untorn_codemodel::ids::{ClassId, Node};
use untorn_testkit::class_file::{Body as Code, Maker};

use crate::common::NoNames;

fn body_of(code: &[u8]) -> Body {
    let mut made = Code::new(code);
    made.max_stack = 8;
    let bytes = Maker::with(61, &made);
    let class = ClassFile::parse(&bytes).expect("made well");
    build(&class, &class.methods()[0], &mut NoNames)
        .unwrap_or_else(|error| panic!("{code:?}: {error}"))
}

/// The result for an instruction after four slots of zeros; `None` if it has no operation.
fn action_of(instr: &[u8]) -> Option<Action> {
    let mut code = vec![op::ICONST_0; 4];
    code.extend(instr);
    code.extend([op::RETURN, op::RETURN]);
    let body = body_of(&code);
    body.instrs.iter().find(|instr| instr.pc == 4).map(|instr| instr.action)
}

/// Class 2 of the pool of made classes is their own.
const OWN_CLASS: [u8; 2] = [0, 2];
const CLASS: ClassId = ClassId(0);

/// Every instruction that stays one and needs no constant but a class, with its meaning.
fn meanings() -> BTreeMap<u8, Action> {
    use Arithmetic::{
        Add, And, Divide, Multiply, Or, Remainder, ShiftLeft, ShiftRight, ShiftRightUnsigned,
        Subtract, Xor,
    };
    use NumberType::{Double, Float, Int, Long};
    let compute = |opcode: u8, operation: Operation| (opcode, Action::Compute(operation));
    let mut found = BTreeMap::new();
    let arithmetic =
        [(op::IADD, Add), (op::ISUB, Subtract), (op::IMUL, Multiply), (op::IDIV, Divide)];
    for (first, operation) in arithmetic.into_iter().chain([(op::IREM, Remainder)]) {
        for (opcode, kind) in (first..).zip([Int, Long, Float, Double]) {
            found.extend([compute(opcode, Operation::Binary(operation, kind))]);
        }
    }
    let shifts = [(op::ISHL, ShiftLeft), (op::ISHR, ShiftRight), (op::IUSHR, ShiftRightUnsigned)];
    for (first, operation) in
        shifts.into_iter().chain([(op::IAND, And), (op::IOR, Or), (op::IXOR, Xor)])
    {
        for (opcode, kind) in (first..).zip([Int, Long]) {
            found.extend([compute(opcode, Operation::Binary(operation, kind))]);
        }
    }
    let negations = [(op::INEG, Int), (op::LNEG, Long), (op::FNEG, Float), (op::DNEG, Double)];
    found.extend(negations.map(|(opcode, kind)| compute(opcode, Operation::Negate(kind))));
    found.extend(
        conversions().map(|(opcode, from, to)| compute(opcode, Operation::Convert(from, to))),
    );
    found.extend([
        compute(op::LCMP, Operation::CompareLongs),
        compute(op::FCMPL, Operation::CompareFloats(IfNan::Less)),
        compute(op::FCMPG, Operation::CompareFloats(IfNan::Greater)),
        compute(op::DCMPL, Operation::CompareDoubles(IfNan::Less)),
        compute(op::DCMPG, Operation::CompareDoubles(IfNan::Greater)),
        compute(op::ARRAYLENGTH, Operation::ArrayLength),
        compute(op::INSTANCEOF, Operation::InstanceOf(CLASS)),
        (op::ACONST_NULL, Action::Null),
        (op::CHECKCAST, Action::Cast(CLASS)),
        (op::NEW, Action::New(CLASS)),
        (op::ANEWARRAY, Action::NewArray(ArrayClass::OfReferences(CLASS))),
        (op::MONITORENTER, Action::Enter),
        (op::MONITOREXIT, Action::Exit),
        (op::ATHROW, Action::Throw),
    ]);
    found.extend(branches().map(|(opcode, condition)| (opcode, Action::Branch(condition))));
    let elements = [
        Element::Int,
        Element::Long,
        Element::Float,
        Element::Double,
        Element::Reference,
        Element::ByteOrBoolean,
        Element::Char,
        Element::Short,
    ];
    for (number, element) in (0..).zip(elements) {
        found.insert(op::IALOAD + number, Action::ArrayLoad(element));
        found.insert(op::IASTORE + number, Action::ArrayStore(element));
    }
    found
}

fn conversions() -> [(u8, NumberType, Primitive); 15] {
    use NumberType as From;
    use Primitive as To;
    [
        (op::I2L, From::Int, To::Long),
        (op::I2F, From::Int, To::Float),
        (op::I2D, From::Int, To::Double),
        (op::L2I, From::Long, To::Int),
        (op::L2F, From::Long, To::Float),
        (op::L2D, From::Long, To::Double),
        (op::F2I, From::Float, To::Int),
        (op::F2L, From::Float, To::Long),
        (op::F2D, From::Float, To::Double),
        (op::D2I, From::Double, To::Int),
        (op::D2L, From::Double, To::Long),
        (op::D2F, From::Double, To::Float),
        (op::I2B, From::Int, To::Byte),
        (op::I2C, From::Int, To::Char),
        (op::I2S, From::Int, To::Short),
    ]
}

fn branches() -> [(u8, Condition); 16] {
    [
        (op::IFEQ, Condition::Zero(Relation::Equal)),
        (op::IFNE, Condition::Zero(Relation::NotEqual)),
        (op::IFLT, Condition::Zero(Relation::Less)),
        (op::IFGE, Condition::Zero(Relation::GreaterOrEqual)),
        (op::IFGT, Condition::Zero(Relation::Greater)),
        (op::IFLE, Condition::Zero(Relation::LessOrEqual)),
        (op::IF_ICMPEQ, Condition::Ints(Relation::Equal)),
        (op::IF_ICMPNE, Condition::Ints(Relation::NotEqual)),
        (op::IF_ICMPLT, Condition::Ints(Relation::Less)),
        (op::IF_ICMPGE, Condition::Ints(Relation::GreaterOrEqual)),
        (op::IF_ICMPGT, Condition::Ints(Relation::Greater)),
        (op::IF_ICMPLE, Condition::Ints(Relation::LessOrEqual)),
        (op::IF_ACMPEQ, Condition::Same),
        (op::IF_ACMPNE, Condition::NotSame),
        (op::IFNULL, Condition::Null),
        (op::IFNONNULL, Condition::NotNull),
    ]
}

#[test]
fn each_operation_can_be_told() {
    let meanings = meanings();
    for (&opcode, &expected) in &meanings {
        let operands: &[u8] = match opcode {
            // A branch to the next instruction.
            op::IFEQ..=op::IF_ACMPNE | op::IFNULL | op::IFNONNULL => &[0, 3],
            op::INSTANCEOF | op::CHECKCAST | op::NEW | op::ANEWARRAY => &OWN_CLASS,
            _ => &[],
        };
        let instr = [&[opcode], operands].concat();
        assert_eq!(action_of(&instr), Some(expected), "opcode {opcode:#x}");
        let same = meanings.values().filter(|&&other| other == expected).count();
        assert_eq!(same, 1, "{expected:?} stands for several instructions");
    }
}

#[test]
fn no_instruction_is_forgotten() {
    let meanings = meanings();
    for opcode in 0..=op::JSR_W {
        let is_known = match opcode {
            // Constants, fields, calls, switches and arrays have tests of their own.
            op::ICONST_M1..=op::LDC2_W | op::GETSTATIC..=op::INVOKEDYNAMIC => true,
            op::TABLESWITCH | op::LOOKUPSWITCH | op::NEWARRAY | op::MULTIANEWARRAY | op::IINC => {
                true
            }
            // Instructions that only move values, and jumps.
            op::ILOAD..=op::ALOAD_3 | op::ISTORE..=op::ASTORE_3 | op::POP..=op::SWAP => true,
            op::NOP | op::GOTO | op::GOTO_W | op::WIDE => true,
            // The descriptor of a method contains what it returns.
            op::IRETURN..=op::RETURN => true,
            // Refused.
            op::JSR | op::JSR_W | op::RET => true,
            _ => meanings.contains_key(&opcode),
        };
        assert!(is_known, "opcode {opcode:#x}");
    }
}

#[test]
fn literals_keep_their_value() {
    let int = |value: i32| Some(Action::Literal(Number::Int(value)));
    for (opcode, value) in (op::ICONST_M1..=op::ICONST_5).zip(-1..) {
        assert_eq!(action_of(&[opcode]), int(value));
    }
    assert_eq!(action_of(&[op::BIPUSH, 0x80]), int(-128));
    assert_eq!(action_of(&[op::SIPUSH, 0x7f, 0xff]), int(32767));
    assert_eq!(action_of(&[op::LCONST_1]), Some(Action::Literal(Number::Long(1))));
    let float = Number::Float(2.0_f32.to_bits());
    assert_eq!(action_of(&[op::FCONST_2]), Some(Action::Literal(float)));
    let double = Number::Double(1.0_f64.to_bits());
    assert_eq!(action_of(&[op::DCONST_1]), Some(Action::Literal(double)));
    let increment = Action::Compute(Operation::Increment(-3));
    assert_eq!(action_of(&[op::IINC, 1, 0xfd]), Some(increment));
    let increment = Action::Compute(Operation::Increment(-300));
    assert_eq!(action_of(&[op::WIDE, op::IINC, 0, 1, 0xfe, 0xd4]), Some(increment));
}

#[test]
fn constants_keep_their_value() {
    let mut maker = Maker::new(61);
    let numbers = [
        (maker.number(3, &(-70_000_i32).to_be_bytes()), Number::Int(-70_000)),
        (maker.number(4, &2.5_f32.to_be_bytes()), Number::Float(2.5_f32.to_bits())),
        (maker.number(5, &i64::MIN.to_be_bytes()), Number::Long(i64::MIN)),
        (maker.number(6, &0.1_f64.to_be_bytes()), Number::Double(0.1_f64.to_bits())),
    ];
    let mut code = Vec::new();
    for (index, number) in numbers {
        let is_wide = matches!(number, Number::Long(_) | Number::Double(_));
        code.push(if is_wide { op::LDC2_W } else { op::LDC_W });
        code.extend(index.to_be_bytes());
    }
    code.push(op::RETURN);
    let mut made = Code::new(code);
    made.max_stack = 8;
    maker.method(&made);
    let bytes = maker.finish();
    let class = ClassFile::parse(&bytes).expect("made well");
    let body = build(&class, &class.methods()[0], &mut NoNames).expect("made well");
    let found: Vec<Action> = body.instrs.iter().map(|instr| instr.action).collect();
    let expected = numbers.map(|(index, number)| Action::Constant { index, number: Some(number) });
    assert_eq!(found[..4], expected);
}

#[test]
fn arrays_keep_their_element_type() {
    let types = [
        Primitive::Boolean,
        Primitive::Char,
        Primitive::Float,
        Primitive::Double,
        Primitive::Byte,
        Primitive::Short,
        Primitive::Int,
        Primitive::Long,
    ];
    for (code, element) in (4..).zip(types) {
        let expected = Action::NewArray(ArrayClass::Of(element));
        assert_eq!(action_of(&[op::NEWARRAY, code]), Some(expected));
    }
    let code = [op::ICONST_1, op::ICONST_2, op::MULTIANEWARRAY, 0, 2, 2, op::RETURN];
    let body = body_of(&code);
    assert_eq!(body.instrs[2].action, Action::NewArray(ArrayClass::Whole(CLASS)));
    assert_eq!(body.instrs[2].operands.len(), 2);
}

#[test]
fn a_value_that_is_used_twice_is_two_operands() {
    for (push, add) in [(op::ICONST_1, op::IADD), (op::LCONST_1, op::LADD)] {
        let copy = if add == op::IADD { op::DUP } else { op::DUP2 };
        let body = body_of(&[push, copy, add, op::RETURN]);
        let operands = &body.instrs[1].operands;
        assert_eq!(operands[..], [body.instrs[0].result.expect("a number"); 2]);
    }
    // The amount of a shift takes one slot, whatever is shifted.
    let body = body_of(&[op::LCONST_1, op::ICONST_2, op::LSHL, op::RETURN]);
    let made = |at: usize| body.instrs[at].result.expect("a number");
    assert_eq!(body.instrs[2].operands[..], [made(0), made(1)]);
}

#[test]
fn a_branch_knows_where_it_goes() {
    // 0: iconst_0  1: ifeq 5  4: return  5: return
    let body = body_of(&[op::ICONST_0, op::IFEQ, 0, 4, op::RETURN, op::RETURN]);
    let block = &body.blocks[0];
    assert_eq!((block.succs.first(), block.succs.last()), (Some(&Node(2)), Some(&Node(1))));
}

#[test]
fn switches_keep_their_cases() {
    let number = |number: i32| number.to_be_bytes();
    // The switch is at 1, its operands begin at 4.
    let head = [op::ICONST_0, op::TABLESWITCH, 0, 0];
    // The returns are at 28, 29 and 30, which are the offsets 27, 28 and 29.
    let table: Vec<u8> =
        [number(27), number(-1), number(1), number(28), number(27), number(29)].concat();
    let returns = [op::RETURN; 3];
    let code = [&head[..], &table, &returns[..]].concat();
    let body = body_of(&code);
    let switch = body.switch(body.ids().nth(1).expect("the switch")).expect("it is one");
    assert_eq!(switch.default, Node(1));
    assert_eq!(switch.cases, [(-1, Node(2)), (0, Node(1)), (1, Node(3))]);
    let head = [op::ICONST_0, op::LOOKUPSWITCH, 0, 0];
    let pairs: Vec<u8> =
        [number(27), number(2), number(-70_000), number(28), number(7), number(27)].concat();
    let body = body_of(&[&head[..], &pairs, &returns[..]].concat());
    let switch = body.switch(body.ids().nth(1).expect("the switch")).expect("it is one");
    assert_eq!(switch.default, Node(1));
    assert_eq!(switch.cases, [(-70_000, Node(2)), (7, Node(1))]);
    assert_eq!(body.switch(body.ids().next().expect("a number")), None);
}
