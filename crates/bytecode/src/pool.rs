//! The constant pool of a class, read in place.

use std::borrow::Cow;

use crate::ClassError;
use crate::cursor::{Cursor, u16_at};
use crate::mutf8;

/// A number as code holds it. Floating-point numbers are given by their bits, so that all can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    Int(i32),
    Long(i64),
    Float(u32),
    Double(u64),
}

/// What kind of constant an index names (JVMS table 4.4-A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Tag {
    Utf8 = 1,
    Integer = 3,
    Float = 4,
    Long = 5,
    Double = 6,
    Class = 7,
    String = 8,
    Fieldref = 9,
    Methodref = 10,
    InterfaceMethodref = 11,
    NameAndType = 12,
    MethodHandle = 15,
    MethodType = 16,
    Dynamic = 17,
    InvokeDynamic = 18,
    Module = 19,
    Package = 20,
}

impl Tag {
    const fn from_byte(tag: u8) -> Option<Self> {
        Some(match tag {
            1 => Self::Utf8,
            3 => Self::Integer,
            4 => Self::Float,
            5 => Self::Long,
            6 => Self::Double,
            7 => Self::Class,
            8 => Self::String,
            9 => Self::Fieldref,
            10 => Self::Methodref,
            11 => Self::InterfaceMethodref,
            12 => Self::NameAndType,
            15 => Self::MethodHandle,
            16 => Self::MethodType,
            17 => Self::Dynamic,
            18 => Self::InvokeDynamic,
            19 => Self::Module,
            20 => Self::Package,
            _ => return None,
        })
    }

    /// How many bytes follow the tag. A text begins with its length, which tells the rest.
    const fn len(self) -> usize {
        match self {
            Self::Utf8
            | Self::Class
            | Self::String
            | Self::MethodType
            | Self::Module
            | Self::Package => 2,
            Self::MethodHandle => 3,
            Self::Long | Self::Double => 8,
            _ => 4,
        }
    }

    /// How many indices such a constant takes: longs and doubles take two.
    pub(crate) const fn indices(self) -> u16 {
        if matches!(self, Self::Long | Self::Double) { 2 } else { 1 }
    }
}

/// A field or method that code refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    pub class: Cow<'a, str>,
    pub name: Cow<'a, str>,
    pub descriptor: Cow<'a, str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameAndType<'a> {
    pub name: Cow<'a, str>,
    pub descriptor: Cow<'a, str>,
}

