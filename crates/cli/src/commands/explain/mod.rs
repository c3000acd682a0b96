//! `untorn explain`: one finding in plain words.

pub mod args;
pub mod config;

use untorn_report::phrasing::count;
use untorn_report::{explain, terminal};

use crate::console::{Console, Volume};
use crate::exit::{CliError, Exit, Result};
use crate::reports;
use config::Explain;

pub fn run(config: &Explain) -> Result<Exit> {
    let report = reports::read(&config.file)?;
    let violations = report.findings().map(|finding| finding.number);
    let numbers: Vec<u32> =
        violations.chain(report.failures.iter().map(|failure| failure.number)).collect();
    let fail = |text: String| CliError::input(format!("{}: {text}", config.file.display()));
    let number = match (config.number, numbers.as_slice()) {
        (Some(number), _) => number,
        (None, [only]) => *only,
        (None, all) => {
            return Err(fail(format!(
                "it has {}: which one?",
                count(all.len() as u64, "violation")
            ))
            .way_out(format!("untorn explain {} NUMBER", config.file.display())));
        }
    };
    let mut console = Console::new(config.color, Volume::Normal);
    if let Some(failure) = report.failures.iter().find(|failure| failure.number == number) {
        console.put(&terminal::failure(failure, &console.look))?;
        return Ok(Exit::Clean);
    }
    let found = report.findings().find(|finding| finding.number == number).ok_or_else(|| {
        fail(format!(
            "it has no violation {number}, only {}",
            count(numbers.len() as u64, "violation")
        ))
    })?;
    let text = explain::render(found, report.check.as_ref(), &console.look);
    console.put(&text)?;
    Ok(Exit::Clean)
}
