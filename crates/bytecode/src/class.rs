//! One class file, read in place.

use std::borrow::Cow;
use std::ops::Range;

use crate::cursor::Cursor;
use crate::edit::attributes::annotation_types;
use crate::{ClassError, Code, Pool, op};

/// Access flags of classes, fields and methods (JVMS tables 4.1-B, 4.5-A and 4.6-A).
pub mod access {
    pub const PUBLIC: u16 = 0x0001;
    pub const PRIVATE: u16 = 0x0002;
    pub const PROTECTED: u16 = 0x0004;
    pub const STATIC: u16 = 0x0008;
    pub const FINAL: u16 = 0x0010;
    pub const SYNCHRONIZED: u16 = 0x0020;
    pub const VOLATILE: u16 = 0x0040;
    pub const BRIDGE: u16 = 0x0040;
    pub const TRANSIENT: u16 = 0x0080;
    pub const NATIVE: u16 = 0x0100;
    pub const INTERFACE: u16 = 0x0200;
    pub const ABSTRACT: u16 = 0x0400;
    pub const SYNTHETIC: u16 = 0x1000;
    pub const ENUM: u16 = 0x4000;
}

/// What the JDK writes to methods that the compiler knows; the second until release 15.
const INTRINSIC: [&[u8]; 2] = [
    b"Ljdk/internal/vm/annotation/IntrinsicCandidate;",
    b"Ljdk/internal/HotSpotIntrinsicCandidate;",
];

/// A named piece of a class, field, method or code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// The constant that is its name.
    pub name: u16,
    pub content: &'a [u8],
}

/// A list of attributes. The lengths in it have been checked.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Attributes<'a> {
    pub(crate) fn parse(cursor: &mut Cursor<'a>) -> Result<Self, ClassError> {
        let count = cursor.u16()?;
        let start = cursor.at();
        for _ in 0..count {
            cursor.u16()?;
            let len = cursor.u32()?;
            cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        }
        Ok(Self { count, bytes: cursor.since(start) })
    }

    pub const fn len(&self) -> u16 {
        self.count
    }

    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        let mut cursor = Cursor::new(self.bytes, "attributes");
        std::iter::from_fn(move || {
            let name = cursor.u16().ok()?;
            let len = cursor.u32().ok()?;
            let content = cursor.take(usize::try_from(len).ok()?).ok()?;
            Some(Attribute { name, content })
        })
    }

    /// The first attribute of that name.
    pub fn find(&self, pool: &Pool<'a>, name: &str) -> Option<Attribute<'a>> {
        self.iter().find(|attribute| pool.utf8_bytes(attribute.name) == Ok(name.as_bytes()))
    }
}

/// A field as its class declares it.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    access: u16,
    name: Cow<'a, str>,
    descriptor: Cow<'a, str>,
    attributes: Attributes<'a>,
}

impl<'a> Field<'a> {
    pub const fn access(&self) -> u16 {
        self.access
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn descriptor(&self) -> &str {
        &self.descriptor
    }

    pub const fn attributes(&self) -> Attributes<'a> {
        self.attributes
    }
}

/// A method as its class declares it.
#[derive(Clone, Debug)]
pub struct Method<'a> {
    access: u16,
    name: Cow<'a, str>,
    descriptor: Cow<'a, str>,
    attributes: Attributes<'a>,
    code: Option<Code<'a>>,
    /// Where the method stands in the file.
    span: Range<usize>,
}

impl<'a> Method<'a> {
    pub const fn access(&self) -> u16 {
        self.access
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn descriptor(&self) -> &str {
        &self.descriptor
    }

    /// `None` for abstract and native methods.
    pub const fn code(&self) -> Option<&Code<'a>> {
        self.code.as_ref()
    }

