//! Where code, ranges and maps go, on methods small enough to say what is right.

use untorn_bytecode::{
    ClassEditor, ClassFile, Handler, Kind, MethodEdit, Rewritten, SkipReason, Snippet, Wrap,
    access, op,
};
use untorn_testkit::class_file::{Body, Maker};

const BEFORE: u8 = op::ICONST_1;
const AFTER: u8 = op::ICONST_2;

fn code(opcodes: &[u8]) -> Snippet {
    opcodes.iter().fold(Snippet::new(), |snippet, &opcode| snippet.op(opcode))
}

/// The only method of a class after an edit that must succeed.
fn edited(version: u16, body: &Body, edit: impl FnOnce(&mut MethodEdit)) -> Body {
    let bytes = Maker::with(version, body);
    let rewritten = rewrite(&bytes, edit);
    assert_eq!(rewritten.skipped, []);
    let class = ClassFile::parse(&rewritten.bytes).expect("what we write, we can read");
    let method = &class.methods()[0];
    let code = method.code().expect("the method has code");
    Body {
        access: method.access(),
        max_stack: code.max_stack(),
        max_locals: code.max_locals(),
        code: code.bytes().to_vec(),
        handlers: code.handlers().map(numbers).collect(),
        attributes: code
            .attributes()
            .iter()
            .map(|attribute| {
                let name = class.pool().utf8(attribute.name).expect("attributes have names");
                (name.into_owned().leak() as &str, attribute.content.to_vec())
            })
            .collect(),
        ..body.clone()
    }
}

fn numbers(handler: Handler) -> [u16; 4] {
    [handler.start as u16, handler.end as u16, handler.target as u16, handler.catch_type]
}

fn rewrite(bytes: &[u8], edit: impl FnOnce(&mut MethodEdit)) -> Rewritten {
    let class = ClassFile::parse(bytes).expect("the class is well-formed");
    let mut editor = ClassEditor::new(&class);
    edit(editor.method(0));
    editor.finish().expect("the pool has room")
}

#[test]
fn branches_run_what_is_before_their_target_and_not_what_is_after_the_instruction_above() {
    #[rustfmt::skip]
    let body = Body::new([
        op::ICONST_0, // 0
        op::IFEQ, 0, 4, // 1 → 5
        op::NOP, // 4
        op::RETURN, // 5
    ]);
    let found = edited(61, &body, |edit| {
        edit.after(4, code(&[AFTER])).before(5, code(&[BEFORE])).before(4, code(&[op::POP]));
    });
    #[rustfmt::skip]
    let expected = [
        op::ICONST_0,
        op::IFEQ, 0, 6, // behind the code after the nop
        op::POP,
        op::NOP,
        AFTER,
        BEFORE,
        op::RETURN,
    ];
    assert_eq!(found.code, expected);
}

#[test]
fn insertions_at_one_place_keep_their_order() {
    let found = edited(61, &Body::new([op::NOP, op::RETURN]), |edit| {
        edit.after(0, code(&[op::ICONST_5])).replace(0, code(&[op::ICONST_3]));
        edit.before(0, code(&[op::ICONST_1])).before(0, code(&[op::ICONST_2]));
        edit.replace(0, code(&[op::ICONST_4]));
    });
    let expected =
        [op::ICONST_1, op::ICONST_2, op::ICONST_3, op::ICONST_4, op::ICONST_5, op::RETURN];
    assert_eq!(found.code, expected);
}

#[test]
fn the_prologue_is_not_run_by_a_branch_to_the_start() {
    let found = edited(61, &Body::new([op::NOP, op::GOTO, 0xff, 0xff]), |edit| {
        edit.prologue(code(&[op::ICONST_5])).before(0, code(&[BEFORE]));
    });
    assert_eq!(found.code, [op::ICONST_5, BEFORE, op::NOP, op::GOTO, 0xff, 0xfe]);
}

#[test]
fn what_could_never_run_is_left_out() {
    let found = edited(61, &Body::new([op::RETURN]), |edit| {
        edit.after(0, code(&[AFTER]));
    });
    assert_eq!(found.code, [op::RETURN]);
}

