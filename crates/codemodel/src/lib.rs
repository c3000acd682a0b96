//! A model of programs, made from their class files.
//!
//! [`Archives`] collects class files from jars and folders, and [`Jdk`] those of a Java installation.
//! [`Program`] links them: class hierarchy, fields, methods, and the code of each method as a [`body`]
//! of values instead of stack slots. Over that stand [`graph`]s with [`dominators`] and [`control`]
//! dependence, [`types`], the call graph ([`calls`]), [`access_paths`] and program [`dependence`].
//!
//! Nothing here depends on an analysis. `compositions` is one analysis that uses it.
//!
//! ```no_run
//! use std::path::Path;
//! use untorn_codemodel::{Archives, Jdk, Origin, Program};
//!
//! # fn main() -> Result<(), untorn_codemodel::LoadError> {
//! let mut archives = Archives::default();
//! archives.add(Path::new("app.jar"), Origin::Application)?;
//! let jdk = Jdk::home().map_or(Ok(Jdk::none()), |home| Jdk::open(&home))?;
//! let program = Program::read(&archives.classes, &jdk);
//! for (method, _, body) in program.bodies() {
//!     assert!(body.blocks.len() <= body.full_graph().len(), "{method:?}");
//! }
//! # Ok(())
//! # }
//! ```

pub mod access_paths;
mod archive;
pub mod body;
pub mod calls;
pub mod control;
pub mod dependence;
pub mod dominators;
mod error;
mod factories;
pub mod graph;
pub mod ids;
mod jdk;
mod names;
pub mod program;
pub mod types;

pub use archive::{Archives, ClassBytes, Origin};
pub use error::{BodyError, LoadError};
pub use jdk::Jdk;
pub use program::{Program, Skipped};
