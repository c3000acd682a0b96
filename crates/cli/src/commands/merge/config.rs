//! What `untorn merge` is to do.

use std::path::PathBuf;

use super::args::MergeArgs;

#[derive(Debug)]
pub struct Merge {
    /// Folders, or the reports in them.
    pub parts: Vec<PathBuf>,
    pub out: PathBuf,
    /// Parts may be missing.
    pub partial: bool,
}

impl Merge {
    pub fn new(MergeArgs { parts, out, partial }: MergeArgs) -> Self {
        Self { parts, out, partial }
    }
}
