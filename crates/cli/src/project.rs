//! `untorn.toml`: options that a project sets once. The command line wins over it.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;
use serde::Deserialize;

use crate::args::{BlocksName, ProgramArgs};
use crate::commands::check::args::{CheckArgs, FailOn};
use crate::commands::compare::args::{CompareArgs, StrategyName};
use crate::commands::record::args::{PolicyName, RecordArgs};
use crate::exit::{CliError, Result};

/// What the file is called.
pub const FILE: &str = "untorn.toml";

pub const TEMPLATE: &str = include_str!("untorn.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Text {
    check: CheckTable,
    record: RecordTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CheckTable {
    command: Option<Vec<String>>,
    junit: Option<String>,
    class_path: Option<String>,
    main: Option<String>,
    test: Option<String>,
    env: Option<Vec<String>>,
    time: Option<String>,
    runs: Option<u32>,
    per_candidate: Option<u32>,
    explore: Option<u32>,
    fail_on: Option<FailOn>,
    run_time: Option<String>,
    events: Option<u64>,
    seed: Option<u64>,
    jobs: Option<usize>,
    minimise: Option<u32>,
    all_methods: Option<bool>,
    compositions: Option<bool>,
    linearizable: Option<String>,
    with_ops: Option<Vec<String>>,
    with: Option<Vec<StrategyName>>,
    blocks: Option<BlocksName>,
    atomic: Option<Vec<String>>,
    not_atomic: Option<Vec<String>>,
    only: Option<Vec<String>>,
    until: Option<String>,
    drive: Option<String>,
    stop_after: Option<String>,
    instrument: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    out: Option<PathBuf>,
    source: Option<Vec<PathBuf>>,
}

impl CheckTable {
    fn program(&self) -> ProgramArgs {
        ProgramArgs {
            junit: self.junit.clone(),
            class_path: self.class_path.clone(),
            main: self.main.clone(),
            test: self.test.clone(),
            env: self.env.clone().unwrap_or_default(),
            command: self.command.clone().unwrap_or_default(),
            directory: None,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RecordTable {
    command: Option<Vec<String>>,
    junit: Option<String>,
    class_path: Option<String>,
    main: Option<String>,
    test: Option<String>,
    env: Option<Vec<String>>,
    output: Option<PathBuf>,
    policy: Option<PolicyName>,
    seed: Option<u64>,
    quantum: Option<u64>,
    atomic: Option<Vec<String>>,
    instrument: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    patience: Option<u64>,
}

impl RecordTable {
    fn program(&self) -> ProgramArgs {
        ProgramArgs {
            junit: self.junit.clone(),
            class_path: self.class_path.clone(),
            main: self.main.clone(),
            test: self.test.clone(),
            env: self.env.clone().unwrap_or_default(),
            command: self.command.clone().unwrap_or_default(),
            directory: None,
        }
    }
}

/// A project's file, read; or an empty one if there is none.
#[derive(Debug, Default)]
pub struct Project {
    text: Text,
    /// Its folder; empty if that is the current one.
    folder: PathBuf,
}

/// Which arguments were on the command line.
#[derive(Clone, Copy)]
pub struct ExplicitArgs<'m>(Option<&'m ArgMatches>);

impl<'m> ExplicitArgs<'m> {
    /// Of the command that was called.
    pub fn of(matches: &'m ArgMatches) -> Self {
        Self(matches.subcommand().map(|(_, own)| own))
    }

    fn has(self, name: &str) -> bool {
        let source = self.0.and_then(|own| own.value_source(name));
        source == Some(ValueSource::CommandLine)
    }

    /// Takes the project's value, unless the command line has one.
    fn fill<T>(self, name: &str, slot: &mut T, value: Option<T>) {
        if let Some(value) = value.filter(|_| !self.has(name)) {
            *slot = value;
        }
    }
}

impl Project {
    /// The project of the current folder.
    pub fn find() -> Result<Self> {
        let here = std::env::current_dir()
            .map_err(|error| CliError::run(format!("there is no current folder: {error}")))?;
        match locate(&here) {
            Some(path) => {
                let folder = path.parent().filter(|folder| **folder != here);
                let folder = folder.map(Path::to_owned).unwrap_or_default();
                let shown = if folder.as_os_str().is_empty() { PathBuf::from(FILE) } else { path };
                let text = std::fs::read_to_string(&shown)
                    .map_err(|error| CliError::input(format!("{}: {error}", shown.display())))?;
                Ok(Self { text: parse(&shown, &text)?, folder })
            }
            None => Ok(Self::default()),
        }
    }

    pub fn fill_check(&self, args: &mut CheckArgs, explicit: ExplicitArgs<'_>) {
        let own = &self.text.check;
        explicit.fill("time", &mut args.time, own.time.clone());
        explicit.fill("runs", &mut args.runs, own.runs);
        explicit.fill("per_candidate", &mut args.per_candidate, own.per_candidate);
        explicit.fill("explore", &mut args.explore, own.explore.map(Some));
        explicit.fill("fail_on", &mut args.fail_on, own.fail_on);
        explicit.fill("run_time", &mut args.run_time, own.run_time.clone().map(Some));
        explicit.fill("events", &mut args.events, own.events.map(Some));
        explicit.fill("seed", &mut args.seed, own.seed);
        explicit.fill("jobs", &mut args.jobs, own.jobs);
        explicit.fill("minimise", &mut args.minimise, own.minimise);
        explicit.fill("all_methods", &mut args.all_methods, own.all_methods);
        explicit.fill("compositions", &mut args.compositions, own.compositions);
        explicit.fill("linearizable", &mut args.linearizable, own.linearizable.clone().map(Some));
        explicit.fill("with_ops", &mut args.with_ops, own.with_ops.clone());
        explicit.fill("with", &mut args.with, own.with.clone());
        explicit.fill("blocks", &mut args.blocks, own.blocks);
        explicit.fill("atomic", &mut args.scope.atomic, own.atomic.clone());
        explicit.fill("not_atomic", &mut args.not_atomic, own.not_atomic.clone());
        explicit.fill("only", &mut args.only, own.only.clone());
        explicit.fill("until", &mut args.stop.until, own.until.clone().map(Some));
        explicit.fill("drive", &mut args.stop.drive, own.drive.clone().map(Some));
        explicit.fill("stop_after", &mut args.stop.stop_after, own.stop_after.clone().map(Some));
        explicit.fill("instrument", &mut args.scope.instrument, own.instrument.clone());
        explicit.fill("exclude", &mut args.scope.exclude, own.exclude.clone());
        explicit.fill("out", &mut args.out, own.out.as_ref().map(|path| self.folder.join(path)));
        let sources = own.source.iter().flatten().map(|path| self.folder.join(path)).collect();
        explicit.fill("source", &mut args.source, own.source.as_ref().map(|_| sources));
        self.fill_program(&mut args.program, own.program());
    }

    pub fn fill_compare(&self, args: &mut CompareArgs, explicit: ExplicitArgs<'_>) {
        let own = &self.text.check;
        explicit.fill("events", &mut args.events, own.events.map(Some));
        explicit.fill("seed", &mut args.seed, own.seed);
        explicit.fill("blocks", &mut args.blocks, own.blocks);
        explicit.fill("atomic", &mut args.scope.atomic, own.atomic.clone());
        explicit.fill("not_atomic", &mut args.not_atomic, own.not_atomic.clone());
        explicit.fill("instrument", &mut args.scope.instrument, own.instrument.clone());
        explicit.fill("exclude", &mut args.scope.exclude, own.exclude.clone());
        self.fill_program(&mut args.program, own.program());
    }

    pub fn fill_record(&self, args: &mut RecordArgs, explicit: ExplicitArgs<'_>) {
        let own = &self.text.record;
        let output = own.output.as_ref().map(|path| self.folder.join(path));
        explicit.fill("output", &mut args.output, output);
        explicit.fill("policy", &mut args.policy, own.policy);
        explicit.fill("seed", &mut args.seed, own.seed);
        explicit.fill("quantum", &mut args.quantum, own.quantum);
        explicit.fill("atomic", &mut args.scope.atomic, own.atomic.clone());
        explicit.fill("instrument", &mut args.scope.instrument, own.instrument.clone());
        explicit.fill("exclude", &mut args.scope.exclude, own.exclude.clone());
        explicit.fill("patience", &mut args.patience, own.patience);
        self.fill_program(&mut args.program, own.program());
    }

    /// A program of the project runs in the project's folder; one of the command line where the user is.
    fn fill_program(&self, args: &mut ProgramArgs, own: ProgramArgs) {
        let names_one = |args: &ProgramArgs| !args.command.is_empty() || args.junit.is_some();
        if !names_one(args) && names_one(&own) {
            let (main, test) = (args.main.take().or(own.main), args.test.take().or(own.test));
            let folder = Some(self.folder.clone()).filter(|folder| !folder.as_os_str().is_empty());
            let env = if args.env.is_empty() { own.env } else { std::mem::take(&mut args.env) };
            *args = ProgramArgs { main, test, env, directory: folder, ..own };
        }
    }
}

/// The file of this folder or of one above it, not above the repository. Without a repository, only this
/// folder counts: a file further up may belong to another project.
fn locate(here: &Path) -> Option<PathBuf> {
    let root = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(here);
    let inside = here.ancestors().take_while(|folder| folder.starts_with(root));
    inside.map(|folder| folder.join(FILE)).find(|path| path.is_file())
}

fn parse(path: &Path, text: &str) -> Result<Text> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
        let line = before.lines().count().max(1) + usize::from(before.ends_with('\n'));
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        CliError::input(format!("{}:{line}: {message}", path.display()))
            .way_out("`untorn init` in an empty folder writes one with every key explained")
    })
}

