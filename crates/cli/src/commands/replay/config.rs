//! What `untorn replay` is to do.

use std::path::{Path, PathBuf};

use super::args::ReplayArgs;
use crate::exit::{Failure, Result};
use crate::reports;

/// What `untorn replay` is to do.
#[derive(Debug)]
pub struct Replay {
    pub file: PathBuf,
    pub out: Option<PathBuf>,
    pub debug: bool,
    pub port: u16,
    pub quiet: bool,
}

impl Replay {
    pub fn new(args: ReplayArgs) -> Result<Self> {
        let ReplayArgs { file, number, output: out, debug, port, quiet } = args;
        let is_report = file.extension().is_some_and(|end| end == "json");
        let file = match (is_report, number) {
            (true, number) => trace_of(&file, number)?,
            (false, None) => file,
            (false, Some(_)) => {
                return Err(Failure::input("a number goes with a report, not with a trace")
                    .way_out("untorn replay untorn-out/report.json 1"));
            }
        };
        Ok(Self { file, out, debug, port, quiet })
    }
}

/// The trace that shows a violation of a report.
fn trace_of(path: &Path, number: Option<u32>) -> Result<PathBuf> {
    let report = reports::read_of_check(path)?;
    let evidence = reports::evidence(&report, path, number, "replay")?;
    Ok(path.parent().unwrap_or(Path::new("")).join(&evidence.trace))
}
