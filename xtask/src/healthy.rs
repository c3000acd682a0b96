//! `./dev healthy`: tests of public libraries in which nothing is known to be wrong. What is found there is true, or a
//! false alarm. One row each, to be judged by hand.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;
use crate::setup::libraries;
use crate::shell::remove_folder;

const LIST: &str = "targets/healthy.txt";
const HOME: &str = "target/healthy";

/// Time for one test.
const CHECK: &str = "40s";

/// A check that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(240);

/// A line of the list: a test class, or one method of it, and the name of its library.
struct Test {
    library: String,
    name: String,
}

/// What the list names.
#[derive(Default)]
struct Corpus {
    /// Names, with coordinates a line each.
    libraries: Vec<(String, String)>,
    tests: Vec<Test>,
}

impl Corpus {
    fn parse(text: &str) -> Result<Self> {
        let mut corpus = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["library", name, ref coordinates @ ..] => {
                    let coordinates = coordinates.iter().map(|one| format!("{one}\n")).collect();
                    corpus.libraries.push((name.to_owned(), coordinates));
                }
                ["test", library, name] => {
                    let (library, name) = (library.to_owned(), name.to_owned());
                    corpus.tests.push(Test { library, name });
                }
                _ => bail!("{LIST}: this line is neither a library nor a test: {line}"),
            }
        }
        Ok(corpus)
    }

    /// Leaves those whose library or name contains one of the words.
    fn choose(&mut self, words: &[&str]) -> Result<()> {
        let is_chosen = |test: &Test| {
            words.iter().any(|word| test.library == *word || test.name.contains(word))
        };
        if !words.is_empty() {
            self.tests.retain(is_chosen);
        }
        if self.tests.is_empty() {
            bail!("{LIST} has no test like that");
        }
        let is_used = |name: &String| self.tests.iter().any(|test| test.library == *name);
        self.libraries.retain(|(name, _)| is_used(name));
        Ok(())
    }
}

/// Checks the tests whose library or name contains one of the words; without words, all.
pub fn print_all(words: &[&str]) -> Result<()> {
    let mut corpus = Corpus::parse(&std::fs::read_to_string(LIST).context(LIST)?)?;
    corpus.choose(words)?;
    for (name, coordinates) in &corpus.libraries {
        libraries::fetch_once(&Path::new(HOME).join(name), coordinates)?;
    }
    println!(
        "| library | test | verdict | runs | directed | candidates | violations | failures | folded |"
    );
    println!("| --- | --- | --- |{}", " ---: |".repeat(6));
    for test in &corpus.tests {
        println!("{}", row(test)?);
    }
    Ok(())
}

fn row(test: &Test) -> Result<String> {
    let short = test.name.rsplit('.').next().unwrap_or(&test.name);
    let report = check(test, short)?;
    let count = |name: &str| report[name].as_array().map_or(0, Vec::len);
    let check = &report["check"];
    let verdict = check["verdict"].as_str().unwrap_or("no report");
    Ok(format!(
        "| {} | {short} | {verdict} | {} | {} | {} | {} | {} | {} |",
        test.library,
        check["runs"],
        check["directed"],
        check["candidates"],
        count("findings"),
        count("failures"),
        count("folded"),
    ))
}

/// The report of a check.
fn check(test: &Test, short: &str) -> Result<Value> {
    let home = std::path::absolute(HOME)?;
    let out: PathBuf = home.join("out").join(short.replace('#', "-"));
    remove_folder(&out)?;
    std::fs::create_dir_all(&out)?;
    let class_path = home.join(&test.library).join("lib/*");
    let mut command = Command::new(crate::release::untorn()?);
    command.args(["check", "-q", "--time", CHECK, "--junit", &test.name, "-cp"]).arg(class_path);
    command.arg("--out").arg(&out).current_dir(&out);
    let ended = process::run(&mut command, LIMIT)?;
    if ended.hung {
        bail!("{}: it did not end within {} s", test.name, LIMIT.as_secs());
    }
    if !matches!(ended.status.code(), Some(0 | 1 | 4)) {
        bail!("{}: {}", test.name, ended.stderr_text());
    }
    Ok(serde_json::from_slice(&std::fs::read(out.join("report.json"))?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_names_its_library() {
        let text = "# why\nlibrary a g:a:1 g:a:1:tests\nlibrary b g:b:1\n\ntest a org.a.ATest#x\ntest b org.b.BTest\n";
        let mut corpus = Corpus::parse(text).expect("a list");
        assert_eq!(corpus.libraries[0], ("a".to_owned(), "g:a:1\ng:a:1:tests\n".to_owned()));
        corpus.choose(&["BTest"]).expect("there is one");
        assert_eq!(corpus.tests[0].name, "org.b.BTest");
        assert_eq!(corpus.libraries.len(), 1);
        assert!(corpus.choose(&["nothing"]).is_err());
        assert!(Corpus::parse("tests a b\n").is_err());
    }

    #[test]
    fn every_test_of_the_list_has_a_library() {
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(LIST);
        let corpus =
            Corpus::parse(&std::fs::read_to_string(list).expect("the list")).expect("it is one");
        for test in &corpus.tests {
            let is_there = corpus.libraries.iter().any(|(name, _)| *name == test.library);
            assert!(is_there, "{}: no library {}", test.name, test.library);
        }
    }
}
