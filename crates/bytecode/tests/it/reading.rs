//! What the view of a class says, on real classes and on made ones.

use untorn_bytecode::{ClassEditor, ClassError, ClassFile, Method, PoolFull, Tag, access, op};
use untorn_testkit::class_file::{Body, Maker};

#[test]
fn a_class_tells_its_parts() {
    let image = crate::common::jdk_image();
    let find = |path: &str| {
        let mut classes = image.classes().map(|found| found.expect("the JDK's image is sound"));
        classes
            .find(|found| found.module == "java.base" && found.path() == path)
            .expect("in the JDK")
    };
    let class = ClassFile::parse(find("java/lang/StringBuffer.class").bytes).expect("well-formed");
    assert_eq!(class.name(), "java/lang/StringBuffer");
    assert_eq!(class.super_name(), Some("java/lang/AbstractStringBuilder"));
    assert_eq!(class.source_file().as_deref(), Some("StringBuffer.java"));
    assert_ne!(class.access() & access::FINAL, 0);
    let interfaces: Vec<_> = class.interfaces().map(|name| name.expect("a class")).collect();
    assert!(interfaces.iter().any(|name| name == "java/io/Serializable"), "{interfaces:?}");
    let cache =
        class.fields().iter().find(|field| field.name() == "toStringCache").expect("a field");
    assert_eq!(cache.descriptor(), "Ljava/lang/String;");
    assert_ne!(cache.access() & access::TRANSIENT, 0);

    let set_length = class.methods().iter().find(|method| method.name() == "setLength");
    let method = set_length.expect("StringBuffer has setLength");
    assert_eq!(method.descriptor(), "(I)V");
    assert_ne!(method.access() & access::SYNCHRONIZED, 0);
    let code = method.code().expect("it has code");
    let stores = code.instructions().map(|instr| instr.expect("well-formed"));
    let store = stores.into_iter().find(|instr| instr.opcode == op::PUTFIELD).expect("a store");
    let index = store.pool_index().expect("an index");
    assert_eq!(class.pool().tag(index), Some(Tag::Fieldref));
    assert_eq!(class.pool().member(index).expect("a field").name, "toStringCache");
    assert!(code.line_of(store.pc) > code.line_of(0).map(|line| line - 1));
    assert!(!code.has_loop());
    assert!(!code.writes_local0(class.pool()));
}

/// What the compiler of the JVM may replace: probes in it would fall silent at a moment that differs from run to run.
#[test]
fn intrinsics_are_known_by_their_annotation() {
    let image = crate::common::jdk_image();
    let mut classes = image.classes().map(|found| found.expect("the JDK's image is sound"));
    let found = classes.find(|found| found.path() == "java/util/Arrays.class").expect("in the JDK");
    let class = ClassFile::parse(found.bytes).expect("well-formed");
    let is_intrinsic = |name: &str, descriptor: &str| {
        let mut methods = class.methods().iter();
        let is_it = |method: &&_| Method::name(method) == name && method.descriptor() == descriptor;
        methods.find(is_it).expect("a method").is_intrinsic(class.pool())
    };
    let copy = "([Ljava/lang/Object;ILjava/lang/Class;)[Ljava/lang/Object;";
    assert!(is_intrinsic("copyOf", copy));
    assert!(!is_intrinsic("copyOf", "([Ljava/lang/Object;I)[Ljava/lang/Object;"));
    assert!(!is_intrinsic("sort", "([I)V"));
}

/// The JVM's own verifier is the judge: where its stack maps stop saying that `this` is
/// uninitialised, we must have found the call that ends it.
#[test]
fn every_constructor_of_the_jdk_calls_another() {
    let image = crate::common::jdk_image();
    let (mut constructors, mut unsure) = (0, Vec::new());
    for resource in image.classes() {
        let bytes = resource.expect("the JDK's image is sound").bytes;
        let class = ClassFile::parse(bytes).expect("the JDK's classes are well-formed");
        for method in class.methods().iter().filter(|method| method.is_constructor()) {
            constructors += 1;
            if method.initialised_from(&class).is_none() {
                unsure.push(class.name().to_owned());
            }
        }
    }
    assert!(constructors > 5000, "{constructors}");
    assert_eq!(unsure, ["java/lang/Object"], "it alone has no super class");
}