#[test]
fn an_instruction_replaced_by_nothing_leaves_a_byte() {
    let found = edited(61, &Body::new([op::NOP, op::RETURN]), |edit| {
        edit.replace(0, Snippet::new());
    });
    assert_eq!(found.code, [op::NOP, op::RETURN]);
}

#[test]
fn switches_are_padded_anew() {
    let mut old = vec![op::ICONST_0, op::TABLESWITCH, 0, 0];
    old.extend([24, 1, 1].iter().flat_map(|number: &i32| number.to_be_bytes()));
    old.extend(23_i32.to_be_bytes());
    old.extend([op::NOP; 4]);
    old.extend([op::NOP, op::RETURN]);
    let found = edited(61, &Body::new(old), |edit| {
        edit.prologue(code(&[op::NOP]));
    });
    let mut expected = vec![op::NOP, op::ICONST_0, op::TABLESWITCH, 0];
    expected.extend([23, 1, 1].iter().flat_map(|number: &i32| number.to_be_bytes()));
    expected.extend(22_i32.to_be_bytes());
    expected.extend([op::NOP; 4]);
    expected.extend([op::NOP, op::RETURN]);
    assert_eq!(found.code, expected);
}

#[test]
fn ranges_leave_out_what_is_after_monitorexit_and_take_in_what_is_after_monitorenter() {
    let body = Body {
        handlers: vec![[1, 3, 4, 0], [1, 3, 4, 2], [4, 5, 4, 0]],
        ..Body::new([
            op::MONITORENTER, // 0
            op::NOP,          // 1
            op::MONITOREXIT,  // 2
            op::RETURN,       // 3
            op::MONITOREXIT,  // 4
            op::ATHROW,       // 5
        ])
    };
    let found = edited(49, &body, |edit| {
        for pc in [0, 1, 2, 4] {
            edit.after(pc, code(&[AFTER]));
        }
    });
    // A range that does not catch everything is not about the monitor.
    assert_eq!(found.handlers, [[1, 5, 7, 0], [2, 5, 7, 2], [7, 8, 7, 0]]);
}

/// Enter, body and exits as `synchronized` would have them.
fn monitor() -> Wrap {
    let exit = code(&[op::ALOAD_0, op::MONITOREXIT]).end_protection().op(op::NOP);
    Wrap {
        enter: code(&[op::ALOAD_0, op::MONITORENTER]),
        before_return: exit.clone(),
        handler: exit,
    }
}

#[test]
fn a_wrap_covers_what_javac_would_cover() {
    let body = Body {
        handlers: vec![[0, 2, 2, 2]],
        attributes: vec![("StackMapTable", vec![0, 1, 64 + 2, 7, 0, 2])],
        ..Body::instance([op::NOP, op::RETURN, op::POP, op::RETURN])
    };
    let found = edited(61, &body, |edit| {
        edit.grow_stack(2).wrap(monitor()).prologue(code(&[op::NOP]));
    });
    #[rustfmt::skip]
    let expected = [
        op::ALOAD_0, op::MONITORENTER, // 0: enter
        op::NOP, // 2: prologue
        op::NOP, // 3: the body
        op::ALOAD_0, op::MONITOREXIT, op::NOP, op::RETURN, // 4
        op::POP, // 8
        op::ALOAD_0, op::MONITOREXIT, op::NOP, op::RETURN, // 9
        op::ALOAD_0, op::MONITOREXIT, op::NOP, op::ATHROW, // 13: the handler
    ];
    assert_eq!(found.code, expected);
    // The old handler no longer covers the return that it covered, the new one covers all up to
    // its own monitorexit.
    let handlers = [[3, 4, 8, 2], [2, 6, 13, 0], [8, 11, 13, 0], [13, 15, 13, 0]];
    assert_eq!(found.handlers, handlers);
    assert_eq!((found.max_stack, found.max_locals), (6, 4));
    let [(name, frames)] = &found.attributes[..] else { panic!("{found:?}") };
    assert_eq!(*name, "StackMapTable");
    assert_eq!(frames[..6], [0, 2, 64 + 8, 7, 0, 2], "the old frame");
    assert_eq!(frames[6..12], [255, 0, 4, 0, 1, 7], "a full frame with one variable");
    assert_eq!(frames[12..14], [0, 2], "which is this");
}

