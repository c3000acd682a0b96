//! Writing a class anew with code inserted.
//!
//! A [`Snippet`] is straight-line code, a [`MethodEdit`] says where it goes, and a [`ClassEditor`]
//! holds the edits of a class. The verifier accepts the result if each snippet keeps to what is
//! asked of it; HotSpot has further opinions, which were found the hard way:
//!
//! * A method is only compiled if its monitors provably balance on every path, exceptional ones
//!   included; see [`MethodEdit::after`], [`MethodEdit::keep_local`] and
//!   [`Snippet::end_protection`].
//! * An object is registered for finalisation unless its `finalize()` is a lone `return`. Never put
//!   code into an empty one, least of all into that of `java/lang/Object`.
//! * A `synchronized` intrinsic that loses its flag (`StringBuffer.append`) makes the JVM print a
//!   complaint, unless it loses its annotation, too.

pub(crate) mod attributes;
mod layout;
mod method;
mod pool;
mod ranges;
mod snippet;
mod stack_maps;
mod write;

pub use method::{MethodEdit, Wrap};
pub use pool::PoolBuilder;
pub use snippet::{Kind, Snippet};

use write::{Failure, write_method};

use crate::class::POOL_COUNT_AT;
use crate::{ClassError, ClassFile, PoolFull, SkipReason};

/// A class to be written with changes.
#[derive(Debug)]
pub struct ClassEditor<'a> {
    class: &'a ClassFile<'a>,
    pool: PoolBuilder<'a>,
    /// What is asked for of each method.
    plans: Vec<Plan>,
    /// What the class does not have yet, as it stands in its file.
    fields: Vec<Vec<u8>>,
    methods: Vec<Vec<u8>>,
}

/// The code of a method to be added: straight on from its first instruction to a return.
#[derive(Clone, Copy, Debug)]
pub struct Body<'c> {
    pub code: &'c [u8],
    pub max_stack: u16,
    pub max_locals: u16,
}

/// All that is asked for of one method.
#[derive(Clone, Debug, Default)]
struct Plan {
    edit: Option<MethodEdit>,
    access: Option<u16>,
    stripped: Vec<String>,
}

impl Plan {
    const fn asks_for_anything(&self) -> bool {
        self.edit.is_some() || self.access.is_some() || !self.stripped.is_empty()
    }
}

/// A class as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    pub bytes: Vec<u8>,
    /// Methods (by their index in [`ClassFile::methods`]) that were copied as they were, access
    /// flags and attributes included, because their edit could not be laid out.
    pub skipped: Vec<(usize, SkipReason)>,
}

impl<'a> ClassEditor<'a> {
    pub fn new(class: &'a ClassFile<'a>) -> Self {
        let plans = vec![Plan::default(); class.methods().len()];
        let pool = PoolBuilder::new(class.pool());
        Self { class, pool, plans, fields: Vec::new(), methods: Vec::new() }
    }

    pub const fn class(&self) -> &'a ClassFile<'a> {
        self.class
    }

