//! What can go wrong.

use std::path::PathBuf;

use thiserror::Error;

/// A program cannot be loaded. What is wrong with single classes or methods is counted instead,
/// see [`crate::Skipped`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error("cannot read: {reason}, {}", path.display())]
    Read { path: PathBuf, reason: String },
    #[error("this is neither a jar, a class file nor a folder, {}", path.display())]
    Kind { path: PathBuf },
    #[error("there are no classes in it, {}", path.display())]
    Empty { path: PathBuf },
    #[error("the classes of the JDK cannot be read: {reason}")]
    Jdk { reason: String },
}

/// Why the code of a method was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum BodyError {
    #[error("it has subroutines (jsr, ret)")]
    Subroutine,
    #[error("its code is malformed: {0}")]
    Malformed(&'static str),
    #[error("it is too large")]
    TooLarge,
}