#[test]
fn wraps_nest() {
    let wrap = |enter, exit| Wrap {
        enter: code(&[enter]),
        before_return: code(&[exit]),
        handler: code(&[exit]),
    };
    let found = edited(49, &Body::new([op::RETURN]), |edit| {
        edit.wrap(wrap(op::ICONST_1, op::ICONST_2)).wrap(wrap(op::ICONST_3, op::ICONST_4));
    });
    #[rustfmt::skip]
    let expected = [
        op::ICONST_1, op::ICONST_3, // 0: outer, inner
        op::ICONST_4, op::ICONST_2, op::RETURN, // 2: inner, outer
        op::ICONST_4, op::ATHROW, // 5: the inner handler
        op::ICONST_2, op::ATHROW, // 7: the outer handler
    ];
    assert_eq!(found.code, expected);
    assert_eq!(found.handlers, [[1, 3, 7, 0], [5, 7, 7, 0]], "nothing is left for the inner one");
}

#[test]
fn a_kept_variable_stands_in_every_frame() {
    let body = Body {
        descriptor: "(J[ILjava/lang/Object;)V",
        max_locals: 6,
        // Two more variables, then one less, then the same.
        attributes: vec![("StackMapTable", vec![0, 3, 253, 0, 0, 1, 1, 250, 0, 0, 0])],
        ..Body::new([op::NOP, op::NOP, op::RETURN])
    };
    let found = edited(61, &body, |edit| {
        edit.scratch_local(1);
        let kept = edit.keep_local(4);
        assert_eq!(kept, 7);
        edit.wrap(Wrap {
            enter: code(&[op::ACONST_NULL]).store(Kind::Reference, kept),
            before_return: Snippet::new(),
            handler: Snippet::new(),
        });
    });
    assert_eq!(found.max_locals, 8);
    let frames = &found.attributes[0].1;
    // The parameters, the variables of the method, and behind the scratch one what is kept.
    let full = |delta, first, second| {
        let parameters = [4, 7, 0, frames[10], 7, 0, 4];
        let variables = [first, second, 0, 7, 0, 4];
        [&[255, 0, delta, 0, 7][..], &parameters, &variables, &[0, 0]].concat()
    };
    let expected = [vec![0, 4], full(3, 1, 1), full(0, 1, 0), full(0, 1, 0)].concat();
    assert_eq!(frames[..expected.len()], expected);
    let handler = &frames[expected.len()..];
    assert_eq!(handler[..15], [255, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 4], "the handler's");
}

#[test]
fn a_frame_that_moves_too_far_is_extended() {
    let attributes = vec![("StackMapTable", vec![0, 2, 1, 64, 1])];
    let body = Body { attributes, ..Body::new([op::NOP, op::NOP, op::RETURN]) };
    let found = edited(61, &body, |edit| {
        for _ in 0..70 {
            edit.before(0, code(&[op::NOP])).before(2, code(&[op::NOP])).after(1, code(&[op::NOP]));
        }
    });
    assert_eq!(found.attributes[0].1, [0, 2, 251, 0, 71, 247, 0, 70, 1]);
}

#[test]
fn frames_name_a_new_by_the_instruction_itself() {
    let code_bytes = [op::NEW, 0, 2, op::NOP, op::POP, op::RETURN];
    let attributes = vec![("StackMapTable", vec![0, 1, 64 + 3, 8, 0, 0])];
    let body = Body { attributes, ..Body::new(code_bytes) };
    let found = edited(61, &body, |edit| {
        edit.before(0, code(&[op::NOP])).before(3, code(&[op::NOP]));
    });
    assert_eq!(found.attributes[0].1, [0, 1, 64 + 4, 8, 0, 1], "the frame moves to its label");
}

