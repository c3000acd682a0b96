//! The arguments of `untorn man`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  untorn man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The folder; it is made if it is not there
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
