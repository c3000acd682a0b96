//! What `untorn explain` is to do.

use std::path::PathBuf;

use super::args::ExplainArgs;
use crate::console::Color;

#[derive(Debug)]
pub struct Explain {
    pub file: PathBuf,
    /// Which finding; may be missing if there is only one.
    pub number: Option<u32>,
    pub color: Color,
}

impl Explain {
    pub fn new(args: ExplainArgs) -> Self {
        Self { file: args.file, number: args.number, color: args.colors.color }
    }
}