/// A constructor whose code names other constructors by these constants.
fn constructor(code: impl FnOnce(u16, u16) -> Vec<u8>) -> Vec<u8> {
    let mut maker = Maker::new(49);
    let base = maker.member(10, "java/lang/Object", "<init>", "()V");
    let own = maker.member(10, "Made", "<init>", "()V");
    let body = Body { name: "<init>", ..Body::instance(code(base, own)) };
    maker.method(&body);
    maker.finish()
}

#[test]
fn constructors_of_arguments_are_not_taken_for_the_own_one() {
    let initialised = |bytes: &[u8]| {
        let class = ClassFile::parse(bytes).expect("the class is well-formed");
        class.methods()[0].initialised_from(&class)
    };
    // super(new Object()): the call within comes first.
    let nested = constructor(|base, _| {
        let base = base as u8;
        let call = [op::INVOKESPECIAL, 0, base];
        let create = [op::ALOAD_0, op::NEW, 0, 4, op::DUP];
        [&create[..], &call, &call, &[op::RETURN]].concat()
    });
    assert_eq!(initialised(&nested), Some(11));
    // Two ways to call another constructor: only behind the last is it certain.
    let two = constructor(|base, own| {
        let (base, own) = (base as u8, own as u8);
        let first = [op::ICONST_0, op::IFEQ, 0, 10, op::ALOAD_0, op::INVOKESPECIAL, 0, base];
        let second = [op::GOTO, 0, 7, op::ALOAD_0, op::INVOKESPECIAL, 0, own, op::RETURN];
        [first, second].concat()
    });
    assert_eq!(initialised(&two), Some(15));
    assert_eq!(initialised(&constructor(|_, _| vec![op::RETURN])), None);
}

#[test]
fn operands_behind_wide_are_found() {
    let code = [op::WIDE, op::ILOAD, 1, 0, op::WIDE, op::IINC, 1, 0, 0xff, 0xfe, op::LSTORE_2];
    let bytes = Maker::with(49, &Body::new([&code[..], &[op::ASTORE, 0, op::RETURN]].concat()));
    let class = ClassFile::parse(&bytes).expect("the class is well-formed");
    let code = class.methods()[0].code().expect("it has code");
    let found: Vec<_> = code
        .instructions()
        .map(|instr| instr.expect("well-formed"))
        .map(|instr| (instr.pc, instr.opcode, instr.local(), instr.immediate(), instr.is_store()))
        .collect();
    let expected = [
        (0, op::ILOAD, Some(256), None, false),
        (4, op::IINC, Some(256), Some(-2), true),
        (10, op::LSTORE_2, Some(2), None, true),
        (11, op::ASTORE, Some(0), None, true),
        (13, op::RETURN, None, None, false),
    ];
    assert_eq!(found, expected);
    assert!(code.writes_local0(class.pool()));
}

#[test]
fn switches_give_all_their_targets() {
    let mut code = vec![op::LOOKUPSWITCH, 0, 0, 0];
    code.extend([28_i32, 2, -7, 29, 9, 0].iter().flat_map(|number| number.to_be_bytes()));
    code.extend([op::NOP, op::RETURN]);
    let bytes = Maker::with(49, &Body::new(code));
    let class = ClassFile::parse(&bytes).expect("the class is well-formed");
    let code = class.methods()[0].code().expect("it has code");
    let switch = code.instructions().next().expect("a switch").expect("well-formed");
    assert_eq!(switch.targets().collect::<Vec<_>>(), [28, 29, 0]);
    assert_eq!((switch.target(), switch.len), (Some(28), 28));
    assert!(code.has_loop(), "one way leads back to the switch itself");
}

#[test]
fn lines_are_those_of_the_nearest_entry_before() {
    let lines = vec![0, 3, 0, 2, 0, 30, 0, 0, 0, 10, 0, 1, 0, 20];
    let attributes = vec![("LineNumberTable", lines)];
    let body = Body { attributes, ..Body::new([op::NOP, op::NOP, op::NOP, op::RETURN]) };
    let bytes = Maker::with(49, &body);
    let class = ClassFile::parse(&bytes).expect("the class is well-formed");
    let code = class.methods()[0].code().expect("it has code");
    let found: Vec<_> = (0..4).map(|pc| code.line_of(pc)).collect();
    assert_eq!(found, [Some(10), Some(20), Some(30), Some(30)]);
}

