//! Reads JVM class files and inserts code into them without breaking them.
//!
//! [`ClassFile`] is a view of the bytes of one class; nothing of it is copied and nothing in it is
//! trusted. [`ClassEditor`] takes such a view and a list of insertions for each method, and writes
//! the class anew: constants are only ever appended, methods without an edit are copied byte for
//! byte, and a method whose edit cannot be laid out is copied unedited and reported. Whatever the
//! input, the program that owns the class is not broken by us.
//!
//! ```
//! use untorn_bytecode::{ClassEditor, ClassError, ClassFile, Snippet};
//!
//! /// Has every method of a class call `Probe.entered()` first.
//! fn tell_entries(bytes: &[u8]) -> Result<Vec<u8>, ClassError> {
//!     let class = ClassFile::parse(bytes)?;
//!     let mut editor = ClassEditor::new(&class);
//!     let entered = editor.pool().methodref("Probe", "entered", "()V")?;
//!     for (index, method) in class.methods().iter().enumerate() {
//!         if method.code().is_some() {
//!             editor.method(index).prologue(Snippet::new().invokestatic(entered));
//!         }
//!     }
//!     Ok(editor.finish()?.bytes)
//! }
//! ```
//!
//! The format is that of *The Java Virtual Machine Specification*, chapter 4 (versions 45 to 69).

mod class;
mod code;
mod cursor;
pub mod descriptor;
mod edit;
mod error;
mod frames;
mod instr;
pub mod jimage;
mod mutf8;
pub mod op;
mod pool;

pub use class::{Attribute, Attributes, ClassFile, Field, Method, access};
pub use code::{Code, Handler};
pub use edit::{Body, ClassEditor, Kind, MethodEdit, PoolBuilder, Rewritten, Snippet, Wrap};
pub use error::{ClassError, PoolFull, SkipReason};
pub use instr::{Instr, Instructions, Targets};
pub use pool::{Member, NameAndType, Number, Pool, Tag};