    /// The constants, for code to be inserted.
    pub const fn pool(&mut self) -> &mut PoolBuilder<'a> {
        &mut self.pool
    }

    /// The edit of the method with that index in [`ClassFile::methods`]; from the first call on,
    /// the method is laid out anew even if nothing is asked for.
    ///
    /// # Panics
    /// If there is no such method.
    pub fn method(&mut self, index: usize) -> &mut MethodEdit {
        let max_locals = self.class.methods()[index].code().map_or(0, |code| code.max_locals());
        self.plans[index].edit.get_or_insert_with(|| MethodEdit::new(max_locals))
    }

    /// Gives a method other access flags.
    ///
    /// # Panics
    /// If there is no such method.
    pub fn set_method_access(&mut self, index: usize, access: u16) {
        self.plans[index].access = Some(access);
    }

    /// Leaves out the attributes of that name of a method, such as `RuntimeVisibleAnnotations`.
    ///
    /// # Panics
    /// If there is no such method.
    pub fn strip_method_attribute(&mut self, index: usize, name: &str) {
        self.plans[index].stripped.push(name.to_owned());
    }

    /// Gives the class a further field. A class that is loaded already cannot get one.
    pub fn add_field(&mut self, access: u16, name: &str, descriptor: &str) -> Result<(), PoolFull> {
        if self.class.fields().len() + self.fields.len() >= usize::from(u16::MAX) {
            return Err(PoolFull);
        }
        let field = self.member(access, name, descriptor, 0)?;
        self.fields.push(field);
        Ok(())
    }

    /// Gives the class a further method. It must not have one of that name and descriptor, nor have been loaded before.
    pub fn add_method(
        &mut self,
        access: u16,
        name: &str,
        descriptor: &str,
        body: Body<'_>,
    ) -> Result<(), PoolFull> {
        if self.class.methods().len() + self.methods.len() >= usize::from(u16::MAX) {
            return Err(PoolFull);
        }
        let mut method = self.member(access, name, descriptor, 1)?;
        method.extend(self.pool.utf8("Code")?.to_be_bytes());
        let mut content = Vec::new();
        content.extend(body.max_stack.to_be_bytes());
        content.extend(body.max_locals.to_be_bytes());
        content.extend((body.code.len() as u32).to_be_bytes());
        content.extend(body.code);
        content.extend([0; 4]); // neither handlers nor attributes
        method.extend((content.len() as u32).to_be_bytes());
        method.extend(content);
        self.methods.push(method);
        Ok(())
    }

    /// The beginning of a field or method, up to the number of its attributes.
    fn member(
        &mut self,
        access: u16,
        name: &str,
        descriptor: &str,
        attributes: u16,
    ) -> Result<Vec<u8>, PoolFull> {
        let parts = [access, self.pool.utf8(name)?, self.pool.utf8(descriptor)?, attributes];
        Ok(parts.into_iter().flat_map(u16::to_be_bytes).collect())
    }

    /// Has every method laid out anew, also those without an edit. The result means the same.
    pub fn relayout_all(&mut self) {
        for index in 0..self.plans.len() {
            if self.class.methods()[index].code().is_some() {
                self.method(index);
            }
        }
    }

    /// Writes the class. Without edits, that gives the bytes it was read from.
    pub fn finish(mut self) -> Result<Rewritten, ClassError> {
        let old = self.class.bytes();
        let mut rest = Vec::with_capacity(old.len() + old.len() / 2);
        let mut skipped = Vec::new();
        let mut copied = self.class.pool_end();
        let (fields, methods) = (self.class.fields().len(), self.class.methods().len());
        for (count_at, count, added) in [
            (self.class.field_count_at(), fields, &self.fields),
            (self.class.method_count_at(), methods, &self.methods),
        ] {
            rest.extend(&old[copied..count_at]);
            rest.extend(((count + added.len()) as u16).to_be_bytes());
            rest.extend(added.iter().flatten());
            copied = count_at + 2;
        }
        for (index, (method, plan)) in self.class.methods().iter().zip(&mut self.plans).enumerate()
        {
            if !plan.asks_for_anything() {
                continue;
            }
            rest.extend(&old[copied..method.span().start]);
            copied = method.span().end;
            let start = rest.len();
            match write_method(self.class, method, plan, &mut self.pool, &mut rest) {
                Ok(()) => {}
                Err(Failure::Class(error)) => return Err(error),
                Err(Failure::Skip(reason)) => {
                    rest.truncate(start);
                    rest.extend(&old[method.span()]);
                    skipped.push((index, reason));
                }
            }
        }
        rest.extend(&old[copied..]);
        Ok(Rewritten { bytes: self.assemble(&rest), skipped })
    }

    /// The header, the constants with those added, and all that follows.
    fn assemble(&self, rest: &[u8]) -> Vec<u8> {
        let old = self.class.bytes();
        let mut bytes =
            Vec::with_capacity(self.class.pool_end() + self.pool.added().len() + rest.len());
        bytes.extend(&old[..POOL_COUNT_AT]);
        bytes.extend(self.pool.count().to_be_bytes());
        bytes.extend(&old[POOL_COUNT_AT + 2..self.class.pool_end()]);
        bytes.extend(self.pool.added());
        bytes.extend(rest);
        bytes
    }
}
