//! `untorn init`: a project file to begin with.

use std::io::Write;

use crate::console::Console;
use crate::exit::{CliError, Exit, Result};
use crate::project::{FILE, TEMPLATE};

pub fn run() -> Result<Exit> {
    let cannot = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CliError::input(format!("{FILE} is there already, and stays as it is"))
        }
        _ => CliError::run(format!("cannot write {FILE}: {error}")),
    };
    let mut file = std::fs::File::create_new(FILE).map_err(cannot)?;
    file.write_all(TEMPLATE.as_bytes()).map_err(cannot)?;
    Console::plain()
        .say(&format!("wrote {FILE}: put your command into it, then `untorn check`\n"))?;
    Ok(Exit::Clean)
}
