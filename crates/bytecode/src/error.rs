//! What can be wrong with a class file, and why a method was left as it was.

use thiserror::Error;

/// The bytes are not a class, or the class cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClassError {
    #[error("this is not a class file: it begins with {0:#010x}, not with 0xcafebabe")]
    Magic(u32),
    #[error("the class ends inside of {0}")]
    Truncated(&'static str),
    #[error("{0} bytes follow the end of the class")]
    Trailing(usize),
    #[error("constant {index} has the unknown tag {tag}")]
    Tag { index: u16, tag: u8 },
    #[error("constant {index} is not {wanted}")]
    Constant { index: u16, wanted: &'static str },
    #[error("method {method} has two Code attributes")]
    TwoCodes { method: usize },
    #[error("a stack map has unknown {0}")]
    StackMap(&'static str),
    #[error("the instruction at {pc} {why}")]
    Instruction { pc: u32, why: &'static str },
    #[error(transparent)]
    PoolFull(#[from] PoolFull),
}

/// A constant does not fit: 65 534 constants is all a class can hold, and 65 535 bytes all a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the constant pool has no room for another constant")]
pub struct PoolFull;

/// Why a method was copied as it was although it had an edit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SkipReason {
    #[error("the method is abstract or native")]
    NoCode,
    #[error("its code would exceed 65535 bytes")]
    TooLarge,
    #[error("a branch would exceed 16 bits")]
    BranchOverflow,
    #[error("its stack or its local variables would exceed 65535 slots")]
    FrameTooLarge,
    #[error("it has both subroutines (jsr, ret) and stack maps")]
    Subroutine,
    #[error("it has stack maps of CLDC")]
    CldcStackMap,
    #[error("it is a constructor, which cannot be wrapped")]
    WrapsConstructor,
    #[error("the code around it reads local variable 0, which is not `this` throughout")]
    OverwritesThis,
    #[error("no instruction begins at {0}")]
    NoInstruction(u32),
    #[error("its code is malformed: {0}")]
    Malformed(String),
}