    pub const fn attributes(&self) -> Attributes<'a> {
        self.attributes
    }

    pub const fn is_static(&self) -> bool {
        self.access & access::STATIC != 0
    }

    pub fn is_constructor(&self) -> bool {
        self.name == "<init>"
    }

    /// Whether the compiler of the JVM may put code of its own in place of the method: the JDK says so by an annotation.
    pub fn is_intrinsic(&self, pool: &Pool<'_>) -> bool {
        let found = self.attributes.find(pool, "RuntimeVisibleAnnotations");
        let mut types = found.into_iter().flat_map(|found| annotation_types(found.content));
        types.any(|kind| {
            let is_one = |name: &[u8]| INTRINSIC.contains(&name);
            pool.utf8_bytes(kind).is_ok_and(is_one)
        })
    }

    /// In a constructor, the pc from which on `this` is certainly initialised: the one behind the
    /// call of the other constructor, `super(…)` or `this(…)`. `None` if that cannot be told, and
    /// for all other methods.
    ///
    /// Which of several calls it is, is found by counting each `new` up and each constructor call
    /// that completes one down. If several calls come into question, the last one counts; and if
    /// a stack map behind it says that `this` may be uninitialised there, none does.
    pub fn initialised_from(&self, class: &ClassFile<'_>) -> Option<u32> {
        let code = self.code.as_ref().filter(|_| self.is_constructor())?;
        let (mut sure, mut unsure) = (None, None);
        let mut open = 0_u32;
        for instr in code.instructions() {
            let instr = instr.ok()?;
            if instr.opcode == op::NEW {
                open += 1;
            } else if instr.opcode == op::INVOKESPECIAL {
                let called = class.pool().member(instr.pool_index()?).ok()?;
                if called.name != "<init>" {
                    continue;
                }
                let is_ours = called.class == class.name()
                    || class.super_name().is_some_and(|name| called.class == name);
                let behind = Some(instr.pc + instr.len);
                match (is_ours, open) {
                    (true, 0) => sure = behind,
                    (true, _) => unsure = behind,
                    (false, _) => {}
                }
                open = open.saturating_sub(1);
            }
        }
        let found = sure.or(unsure)?;
        code.last_uninitialised(class.pool()).is_none_or(|pc| pc < found).then_some(found)
    }

    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

/// One class file. Nothing is copied; every look-up that can fail says so by itself.
#[derive(Clone, Debug)]
pub struct ClassFile<'a> {
    bytes: &'a [u8],
    version: u16,
    pool: Pool<'a>,
    /// Where the pool ends and the access flags begin.
    pool_end: usize,
    access: u16,
    this_class: u16,
    name: Cow<'a, str>,
    super_name: Option<Cow<'a, str>>,
    interfaces: Vec<u16>,
    fields: Vec<Field<'a>>,
    methods: Vec<Method<'a>>,
    /// Where the number of methods stands.
    method_count_at: usize,
    attributes: Attributes<'a>,
}

/// Where the count of the constant pool stands: behind the magic number and the two versions.
pub(crate) const POOL_COUNT_AT: usize = 8;

