//! Broken classes do no harm: whatever the bytes, nothing panics, and what we write of them can be
//! read again.

use crate::common::instrument::{Filling, Variant};
use untorn_bytecode::jimage::Image;
use untorn_bytecode::{ClassEditor, ClassFile, Kind, Method, Snippet, Wrap, op};
use untorn_testkit::rng::Rng;

/// Some classes of the JDK that are small enough for many rounds, from all over it.
fn some_classes(image: &Image) -> Vec<&[u8]> {
    let small = |bytes: &&[u8]| (500..6000).contains(&bytes.len());
    let all = image.classes().map(|resource| resource.expect("the JDK's image is sound").bytes);
    all.filter(small).step_by(37).collect()
}

/// Where in the file the code of methods stands, with exception tables and stack maps.
fn code_places(bytes: &[u8]) -> Vec<(usize, usize)> {
    let class = ClassFile::parse(bytes).expect("the JDK's classes are well-formed");
    let is_code = |name| class.pool().utf8_bytes(name) == Ok(b"Code");
    let attributes = class.methods().iter().flat_map(|method| method.attributes().iter());
    attributes
        .filter(|attribute| is_code(attribute.name))
        .map(|attribute| {
            let start = attribute.content.as_ptr().addr() - bytes.as_ptr().addr();
            (start, attribute.content.len())
        })
        .collect()
}

fn mutate(bytes: &mut Vec<u8>, places: &[(usize, usize)], rng: &mut Rng) {
    for _ in 0..=rng.below(3) {
        let (start, len) = match places {
            [_, ..] if rng.chance(160) => rng.pick(places),
            _ => (0, bytes.len()),
        };
        let at = start + rng.below(len as u32) as usize;
        let number = match rng.below(4) {
            0 => [0; 4],
            1 => [0xff; 4],
            2 => (rng.below(300)).to_be_bytes(),
            _ => rng.below(u32::MAX).to_be_bytes(),
        };
        match rng.below(16) {
            0..7 => bytes[at] ^= 1 << rng.below(8),
            7..11 => bytes[at] = rng.bits() as u8,
            // Lengths, counts, indices and offsets have two or four bytes.
            11..13 => overwrite(bytes, at, &number[2..]),
            13..15 => overwrite(bytes, at, &number),
            _ => {
                bytes.truncate(at);
                return;
            }
        }
    }
}

fn overwrite(bytes: &mut [u8], at: usize, with: &[u8]) {
    for (byte, &new) in bytes[at..].iter_mut().zip(with) {
        *byte = new;
    }
}

/// Asks everything there is to ask.
fn read(class: &ClassFile<'_>) {
    let (pool, count) = (class.pool(), class.pool().count());
    for index in (0..=count).chain([u16::MAX]) {
        let _ = (pool.tag(index), pool.utf8(index), pool.class(index), pool.string(index));
        let _ = (pool.name_and_type(index), pool.member(index), pool.dynamic(index));
        let _ =
            (pool.method_handle(index), pool.bootstrap(index).map(|n| class.bootstrap_method(n)));
    }
    let _ = (class.super_name(), class.source_file(), class.interfaces().count());
    for method in class.methods() {
        let Some(code) = method.code() else { continue };
        let _ = (method.initialised_from(class), code.writes_local0(pool), code.has_loop());
        for instr in code.instructions().flatten() {
            let _ = (instr.pool_index(), instr.local(), instr.immediate(), instr.targets().last());
            let _ = code.line_of(instr.pc);
        }
    }
}

/// Puts something everywhere, into as much of a method as can be decoded.
fn edit(editor: &mut ClassEditor<'_>, index: usize, method: &Method<'_>) {
    let Some(code) = method.code() else { return };
    let nop = || Snippet::new().op(op::NOP);
    let object = editor.class().methods().len() as u16;
    let edit = editor.method(index).grow_stack(1);
    let kept = edit.keep_local(object);
    if !method.is_constructor() {
        let enter = Snippet::new().op(op::ACONST_NULL).store(Kind::Reference, kept);
        edit.wrap(Wrap { enter, before_return: nop().end_protection(), handler: nop() });
    }
    for instr in code.instructions().flatten() {
        edit.before(instr.pc, nop()).after(instr.pc, nop());
    }
}

/// What we write can be read; methods that were not skipped can be decoded, the others are as
/// they were.
fn check(class: &ClassFile<'_>) {
    let mut editor = ClassEditor::new(class);
    for (index, method) in class.methods().iter().enumerate() {
        edit(&mut editor, index, method);
    }
    let Ok(rewritten) = editor.finish() else { return };
    let found = ClassFile::parse(&rewritten.bytes).expect("what we write, we can read");
    assert_eq!(found.methods().len(), class.methods().len());
    let mut skipped = rewritten.skipped.iter().map(|&(index, _)| index).peekable();
    for (index, (old, new)) in class.methods().iter().zip(found.methods()).enumerate() {
        if skipped.next_if_eq(&index).is_some() {
            assert!(old.attributes().iter().eq(new.attributes().iter()));
        } else if let Some(code) = new.code() {
            assert!(code.instructions().all(|instr| instr.is_ok()));
            assert!(code.handlers().all(|handler| handler.start < handler.end));
        }
    }
}

#[test]
fn soak_broken_classes_do_no_harm() {
    let rounds = untorn_testkit::cases(50_000, 1_000_000);
    let image = crate::common::jdk_image();
    let classes: Vec<_> =
        some_classes(&image).into_iter().map(|bytes| (bytes, code_places(bytes))).collect();
    assert!(classes.len() > 100, "only {} classes to break", classes.len());
    let mut rng = Rng::new(1);
    let mut parsed = 0;
    for _ in 0..rounds {
        let (original, places) = &classes[rng.below(classes.len() as u32) as usize];
        let mut bytes = original.to_vec();
        mutate(&mut bytes, places, &mut rng);
        if let Ok(class) = ClassFile::parse(&bytes) {
            parsed += 1;
            read(&class);
            check(&class);
        }
    }
    assert!(parsed * 4 > rounds, "only {parsed} of {rounds} broken classes got past the parser");
}

#[test]
fn a_class_cut_at_every_byte_is_an_error() {
    let image = crate::common::jdk_image();
    for bytes in some_classes(&image).into_iter().take(20) {
        for len in 0..bytes.len() {
            assert!(ClassFile::parse(&bytes[..len]).is_err(), "cut at {len} of {}", bytes.len());
        }
    }
}

/// Unbroken classes of the JDK lose no method to an edit, so the rounds above test what they seem to.
#[test]
fn unbroken_classes_lose_nothing() {
    let image = crate::common::jdk_image();
    let variant = Variant {
        filling: Filling::Nops,
        replace: true,
        wrap: true,
        monitors: true,
        probe: "Probe",
    };
    for bytes in some_classes(&image) {
        let class = ClassFile::parse(bytes).expect("the JDK's classes are well-formed");
        assert_eq!(variant.apply(&class).skipped, [], "{}", class.name());
    }
}
