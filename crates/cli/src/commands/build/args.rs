//! The arguments of `untorn cc`, `untorn c++` and `untorn make`.

use std::ffi::OsString;

use clap::Args;

/// They are the compiler's, all of them: even `--help` is.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct BuildArgs {
    /// As the compiler takes them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}
