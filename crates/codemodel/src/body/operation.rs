//! What instructions compute and decide, as types: nothing of an opcode is lost but its encoding.

use untorn_bytecode::op;

use crate::ids::{ClassId, Node};

/// The types that instructions compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberType {
    Int,
    Long,
    Float,
    Double,
}

impl NumberType {
    /// Opcodes of one operation are numbered in this order.
    const ALL: [Self; 4] = [Self::Int, Self::Long, Self::Float, Self::Double];
}

/// The primitive types of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    Boolean,
    Byte,
    Char,
    Short,
    Int,
    Long,
    Float,
    Double,
}

/// An operation of two operands. Of shifts the second one is an int.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
    And,
    Or,
    Xor,
}

/// What a comparison of floating-point numbers gives if one of them is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IfNan {
    Less,
    Greater,
}

/// Computes a number from its operands, without any effect but perhaps an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    Binary(Arithmetic, NumberType),
    Negate(NumberType),
    /// Adds a constant to an int.
    Increment(i16),
    Convert(NumberType, Primitive),
    /// -1, 0 or 1 as the first operand is less than, equal to or greater than the second.
    CompareLongs,
    CompareFloats(IfNan),
    CompareDoubles(IfNan),
    ArrayLength,
    InstanceOf(ClassId),
}

impl Operation {
    /// The operation of an opcode; `None` if it is none, or names a class.
    pub(super) const fn of(opcode: u8) -> Option<Self> {
        Some(match opcode {
            op::IADD..=op::DREM => Self::Binary(
                BINARY[(opcode - op::IADD) as usize / 4],
                NumberType::ALL[(opcode - op::IADD) as usize % 4],
            ),
            op::INEG..=op::DNEG => Self::Negate(NumberType::ALL[(opcode - op::INEG) as usize]),
            // From here on, ints and longs only.
            op::ISHL..=op::LXOR => Self::Binary(
                BITWISE[(opcode - op::ISHL) as usize / 2],
                NumberType::ALL[(opcode - op::ISHL) as usize % 2],
            ),
            op::I2L..=op::I2S => {
                let (from, to) = CONVERSIONS[(opcode - op::I2L) as usize];
                Self::Convert(from, to)
            }
            op::LCMP => Self::CompareLongs,
            op::FCMPL => Self::CompareFloats(IfNan::Less),
            op::FCMPG => Self::CompareFloats(IfNan::Greater),
            op::DCMPL => Self::CompareDoubles(IfNan::Less),
            op::DCMPG => Self::CompareDoubles(IfNan::Greater),
            op::ARRAYLENGTH => Self::ArrayLength,
            _ => return None,
        })
    }
}

const BINARY: [Arithmetic; 5] = [
    Arithmetic::Add,
    Arithmetic::Subtract,
    Arithmetic::Multiply,
    Arithmetic::Divide,
    Arithmetic::Remainder,
];

const BITWISE: [Arithmetic; 6] = [
    Arithmetic::ShiftLeft,
    Arithmetic::ShiftRight,
    Arithmetic::ShiftRightUnsigned,
    Arithmetic::And,
    Arithmetic::Or,
    Arithmetic::Xor,
];

const CONVERSIONS: [(NumberType, Primitive); 15] = [
    (NumberType::Int, Primitive::Long),
    (NumberType::Int, Primitive::Float),
    (NumberType::Int, Primitive::Double),
    (NumberType::Long, Primitive::Int),
    (NumberType::Long, Primitive::Float),
    (NumberType::Long, Primitive::Double),
    (NumberType::Float, Primitive::Int),
    (NumberType::Float, Primitive::Long),
    (NumberType::Float, Primitive::Double),
    (NumberType::Double, Primitive::Int),
    (NumberType::Double, Primitive::Long),
    (NumberType::Double, Primitive::Float),
    (NumberType::Int, Primitive::Byte),
    (NumberType::Int, Primitive::Char),
    (NumberType::Int, Primitive::Short),
];

/// How a branch compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    Equal,
    NotEqual,
    Less,
    GreaterOrEqual,
    Greater,
    LessOrEqual,
}

impl Relation {
    /// Opcodes of branches are numbered in this order.
    const ALL: [Self; 6] = [
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::GreaterOrEqual,
        Self::Greater,
        Self::LessOrEqual,
    ];
}

/// When a branch is taken: then the first successor of its block is next, and else the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// The int operand is compared with 0.
    Zero(Relation),
    /// Two ints are compared.
    Ints(Relation),
    /// Both references are, or are not, to the same object.
    Same,
    NotSame,
    Null,
    NotNull,
    /// The int operand chooses among the cases of [`Body::switch`](super::Body::switch).
    Switch,
}

impl Condition {
    pub(super) const fn of(opcode: u8) -> Option<Self> {
        Some(match opcode {
            op::IFEQ..=op::IFLE => Self::Zero(Relation::ALL[(opcode - op::IFEQ) as usize]),
            op::IF_ICMPEQ..=op::IF_ICMPLE => {
                Self::Ints(Relation::ALL[(opcode - op::IF_ICMPEQ) as usize])
            }
            op::IF_ACMPEQ => Self::Same,
            op::IF_ACMPNE => Self::NotSame,
            op::IFNULL => Self::Null,
            op::IFNONNULL => Self::NotNull,
            op::TABLESWITCH | op::LOOKUPSWITCH => Self::Switch,
            _ => return None,
        })
    }
}

/// Where a switch goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    pub cases: Vec<(i32, Node)>,
    pub default: Node,
}

/// What an array that is loaded from or stored to holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    Int,
    Long,
    Float,
    Double,
    Reference,
    ByteOrBoolean,
    Char,
    Short,
}

impl Element {
    /// Opcodes of loads and stores are numbered in this order.
    pub(super) const ALL: [Self; 8] = [
        Self::Int,
        Self::Long,
        Self::Float,
        Self::Double,
        Self::Reference,
        Self::ByteOrBoolean,
        Self::Char,
        Self::Short,
    ];
}

/// The class of a new array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayClass {
    Of(Primitive),
    /// Of references to this class.
    OfReferences(ClassId),
    /// The array class itself, of which the first dimensions get their lengths from the operands.
    Whole(ClassId),
}

impl ArrayClass {
    /// The element type that `newarray` names (JVMS table 6.5.newarray-A).
    pub(super) const fn of_code(code: i32) -> Option<Self> {
        Some(Self::Of(match code {
            4 => Primitive::Boolean,
            5 => Primitive::Char,
            6 => Primitive::Float,
            7 => Primitive::Double,
            8 => Primitive::Byte,
            9 => Primitive::Short,
            10 => Primitive::Int,
            11 => Primitive::Long,
            _ => return None,
        }))
    }
}
