//! Files that were not made here: nothing that they say is run before the user has seen it.

use std::collections::BTreeMap;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use untorn_report::text::plain;

use crate::console;
use crate::exit::{CliError, Result};

/// Variables that are listed, and characters of each that are shown, at most.
const MAX_VARIABLES: usize = 12;
const MAX_CHARACTERS: usize = 200;

/// What a file says is run.
#[derive(Debug)]
pub struct Foreign<'a> {
    pub file: &'a Path,
    pub command: &'a [String],
    pub directory: Option<&'a str>,
    /// Variables that would be set.
    pub set: BTreeMap<String, String>,
    /// Those that are left out, because they could have other code run.
    pub left_out: BTreeMap<String, String>,
    /// The call that runs it without asking.
    pub call: &'a str,
}

impl Foreign<'_> {
    /// Shows it, and asks; without a terminal, that is an error.
    pub fn ask(&self) -> Result<()> {
        let what = format!("{} was not made here, and says what to run", self.file.display());
        let way_out =
            format!("if you trust it: {} {}", self.call, plain(&self.file.display().to_string()));
        let refused = |what: String| CliError::input(what).way_out(way_out);
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            return Err(refused(plain(&what)).details(self.lines()));
        }
        console::tell(&format!("untorn: {what}\n  {}\n", self.lines().join("\n  ")));
        console::tell("Run it? [y/N] ");
        let mut answer = String::new();
        let answered = io::stdin().lock().read_line(&mut answer);
        match answered.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
            true => Ok(()),
            false => Err(refused("not run".to_owned())),
        }
    }

    fn lines(&self) -> Vec<String> {
        let words: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        let mut lines = vec![format!("command   {}", words.join(" "))];
        lines.extend(self.directory.map(|directory| format!("folder    {}", quoted(directory))));
        lines.extend(variables("variables", &self.set));
        lines.extend(variables("left out without --trust:", &self.left_out));
        lines
    }
}

fn variables(what: &str, all: &BTreeMap<String, String>) -> Option<String> {
    let pairs = all.iter().take(MAX_VARIABLES);
    let mut shown: Vec<String> =
        pairs.map(|(name, value)| format!("{}={}", plain(name), quoted(value))).collect();
    if all.len() > MAX_VARIABLES {
        shown.push(format!("and {} more", all.len() - MAX_VARIABLES));
    }
    (!shown.is_empty()).then(|| format!("{what} {}", shown.join(" ")))
}

/// A word as a shell would need it, and nothing that a terminal would obey.
fn quoted(word: &str) -> String {
    let cut: String = word.chars().take(MAX_CHARACTERS).collect();
    let more = if cut.len() < word.len() { "…" } else { "" };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@%".contains(c);
    match !cut.is_empty() && cut.chars().all(is_plain) {
        true => cut + more,
        false => format!("'{}{more}'", plain(&cut)),
    }
}
