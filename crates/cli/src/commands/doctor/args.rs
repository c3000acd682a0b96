//! The arguments of `untorn doctor`.

use clap::Args;

use crate::args::ProgramArgs;

#[derive(Args, Debug)]
#[command(after_help = "\
Runs the program once, each thread until it blocks, and keeps nothing. What the program prints goes where it always
does; what is found out is printed behind it. The exit code is 0 if the agent attached, else 3.

Example:
  untorn doctor -- java -cp classes Bank")]
pub struct DoctorArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
}
