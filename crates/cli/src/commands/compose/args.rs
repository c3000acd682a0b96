//! The arguments of `untorn compose`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "\
Reads class files and runs nothing. Lists calls of thread-safe objects that look meant to be one step and
are not: `if (map.containsKey(k)) map.remove(k)`. These are suspicions, the most promising first.

Examples:
  untorn compose app.jar
  untorn compose --classpath lib/a.jar:lib/b.jar --top 100 app.jar
  untorn compose --with use,comp,muvi build/classes
  untorn compose --json compositions.json --sarif compositions.sarif app.jar

Exit codes:
  0  the classes were read; suspicions do not count as violations
  2  bad usage or bad input: a file that is no jar, a jar without classes, no JDK
  3  could not run: a file cannot be written")]
#[command(mut_arg("verbose", |arg| arg.help("Also show how the atomic sets are made up and why a composition stands where it stands")))]
#[command(mut_arg("quiet", |arg| arg.help("Print no list, only errors and warnings")))]
pub struct ComposeArgs {
    /// Jars, folders of classes or class files of the application
    #[arg(value_name = "APP", required = true)]
    pub files: Vec<PathBuf>,

    /// Its libraries, separated by `:`; followed, but not reported
    #[arg(long, value_name = "PATH", value_delimiter = ':')]
    pub classpath: Vec<PathBuf>,

    /// The JDK whose classes the application uses; otherwise JAVA_HOME, or the one of `java`
    #[arg(long, value_name = "FOLDER")]
    pub jdk: Option<PathBuf>,

    /// What counts as a sign, separated by commas
    #[arg(long, value_enum, value_name = "SIGNS", value_delimiter = ',',
        default_values_t = [SignName::Use, SignName::Comp])]
    pub with: Vec<SignName>,

    /// How many to print; the JSON and SARIF files have all
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub top: usize,

    /// Write everything as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write everything as SARIF, for code review tools
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SignName {
    /// The second call depends on the first
    Use,
    /// One call never runs without the other
    Comp,
    /// The calls are often made together; for comparison
    Muvi,
}