impl<'a> ClassFile<'a> {
    /// Reads a class. The structure has to be right down to the attributes of code; instructions
    /// and the contents of other attributes are read when they are asked for.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ClassError> {
        let mut cursor = Cursor::new(bytes, "the header");
        let magic = cursor.u32()?;
        if magic != 0xcafe_babe {
            return Err(ClassError::Magic(magic));
        }
        cursor.u16()?;
        let version = cursor.u16()?;
        let pool = Pool::parse(&mut cursor)?;
        let pool_end = cursor.at();
        cursor.enter("the header");
        let (access, this_class, super_class) = (cursor.u16()?, cursor.u16()?, cursor.u16()?);
        let name = pool.class(this_class)?;
        let super_name = if super_class == 0 { None } else { Some(pool.class(super_class)?) };
        let count = cursor.u16()?;
        let interfaces = (0..count).map(|_| cursor.u16()).collect::<Result<_, _>>()?;
        let fields = parse_fields(&mut cursor, &pool)?;
        let method_count_at = cursor.at();
        let methods = parse_methods(&mut cursor, &pool)?;
        cursor.enter("the attributes of the class");
        let attributes = Attributes::parse(&mut cursor)?;
        if !cursor.is_at_end() {
            return Err(ClassError::Trailing(cursor.rest().len()));
        }
        Ok(Self {
            bytes,
            version,
            pool,
            pool_end,
            access,
            this_class,
            name,
            super_name,
            interfaces,
            fields,
            methods,
            method_count_at,
            attributes,
        })
    }

    /// The major version: 52 is Java 8, 61 is Java 17.
    pub const fn version(&self) -> u16 {
        self.version
    }

    pub const fn access(&self) -> u16 {
        self.access
    }

    /// The internal name, such as `java/lang/Object`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `None` for `java/lang/Object` and for module descriptors.
    pub fn super_name(&self) -> Option<&str> {
        self.super_name.as_deref()
    }

    /// The names of the interfaces that the class names itself.
    pub fn interfaces(
        &self,
    ) -> impl Iterator<Item = Result<Cow<'a, str>, ClassError>> + use<'_, 'a> {
        self.interfaces.iter().map(|&index| self.pool.class(index))
    }

    pub fn source_file(&self) -> Option<Cow<'a, str>> {
        let attribute = self.attributes.find(&self.pool, "SourceFile")?;
        let index = Cursor::new(attribute.content, "SourceFile").u16().ok()?;
        self.pool.utf8(index).ok()
    }

    /// A bootstrap method: the constant that is its handle, and those that are its arguments.
    pub fn bootstrap_method(&self, number: u16) -> Option<(u16, Vec<u16>)> {
        let attribute = self.attributes.find(&self.pool, "BootstrapMethods")?;
        let mut cursor = Cursor::new(attribute.content, "BootstrapMethods");
        let count = cursor.u16().ok()?;
        for at in 0..count {
            let (handle, arguments) = (cursor.u16().ok()?, cursor.u16().ok()?);
            let bytes = cursor.take(usize::from(arguments) * 2).ok()?;
            if at == number {
                let numbers =
                    bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
                return Some((handle, numbers.collect()));
            }
        }
        None
    }

    pub const fn pool(&self) -> &Pool<'a> {
        &self.pool
    }

    pub fn fields(&self) -> &[Field<'a>] {
        &self.fields
    }

    pub fn methods(&self) -> &[Method<'a>] {
        &self.methods
    }

    pub const fn attributes(&self) -> Attributes<'a> {
        self.attributes
    }

    /// The whole file.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) const fn pool_end(&self) -> usize {
        self.pool_end
    }

    /// Where the number of fields stands: behind the access flags, two names and the interfaces.
    pub(crate) const fn field_count_at(&self) -> usize {
        self.pool_end + 8 + 2 * self.interfaces.len()
    }

    pub(crate) const fn method_count_at(&self) -> usize {
        self.method_count_at
    }

    pub(crate) const fn this_class(&self) -> u16 {
        self.this_class
    }
}

fn parse_fields<'a>(
    cursor: &mut Cursor<'a>,
    pool: &Pool<'a>,
) -> Result<Vec<Field<'a>>, ClassError> {
    cursor.enter("a field");
    let count = cursor.u16()?;
    (0..count)
        .map(|_| {
            let (access, name, descriptor) = (cursor.u16()?, cursor.u16()?, cursor.u16()?);
            Ok(Field {
                access,
                name: pool.utf8(name)?,
                descriptor: pool.utf8(descriptor)?,
                attributes: Attributes::parse(cursor)?,
            })
        })
        .collect()
}

fn parse_methods<'a>(
    cursor: &mut Cursor<'a>,
    pool: &Pool<'a>,
) -> Result<Vec<Method<'a>>, ClassError> {
    cursor.enter("a method");
    let count = cursor.u16()?;
    (0..count)
        .map(|number| {
            let start = cursor.at();
            let (access, name, descriptor) = (cursor.u16()?, cursor.u16()?, cursor.u16()?);
            let attributes = Attributes::parse(cursor)?;
            let mut code = None;
            for attribute in attributes.iter() {
                if pool.utf8_bytes(attribute.name) == Ok(b"Code") {
                    let found = Code::parse(attribute.content, pool)?;
                    if code.replace(found).is_some() {
                        return Err(ClassError::TwoCodes { method: usize::from(number) });
                    }
                }
            }
            Ok(Method {
                access,
                name: pool.utf8(name)?,
                descriptor: pool.utf8(descriptor)?,
                attributes,
                code,
                span: start..cursor.at(),
            })
        })
        .collect()
}
