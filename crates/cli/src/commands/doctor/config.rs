//! What `untorn doctor` is to do.

use super::args::DoctorArgs;
use crate::exit::Result;
use crate::program::Program;

#[derive(Debug)]
pub struct Doctor {
    pub program: Program,
}

impl Doctor {
    pub fn new(args: DoctorArgs) -> Result<Self> {
        Ok(Self { program: Program::new(args.program)? })
    }
}