#[test]
fn lines_and_variables_move_along() {
    let body = Body {
        attributes: vec![
            ("LineNumberTable", vec![0, 3, 0, 0, 0, 10, 0, 1, 0, 11, 0, 9, 0, 12]),
            ("LocalVariableTable", vec![0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 3]),
            ("Unheard", vec![1, 2, 3]),
        ],
        ..Body::new([op::NOP, op::NOP, op::RETURN])
    };
    let same = edited(61, &body, |_| {});
    assert_eq!(same.attributes.len(), 3, "nothing moves, nothing is lost: {same:?}");
    let found = edited(61, &body, |edit| {
        edit.before(1, code(&[BEFORE])).after(1, code(&[AFTER])).after(0, code(&[AFTER]));
    });
    let expected = [
        // The third line pointed past the end.
        ("LineNumberTable", vec![0, 2, 0, 0, 0, 10, 0, 2, 0, 11]),
        ("LocalVariableTable", vec![0, 1, 0, 2, 0, 3, 0, 1, 0, 1, 0, 3]),
    ];
    assert_eq!(found.attributes, expected);
}

#[test]
fn annotations_of_types_move_along() {
    // Each ends with an empty path, a type and no values.
    let tail = [0, 0, 1, 0, 0];
    let annotations = |new: u8, variable: [u8; 4], handler: u8| {
        let mut content = vec![0, 4];
        content.extend([&[0x44, 0, new][..], &tail].concat());
        content.extend([&[0x40, 0, 1][..], &variable, &[0, 3], &tail].concat());
        content.extend([&[0x42, 0, handler][..], &tail].concat());
        // A cast; with a value that is an array of an annotation.
        content.extend([0x47, 0, new, 5, 1, 3, 0, 0, 1, 0, 1, 0, 1]);
        content.extend([b'[', 0, 1, b'@', 0, 1, 0, 1, 0, 1, b'e', 0, 1, 0, 1]);
        content
    };
    let handlers = vec![[0, 3, 3, 0], [0, 3, 3, 2]];
    let body = Body {
        handlers,
        attributes: vec![
            ("RuntimeVisibleTypeAnnotations", annotations(1, [0, 1, 0, 2], 1)),
            ("RuntimeInvisibleTypeAnnotations", vec![0, 1, 0x99, 0, 0]),
        ],
        ..Body::instance([op::NOP, op::NOP, op::RETURN, op::ATHROW])
    };
    let found = edited(49, &body, |edit| {
        let wrap = Wrap { before_return: code(&[op::NOP]), ..Wrap::default() };
        edit.before(1, code(&[BEFORE])).before(3, code(&[BEFORE])).wrap(wrap);
    });
    let moved = annotations(2, [0, 1, 0, 4], 1);
    assert_eq!(found.attributes, [("RuntimeVisibleTypeAnnotations", moved)]);
}

/// Checks that a method is copied, access flags included, and why.
fn assert_skipped(version: u16, body: &Body, edit: impl FnOnce(&mut MethodEdit)) -> SkipReason {
    let bytes = Maker::with(version, body);
    let class = ClassFile::parse(&bytes).expect("the class is well-formed");
    let mut editor = ClassEditor::new(&class);
    edit(editor.method(0));
    editor.set_method_access(0, access::PUBLIC);
    let rewritten = editor.finish().expect("the pool has room");
    let [(0, reason)] = &rewritten.skipped[..] else { panic!("{:?}", rewritten.skipped) };
    let found = ClassFile::parse(&rewritten.bytes).expect("what we write, we can read");
    let (old, new) = (&class.methods()[0], &found.methods()[0]);
    assert_eq!(old.access(), new.access());
    assert!(old.attributes().iter().eq(new.attributes().iter()), "the method is as it was");
    reason.clone()
}

#[test]
fn what_cannot_be_laid_out_is_left_alone() {
    let plain = Body::new([op::NOP, op::RETURN]);
    let reason = assert_skipped(61, &plain, |edit| {
        edit.before(7, code(&[BEFORE])).before(0, code(&[BEFORE]));
    });
    assert_eq!(reason, SkipReason::NoInstruction(7));
    let reason = assert_skipped(61, &plain, |edit| {
        edit.before(0, code(&[op::NOP; 65_534]));
    });
    assert_eq!(reason, SkipReason::TooLarge);
    let back = Body::new([op::NOP, op::GOTO, 0xff, 0xff]);
    let reason = assert_skipped(61, &back, |edit| {
        edit.before(1, code(&[op::NOP; 32_768]));
    });
    assert_eq!(reason, SkipReason::BranchOverflow);
    let reason = assert_skipped(61, &plain, |edit| {
        edit.grow_stack(u16::MAX);
    });
    assert_eq!(reason, SkipReason::FrameTooLarge);
    let reason = assert_skipped(61, &plain, |edit| {
        edit.scratch_local(u16::MAX);
        edit.scratch_local(1);
    });
    assert_eq!(reason, SkipReason::FrameTooLarge);
}