#[test]
fn constants_are_added_once_and_never_renumbered() {
    let bytes = Maker::with(61, &Body::new([op::RETURN]));
    let class = ClassFile::parse(&bytes).expect("the class is well-formed");
    let count = class.pool().count();
    let mut editor = ClassEditor::new(&class);
    let pool = editor.pool();
    assert_eq!(pool.class("Made"), Ok(2), "it is there already");
    let wide = pool.long(i64::MIN).expect("room");
    assert_eq!(wide, count);
    let call = pool.methodref("some/Class", "größe\0", "()V").expect("room");
    assert_eq!(pool.long(i64::MIN), Ok(wide));
    assert_eq!(pool.methodref("some/Class", "größe\0", "()V"), Ok(call));
    let number = pool.integer(70_000).expect("room");
    assert_eq!(number, call + 1);
    let text = pool.string("😀").expect("room");
    let rewritten = editor.finish().expect("the pool has room");

    let found = ClassFile::parse(&rewritten.bytes).expect("what we write, we can read");
    assert_eq!(found.pool().count(), text + 1);
    assert_eq!((found.pool().tag(wide), found.pool().tag(wide + 1)), (Some(Tag::Long), None));
    let member = found.pool().member(call).expect("a method");
    assert_eq!((&*member.class, &*member.name), ("some/Class", "größe\0"));
    assert_eq!(found.pool().string(text).expect("a string"), "😀");
    assert_eq!(found.name(), "Made");
}

#[test]
fn a_full_pool_is_an_error_and_not_a_wrong_index() {
    let bytes = Maker::with(61, &Body::new([op::RETURN]));
    let class = ClassFile::parse(&bytes).expect("the class is well-formed");
    let mut editor = ClassEditor::new(&class);
    let free = i32::from(u16::MAX - class.pool().count());
    for number in 0..free {
        editor.pool().integer(number).expect("room");
    }
    assert_eq!(editor.pool().integer(-1), Err(PoolFull));
    assert_eq!(editor.pool().long(0), Err(PoolFull));
    assert_eq!(editor.pool().integer(0).map(i32::from), Ok(i32::from(u16::MAX) - free));
    let rewritten = editor.finish().expect("what is in the pool fits");
    let found = ClassFile::parse(&rewritten.bytes).expect("what we write, we can read");
    assert_eq!(found.pool().count(), u16::MAX);

    let mut editor = ClassEditor::new(&class);
    assert_eq!(editor.pool().utf8(&"x".repeat(65_536)), Err(PoolFull));
}

#[test]
fn what_is_no_class_says_so() {
    let error = |bytes: &[u8]| ClassFile::parse(bytes).expect_err("not a class");
    assert_eq!(error(&[0x50, 0x4b, 3, 4]), ClassError::Magic(0x504b_0304));
    assert_eq!(error(&[0xca, 0xfe]), ClassError::Truncated("the header"));
    let mut longer = Maker::with(61, &Body::new([op::RETURN]));
    longer.push(0);
    assert_eq!(error(&longer), ClassError::Trailing(1));
}

/// Every dynamic call site of the JDK names a bootstrap method, whose handle can be read.
#[test]
fn dynamic_call_sites_know_their_bootstrap_methods() {
    let image = crate::common::jdk_image();
    let mut lambdas = 0;
    for resource in image.classes() {
        let bytes = resource.expect("the JDK's image is sound").bytes;
        let class = ClassFile::parse(bytes).expect("the JDK's classes are well-formed");
        let pool = class.pool();
        let sites = (0..pool.count()).filter(|&at| pool.tag(at) == Some(Tag::InvokeDynamic));
        for site in sites {
            let number = pool.bootstrap(site).expect("a call site");
            let (handle, arguments) = class.bootstrap_method(number).expect("it is listed");
            let (kind, factory) = pool.method_handle(handle).expect("a handle");
            assert_eq!(kind, 6, "{} is not static", factory.name);
            if factory.class == "java/lang/invoke/LambdaMetafactory" {
                pool.method_handle(arguments[1]).expect("what the lambda runs");
                lambdas += 1;
            }
        }
    }
    assert!(lambdas > 1000, "{lambdas}");
}