/// The words of a program must come from somewhere.
pub fn need_command(command: &[String]) -> Result<()> {
    if command.is_empty() {
        return Err(CliError::input("which program?").way_out(format!(
            "write it behind `--`, as in `-- java -cp classes Main`, or as `command` into {FILE}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_a_project_with_and_without_its_comments() {
        let here = Path::new(FILE);
        let empty = parse(here, TEMPLATE).expect("as it is written");
        assert!(empty.check.command.is_none());
        let key = |line: &str| {
            let rest = line.strip_prefix("# ").unwrap_or(line);
            let name = rest.split(" = ").next().unwrap_or("");
            let is_key =
                rest.contains(" = ") && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            if is_key || line.starts_with('[') { rest.to_owned() } else { String::new() }
        };
        let full: Vec<String> = TEMPLATE.lines().map(key).collect();
        let full = parse(here, &full.join("\n")).expect("with every key");
        assert!(full.check.command.is_some() && full.check.time.is_some());
        assert!(full.record.policy.is_some() && full.record.patience.is_some());
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let error =
            parse(Path::new(FILE), "[check]\ntime = \"5s\"\ntiem = 3\n").expect_err("no such key");
        let text = error.to_string();
        assert!(text.contains("untorn.toml:3: unknown field `tiem`"), "{text}");
        let error = parse(Path::new(FILE), "[check]\nruns = \"many\"\n").expect_err("no number");
        assert!(error.to_string().contains("untorn.toml:2: "), "{error}");
    }
}