#[test]
fn the_longest_code_and_the_farthest_branch_still_fit() {
    let found = edited(61, &Body::new([op::NOP, op::RETURN]), |edit| {
        edit.before(0, code(&[op::NOP; 65_533]));
    });
    assert_eq!(found.code.len(), 65_535);
    let found = edited(61, &Body::new([op::NOP, op::GOTO, 0xff, 0xff]), |edit| {
        edit.before(1, code(&[op::NOP; 32_767]));
    });
    assert_eq!(found.code[32_768..], [op::GOTO, 0x80, 0]);
}

#[test]
fn what_cannot_be_wrapped_is_left_alone() {
    let around = |edit: &mut MethodEdit| {
        edit.wrap(monitor());
    };
    let constructor = Body { name: "<init>", ..Body::instance([op::RETURN]) };
    assert_eq!(assert_skipped(61, &constructor, around), SkipReason::WrapsConstructor);
    let overwritten = Body::instance([op::ACONST_NULL, op::ASTORE_0, op::RETURN]);
    assert_eq!(assert_skipped(61, &overwritten, around), SkipReason::OverwritesThis);
    assert_eq!(assert_skipped(61, &Body::new([op::RETURN]), around), SkipReason::OverwritesThis);
    let found = edited(61, &overwritten, |edit| {
        edit.wrap(Wrap::default());
    });
    assert_eq!(found.handlers, [[0, 2, 3, 0]], "code that does not need `this` may be around it");
}

#[test]
fn malformed_methods_are_left_alone() {
    let frames = |content: &[u8]| vec![("StackMapTable", content.to_vec())];
    let code_bytes = [op::SIPUSH, 0, 0, op::POP, op::RETURN];
    let plain = Body::new(code_bytes);
    let malformed = [
        Body { handlers: vec![[1, 3, 3, 0]], ..plain.clone() },
        Body { handlers: vec![[3, 3, 3, 0]], ..plain.clone() },
        Body { handlers: vec![[0, 3, 2, 0]], ..plain.clone() },
        Body { handlers: vec![[0, 9, 3, 0]], ..plain.clone() },
        Body { attributes: frames(&[0, 1, 1]), ..plain.clone() },
        Body { attributes: frames(&[0, 1, 200]), ..plain.clone() },
        Body { attributes: frames(&[0, 1, 64, 9]), ..plain.clone() },
        Body { attributes: frames(&[0, 1, 64, 8, 0, 1]), ..plain.clone() },
        Body { attributes: frames(&[0, 1, 0, 0]), ..plain.clone() },
        Body { attributes: frames(&[0, 9, 0]), ..plain.clone() },
        Body { attributes: frames(&[]), ..plain.clone() },
        Body { attributes: [frames(&[0, 0]), frames(&[0, 0])].concat(), ..plain.clone() },
        Body::new([op::GOTO, 0, 4, op::SIPUSH, 0, 0, op::RETURN]),
        Body::new([op::GOTO, 0x7f, 0xff]),
        Body::new([0xff]),
        Body::new([op::SIPUSH, 0]),
        Body::new([op::WIDE, op::NOP, 0, 0]),
        Body::new([op::TABLESWITCH, 0, 0, 0]),
        Body::new([]),
    ];
    for body in malformed {
        let reason = assert_skipped(61, &body, |_| {});
        assert!(matches!(reason, SkipReason::Malformed(_)), "{body:?}: {reason}");
    }
    let cldc = Body { attributes: vec![("StackMap", vec![0, 0])], ..plain.clone() };
    assert_eq!(assert_skipped(48, &cldc, |_| {}), SkipReason::CldcStackMap);
    let replaced = Body {
        attributes: frames(&[0, 1, 64 + 3, 8, 0, 0]),
        ..Body::new([op::NEW, 0, 2, op::POP, op::RETURN])
    };
    let reason = assert_skipped(61, &replaced, |edit| {
        edit.replace(0, code(&[op::ACONST_NULL]));
    });
    assert!(matches!(reason, SkipReason::Malformed(_)), "a frame names a new that is gone");
}

