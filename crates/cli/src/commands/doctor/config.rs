//! What `untorn doctor` is to do.

use untorn_jvm::ProgramArguments;

use super::args::DoctorArgs;
use crate::exit::Result;
use crate::program::program;

#[derive(Debug)]
pub struct Doctor {
    pub program: ProgramArguments,
}

impl Doctor {
    pub fn new(args: DoctorArgs) -> Result<Self> {
        Ok(Self { program: program(args.program)? })
    }
}
