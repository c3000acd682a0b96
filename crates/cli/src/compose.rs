//! `untorn compose`: reads class files, looks for calls that look meant to be one step, lists them.

mod show;

use std::path::{Path, PathBuf};
use std::time::Instant;

use untorn_compositions::{Archives, Jdk, LoadError, Options, Origin, analyze};
use untorn_findings::compositions::{json, sarif};

use crate::args::{ComposeArgs, SignName};
use crate::console::{Color, Console, Volume};
use crate::exit::{Exit, Failure, Result};
use crate::files::{is_dash, write_text};
pub use show::why;

/// What `untorn compose` is to do.
#[derive(Debug)]
pub struct Compose {
    files: Vec<PathBuf>,
    classpath: Vec<PathBuf>,
    jdk: PathBuf,
    options: Options,
    top: usize,
    json: Option<PathBuf>,
    sarif: Option<PathBuf>,
    color: Color,
    volume: Volume,
}

impl Compose {
    pub fn new(args: ComposeArgs) -> Result<Self> {
        let outputs = [&args.json, &args.sarif].into_iter().flatten();
        let dashes = outputs.filter(|path| is_dash(path)).count();
        if dashes > 1 {
            return Err(Failure::input("only one of --json and --sarif can go to standard output"));
        }
        // Text and a machine's format on one stream would serve nobody.
        let volume = Volume::of(args.quiet || dashes > 0, args.verbose);
        let jdk = args.jdk.or_else(Jdk::home).ok_or_else(|| {
            Failure::input("no JDK was found, and without its classes little can be told")
                .way_out("set JAVA_HOME, or name its folder with --jdk")
        })?;
        let has = |sign| args.with.contains(&sign);
        let options = Options {
            by_use: has(SignName::Use),
            by_complementation: has(SignName::Comp),
            by_muvi: has(SignName::Muvi),
        };
        let classpath = args.classpath.into_iter().filter(|path| !path.as_os_str().is_empty());
        Ok(Self {
            files: args.files,
            classpath: classpath.collect(),
            jdk,
            options,
            top: args.top,
            json: args.json,
            sarif: args.sarif,
            color: args.color,
            volume,
        })
    }
}

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
    show::Shown { report: &report, names: &names, top: config.top, time }.show(&mut console)?;
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
pub fn fault(error: &LoadError) -> Failure {
    let failure = Failure::input(error.to_string());
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
