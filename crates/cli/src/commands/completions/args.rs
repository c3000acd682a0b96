//! The arguments of `untorn completions`.

use clap::Args;
use clap_complete::Shell;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  untorn completions bash > ~/.local/share/bash-completion/completions/untorn
  untorn completions fish > ~/.config/fish/completions/untorn.fish")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}
