//! What `untorn compose` is to do.

use std::path::PathBuf;

use untorn_compositions::{Jdk, Options};

use super::args::{ComposeArgs, SignName};
use crate::console::{Color, Volume};
use crate::exit::{CliError, Result};
use crate::files::is_dash;

/// What `untorn compose` is to do.
#[derive(Debug)]
pub struct Compose {
    pub files: Vec<PathBuf>,
    pub classpath: Vec<PathBuf>,
    pub jdk: PathBuf,
    pub options: Options,
    pub top: usize,
    pub json: Option<PathBuf>,
    pub sarif: Option<PathBuf>,
    pub color: Color,
    pub volume: Volume,
}

impl Compose {
    pub fn new(args: ComposeArgs) -> Result<Self> {
        let outputs = [&args.json, &args.sarif].into_iter().flatten();
        let dashes = outputs.filter(|path| is_dash(path)).count();
        if dashes > 1 {
            return Err(CliError::input(
                "only one of --json and --sarif can go to standard output",
            ));
        }
        let volume = args.output.volume(dashes > 0);
        let jdk = args.jdk.or_else(Jdk::home).ok_or_else(|| {
            CliError::input("no JDK was found, and without its classes little can be told")
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
            color: args.output.color(),
            volume,
        })
    }
}