#[test]
fn subroutines_move_unless_there_are_frames() {
    let body = Body::new([op::JSR, 0, 4, op::RETURN, op::ASTORE_0, op::RET, 0]);
    let found = edited(48, &body, |edit| {
        edit.before(0, code(&[BEFORE])).after(0, code(&[AFTER])).after(4, code(&[AFTER]));
    });
    let expected = [BEFORE, op::JSR, 0, 5, AFTER, op::RETURN, op::ASTORE_0, AFTER, op::RET, 0];
    assert_eq!(found.code, expected);
    let attributes = vec![("StackMapTable", vec![0, 0])];
    let framed = Body { attributes, ..body };
    assert_eq!(assert_skipped(50, &framed, |_| {}), SkipReason::Subroutine);
}

#[test]
fn methods_without_code_are_left_alone_but_for_what_is_not_code() {
    let class = Maker::with(61, &Body::new([op::RETURN]));
    let parsed = ClassFile::parse(&class).expect("the class is well-formed");
    let mut editor = ClassEditor::new(&parsed);
    editor.strip_method_attribute(0, "Code");
    editor.set_method_access(0, access::NATIVE);
    let native = editor.finish().expect("nothing is added");
    let parsed = ClassFile::parse(&native.bytes).expect("what we write, we can read");
    assert_eq!(parsed.methods()[0].access(), access::NATIVE);
    assert!(parsed.methods()[0].code().is_none());
    assert!(parsed.methods()[0].attributes().is_empty());

    let rewritten = rewrite(&native.bytes, |edit| {
        edit.prologue(code(&[op::NOP]));
    });
    assert_eq!(rewritten.skipped, [(0, SkipReason::NoCode)]);
    assert_eq!(rewritten.bytes, native.bytes);
}

#[test]
fn a_method_is_added_before_those_of_the_class() {
    let bytes = Maker::with(61, &Body::new([op::RETURN]));
    let class = ClassFile::parse(&bytes).expect("the class is well-formed");
    let mut editor = ClassEditor::new(&class);
    let body =
        untorn_bytecode::Body { code: &[op::ICONST_0, op::IRETURN], max_stack: 1, max_locals: 1 };
    editor.add_method(access::PUBLIC, "hashCode", "()I", body).expect("there is room");
    editor.method(0).prologue(code(&[op::NOP]));
    let bytes = editor.finish().expect("the pool has room").bytes;
    let class = ClassFile::parse(&bytes).expect("what we write, we can read");
    let [added, old] = class.methods() else { panic!("{:?}", class.methods()) };
    assert_eq!((added.name(), added.descriptor()), ("hashCode", "()I"));
    assert_eq!(added.code().map(|code| code.bytes()), Some([op::ICONST_0, op::IRETURN].as_slice()));
    assert_eq!(old.code().map(|code| code.bytes().len()), Some(2));
}

#[test]
fn a_field_is_added_before_those_of_the_class() {
    let mut bytes = Maker::with(61, &Body::new([op::RETURN]));
    let mut wanted = Vec::new();
    for name in ["first", "second"] {
        let class = ClassFile::parse(&bytes).expect("the class is well-formed");
        let mut editor = ClassEditor::new(&class);
        editor.add_field(access::PRIVATE, name, "J").expect("there is room");
        editor.method(0).prologue(code(&[op::NOP]));
        bytes = editor.finish().expect("the pool has room").bytes;
        wanted.insert(0, name);
    }
    let class = ClassFile::parse(&bytes).expect("what we write, we can read");
    let names: Vec<_> = class.fields().iter().map(|field| field.name().to_owned()).collect();
    assert_eq!(names, wanted);
    assert_eq!(class.fields()[0].descriptor(), "J");
    assert_eq!(class.methods()[0].code().map(|code| code.bytes().len()), Some(3));
}
