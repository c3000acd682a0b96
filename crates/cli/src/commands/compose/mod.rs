//! `untorn compose`: reads class files, searches for calls that look like one step, lists them.

pub mod args;
pub mod config;
mod show;

use std::path::Path;
use std::time::Instant;

use untorn_compositions::{Archives, Jdk, LoadError, Origin, analyze};
use untorn_findings::compositions::{json, sarif};

use crate::console::Console;
use crate::exit::{CliError, Exit, Result};
use crate::files::write_text;
use config::Compose;
pub use show::why;

pub fn run(config: &Compose) -> Result<Exit> {
    let start = Instant::now();
    let mut archives = Archives::default();
    for file in &config.files {
        archives.add(file, Origin::Application).map_err(|error| fault(&error))?;
    }
    for file in &config.classpath {
        archives.add(file, Origin::Library).map_err(|error| fault(&error))?;
    }
    let jdk = Jdk::open(&config.jdk).map_err(|error| fault(&error))?;
    let mut report = analyze(&archives.classes, &jdk, &config.options);
    report.skipped.entries = archives.unreadable;
    let mut console = Console::new(config.color, config.volume);
    let names = config.files.iter().map(|file| name(file)).collect::<Vec<_>>().join(", ");
    let time = start.elapsed();
    show::CompositionList { report: &report, names: &names, top: config.top, time }
        .show(&mut console)?;
    if let Some(path) = &config.json {
        write_text(path, &json::render(&report, &names), &mut console)?;
    }
    if let Some(path) = &config.sarif {
        write_text(path, &sarif::render(&report), &mut console)?;
    }
    Ok(Exit::Clean)
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

/// An error of the analysis, with a way out.
pub fn fault(error: &LoadError) -> CliError {
    let failure = CliError::input(error.to_string());
    match error {
        LoadError::Kind { .. } => {
            failure.way_out("give a jar, a folder of classes, or a class file")
        }
        LoadError::Empty { .. } => failure.way_out("compile the sources first"),
        LoadError::Jdk { .. } => {
            failure.way_out("name the folder of a JDK, version 9 or newer, with --jdk")
        }
        _ => failure,
    }
}
