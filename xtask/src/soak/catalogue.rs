//! The programs of a soak: the examples, and the drivers of `targets/` that are set up; what each may print is declared
//! in its head (`examples/java/README.md`).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::targets;

/// A program, and what it may do.
#[derive(Debug)]
pub struct Program {
    /// `fail/Bank`, `targets/H2Accounts`.
    pub name: String,
    pub command: Vec<String>,
    pub output: Output,
    pub exit: i32,
    /// A schedule can stop it for ever.
    pub may_deadlock: bool,
    /// Why its runs may not replay, if it declares that.
    pub unsteady: Option<String>,
}

/// What a program may print.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    OneOf(Vec<Vec<u8>>),
    /// The same in every schedule, and so in a plain run.
    AsPlain,
    /// It depends on the schedule, and is not declared.
    Any,
}

/// All of them, compiled into the folder.
pub fn programs(folder: &Path) -> Result<Vec<Program>> {
    let mut found = Vec::new();
    for kind in ["pass", "fail", "constructs", "compose"] {
        let classes = folder.join("classes").join(kind);
        let sources = sources(&Path::new("examples/java").join(kind))?;
        compile(&sources, &classes)?;
        let class_path = classes.display().to_string();
        for source in &sources {
            found.extend(program(kind, source, &class_path)?);
        }
    }
    for source in &sources(Path::new("targets"))? {
        let home = targets::folder_of(stem(source)?)?;
        if home.join("classes").is_dir() {
            let class_path = format!("{0}/classes:{0}/lib/*", home.display());
            found.extend(program("targets", source, &class_path)?);
        }
    }
    Ok(found)
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("{}: run from the project's root", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "java")).collect();
    found.sort();
    Ok(found)
}

fn stem(source: &Path) -> Result<&str> {
    source.file_stem().and_then(|name| name.to_str()).context("a plain name")
}

fn compile(sources: &[PathBuf], classes: &Path) -> Result<()> {
    let mut javac = Command::new("javac");
    javac.args(["-nowarn", "-encoding", "UTF-8", "-g:source,lines", "-d"]).arg(classes);
    if javac.args(sources).status()?.success() { Ok(()) } else { bail!("javac failed") }
}

/// The program of a source; `None` if it has no `main`.
fn program(kind: &str, source: &Path, class_path: &str) -> Result<Option<Program>> {
    let text = std::fs::read_to_string(source)?;
    if !text.contains("static void main(") {
        return Ok(None);
    }
    let golden = source.with_extension("out");
    let golden = if golden.exists() { Some(std::fs::read(golden)?) } else { None };
    let name = stem(source)?;
    let head = SourceHeader(&text);
    Ok(Some(Program {
        name: format!("{kind}/{name}"),
        command: ["java", "-cp", class_path, name].map(str::to_owned).to_vec(),
        output: head.output(golden).with_context(|| source.display().to_string())?,
        exit: head.first("exit").map_or(Ok(0), str::parse)?,
        may_deadlock: head.first("expect") == Some("deadlock"),
        unsteady: head.first("replay").map(str::to_owned),
    }))
}

/// The lines `// key: value` of a source.
struct SourceHeader<'a>(&'a str);

impl<'a> SourceHeader<'a> {
    fn all(&self, key: &str) -> impl Iterator<Item = &'a str> {
        let head = format!("// {key}:");
        self.0.lines().filter_map(move |line| line.strip_prefix(&head)).map(str::trim)
    }

    fn first(&self, key: &str) -> Option<&'a str> {
        self.all(key).next()
    }

    fn output(&self, golden: Option<Vec<u8>>) -> Result<Output> {
        if let Some(golden) = golden {
            return Ok(Output::OneOf(vec![golden]));
        }
        match self.first("output") {
            Some("any") => return Ok(Output::Any),
            Some(other) => bail!("`output: {other}` is not known"),
            None => {}
        }
        let lines = ["whole", "torn", "or"].into_iter().flat_map(|key| self.all(key));
        let text = |line: &str| line.replace("\\n", "\n") + "\n";
        let mut lines: Vec<_> = lines.map(|line| text(line).into_bytes()).collect();
        // A program that fails does not come to its last line.
        if self.first("expect").is_some_and(|expect| expect.starts_with("failure")) {
            lines.push(Vec::new());
        }
        Ok(if lines.is_empty() { Output::AsPlain } else { Output::OneOf(lines) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str, golden: Option<&str>) -> Output {
        SourceHeader(text).output(golden.map(|text| text.as_bytes().to_vec())).expect("a good head")
    }

    #[test]
    fn a_head_says_what_may_be_printed() {
        let one_of = |lines: &[&str]| {
            Output::OneOf(lines.iter().map(|line| line.as_bytes().to_vec()).collect())
        };
        let torn = "// A bank.\n// whole:  20\n// torn:  70\n// or: 50\nclass A {}\n";
        assert_eq!(output(torn, None), one_of(&["20\n", "70\n", "50\n"]));
        assert_eq!(output("// expect: serializable\n", Some("a\nb\n")), one_of(&["a\nb\n"]));
        assert_eq!(output("// output: any\n", None), Output::Any);
        assert_eq!(output("// expect: output\n", None), Output::AsPlain);
        assert!(SourceHeader("// output: some\n").output(None).is_err());
    }
}
