//! What instructions do to the stack, in slots.

use untorn_bytecode::op;

/// The slots of each operand that an instruction takes from the stack, and how many slots it puts on
/// it. `None` for those whose shape depends on a constant, for copies and for what does not exist.
#[rustfmt::skip]
pub const fn shape(opcode: u8) -> Option<(&'static [u8], usize)> {
    Some(match opcode {
        op::NOP | op::GOTO | op::GOTO_W | op::RETURN => (&[], 0),
        op::LCONST_0 | op::LCONST_1 | op::DCONST_0 | op::DCONST_1 | op::LDC2_W => (&[], 2),
        op::ACONST_NULL..=op::LDC_W | op::NEW => (&[], 1),
        op::LALOAD | op::DALOAD => (&[1, 1], 2),
        op::IALOAD..=op::SALOAD => (&[1, 1], 1),
        op::LASTORE | op::DASTORE => (&[1, 1, 2], 0),
        op::IASTORE..=op::SASTORE => (&[1, 1, 1], 0),
        op::POP => (&[1], 0),
        op::POP2 => (&[1, 1], 0),
        op::IADD..=op::DREM => if opcode % 2 == op::IADD % 2 { (&[1, 1], 1) } else { (&[2, 2], 2) },
        op::INEG | op::FNEG => (&[1], 1),
        op::LNEG | op::DNEG => (&[2], 2),
        op::ISHL | op::ISHR | op::IUSHR | op::IAND | op::IOR | op::IXOR => (&[1, 1], 1),
        op::LSHL | op::LSHR | op::LUSHR => (&[2, 1], 2),
        op::LAND | op::LOR | op::LXOR => (&[2, 2], 2),
        op::I2L | op::I2D | op::F2L | op::F2D => (&[1], 2),
        op::L2I | op::L2F | op::D2I | op::D2F => (&[2], 1),
        op::L2D | op::D2L => (&[2], 2),
        op::I2F | op::F2I | op::I2B | op::I2C | op::I2S => (&[1], 1),
        op::LCMP | op::DCMPL | op::DCMPG => (&[2, 2], 1),
        op::FCMPL | op::FCMPG => (&[1, 1], 1),
        op::IFEQ..=op::IFLE | op::IFNULL | op::IFNONNULL => (&[1], 0),
        op::IF_ICMPEQ..=op::IF_ACMPNE => (&[1, 1], 0),
        op::TABLESWITCH | op::LOOKUPSWITCH => (&[1], 0),
        op::IRETURN | op::FRETURN | op::ARETURN | op::ATHROW => (&[1], 0),
        op::LRETURN | op::DRETURN => (&[2], 0),
        op::NEWARRAY | op::ANEWARRAY | op::ARRAYLENGTH | op::CHECKCAST | op::INSTANCEOF => (&[1], 1),
        op::MONITORENTER | op::MONITOREXIT => (&[1], 0),
        _ => return None,
    })
}

/// For the instructions that shuffle the stack: how many slots they take, and which of these, the
/// lowest being 0, they put back.
#[rustfmt::skip]
pub const fn shuffle(opcode: u8) -> Option<(usize, &'static [usize])> {
    Some(match opcode {
        op::DUP => (1, &[0, 0]),
        op::DUP_X1 => (2, &[1, 0, 1]),
        op::DUP_X2 => (3, &[2, 0, 1, 2]),
        op::DUP2 => (2, &[0, 1, 0, 1]),
        op::DUP2_X1 => (3, &[1, 2, 0, 1, 2]),
        op::DUP2_X2 => (4, &[2, 3, 0, 1, 2, 3]),
        op::SWAP => (2, &[1, 0]),
        _ => return None,
    })
}

/// How many slots a local variable of a load or store takes.
#[rustfmt::skip]
pub const fn local_slots(opcode: u8) -> usize {
    match opcode {
        op::LLOAD | op::DLOAD | op::LSTORE | op::DSTORE
        | op::LLOAD_0..=op::LLOAD_3 | op::DLOAD_0..=op::DLOAD_3
        | op::LSTORE_0..=op::LSTORE_3 | op::DSTORE_0..=op::DSTORE_3 => 2,
        _ => 1,
    }
}