/// The constants of a class. An index that names no constant, or one of another kind, is an error
/// of that look-up only.
#[derive(Clone, Debug)]
pub struct Pool<'a> {
    /// The constants one after the other.
    bytes: &'a [u8],
    /// Where in `bytes` the constant of an index begins; [`NONE`] for index 0 and for the second
    /// index of longs and doubles.
    starts: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl<'a> Pool<'a> {
    pub(crate) fn parse(cursor: &mut Cursor<'a>) -> Result<Self, ClassError> {
        cursor.enter("the constant pool");
        let count = cursor.u16()?;
        let begin = cursor.at();
        let mut starts = vec![NONE];
        while starts.len() < usize::from(count) {
            let index = starts.len() as u16;
            starts.push((cursor.at() - begin) as u32);
            let byte = cursor.u8()?;
            let tag = Tag::from_byte(byte).ok_or(ClassError::Tag { index, tag: byte })?;
            let payload = cursor.take(tag.len())?;
            if tag == Tag::Utf8 {
                cursor.take(usize::from(u16_at(payload, 0)))?;
            }
            if tag.indices() == 2 {
                starts.push(NONE);
            }
        }
        // A long as the last constant, whose second index the count leaves out.
        if starts.len() > usize::from(count.max(1)) {
            return Err(ClassError::Truncated("the constant pool"));
        }
        Ok(Self { bytes: cursor.since(begin), starts })
    }

    /// The number of indices, which includes index 0: the `constant_pool_count` of the file.
    pub fn count(&self) -> u16 {
        // Counted with 16 bits in the file, and no more were read than counted.
        self.starts.len() as u16
    }

    /// The tag and the payload of a constant; for a text, the payload begins with its length.
    pub(crate) fn entry(&self, index: u16) -> Option<(Tag, &'a [u8])> {
        let start = *self.starts.get(usize::from(index))?;
        let (&tag, payload) = self.bytes.get(start as usize..)?.split_first()?;
        let tag = Tag::from_byte(tag)?;
        let text = if tag == Tag::Utf8 { usize::from(u16_at(payload, 0)) } else { 0 };
        Some((tag, payload.get(..tag.len() + text)?))
    }

    /// A constant with its tag, as it stands in the file.
    pub(crate) fn raw(&self, index: u16) -> Option<&'a [u8]> {
        let start = *self.starts.get(usize::from(index))? as usize;
        let (_, payload) = self.entry(index)?;
        self.bytes.get(start..start + 1 + payload.len())
    }

    /// The kind of a constant; `None` if the index names none.
    pub fn tag(&self, index: u16) -> Option<Tag> {
        self.entry(index).map(|(tag, _)| tag)
    }

    /// The bytes of a text, in modified UTF-8.
    pub fn utf8_bytes(&self, index: u16) -> Result<&'a [u8], ClassError> {
        match self.entry(index) {
            Some((Tag::Utf8, payload)) => Ok(&payload[2..]),
            _ => Err(ClassError::Constant { index, wanted: "a text" }),
        }
    }

    /// A text; characters that modified UTF-8 cannot express come out as U+FFFD.
    pub fn utf8(&self, index: u16) -> Result<Cow<'a, str>, ClassError> {
        self.utf8_bytes(index).map(mutf8::decode)
    }

    /// The internal name of a class (`java/lang/Object`), or the descriptor of an array class.
    pub fn class(&self, index: u16) -> Result<Cow<'a, str>, ClassError> {
        match self.pair(index, "a class")? {
            (Tag::Class, name, _) => self.utf8(name),
            _ => Err(ClassError::Constant { index, wanted: "a class" }),
        }
    }

    /// The value of a constant that is a number.
    pub fn number(&self, index: u16) -> Option<Number> {
        let (tag, payload) = self.entry(index)?;
        let high = u32::from(u16_at(payload, 0)) << 16 | u32::from(u16_at(payload, 2));
        let low = u32::from(u16_at(payload, 4)) << 16 | u32::from(u16_at(payload, 6));
        let wide = u64::from(high) << 32 | u64::from(low);
        Some(match tag {
            Tag::Integer => Number::Int(high.cast_signed()),
            Tag::Float => Number::Float(high),
            Tag::Long => Number::Long(wide.cast_signed()),
            Tag::Double => Number::Double(wide),
            _ => return None,
        })
    }

    /// The text of a string constant.
    pub fn string(&self, index: u16) -> Result<Cow<'a, str>, ClassError> {
        match self.pair(index, "a string")? {
            (Tag::String, text, _) => self.utf8(text),
            _ => Err(ClassError::Constant { index, wanted: "a string" }),
        }
    }

    pub fn name_and_type(&self, index: u16) -> Result<NameAndType<'a>, ClassError> {
        match self.pair(index, "a name and type")? {
            (Tag::NameAndType, name, descriptor) => {
                Ok(NameAndType { name: self.utf8(name)?, descriptor: self.utf8(descriptor)? })
            }
            _ => Err(ClassError::Constant { index, wanted: "a name and type" }),
        }
    }

    /// The field or method behind a `Fieldref`, `Methodref` or `InterfaceMethodref`.
    pub fn member(&self, index: u16) -> Result<Member<'a>, ClassError> {
        match self.pair(index, "a field or method")? {
            (Tag::Fieldref | Tag::Methodref | Tag::InterfaceMethodref, class, name) => {
                let NameAndType { name, descriptor } = self.name_and_type(name)?;
                Ok(Member { class: self.class(class)?, name, descriptor })
            }
            _ => Err(ClassError::Constant { index, wanted: "a field or method" }),
        }
    }

    /// Name and type of the method that an `invokedynamic` (or a dynamic constant) stands for.
    pub fn dynamic(&self, index: u16) -> Result<NameAndType<'a>, ClassError> {
        match self.pair(index, "a dynamic call site")? {
            (Tag::InvokeDynamic | Tag::Dynamic, _, name) => self.name_and_type(name),
            _ => Err(ClassError::Constant { index, wanted: "a dynamic call site" }),
        }
    }

    /// Which bootstrap method links a dynamic call site or constant: an index into the attribute
    /// `BootstrapMethods` of the class.
    pub fn bootstrap(&self, index: u16) -> Result<u16, ClassError> {
        match self.pair(index, "a dynamic call site")? {
            (Tag::InvokeDynamic | Tag::Dynamic, bootstrap, _) => Ok(bootstrap),
            _ => Err(ClassError::Constant { index, wanted: "a dynamic call site" }),
        }
    }

    /// The kind of a method handle (JVMS table 5.4.3.5-A) and the field or method behind it.
    pub fn method_handle(&self, index: u16) -> Result<(u8, Member<'a>), ClassError> {
        match self.entry(index) {
            Some((Tag::MethodHandle, payload)) => {
                Ok((payload.first().copied().unwrap_or_default(), self.member(u16_at(payload, 1))?))
            }
            _ => Err(ClassError::Constant { index, wanted: "a method handle" }),
        }
    }

    /// The first two 16-bit numbers of a constant; the second is 0 where there is only one.
    fn pair(&self, index: u16, wanted: &'static str) -> Result<(Tag, u16, u16), ClassError> {
        let (tag, payload) = self.entry(index).ok_or(ClassError::Constant { index, wanted })?;
        Ok((tag, u16_at(payload, 0), u16_at(payload, 2)))
    }
}
