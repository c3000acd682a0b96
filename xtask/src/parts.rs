//! `./dev test [PART…]` and `./dev quick [CRATE]`: what is tested, and what each part needs.

use anyhow::{Result, bail};

use crate::shell::{cargo, run};
use crate::{dependencies, setup, tidy};

/// A part of `./dev test`.
struct Part {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<()>,
}

const PARTS: [Part; 8] = [
    Part { name: "tidy", about: "the house rules that a program can check", run: tidy::check },
    Part {
        name: "deny",
        about: "licences, versions and sources of dependencies",
        run: dependencies::check,
    },
    Part { name: "lint", about: "format and lints", run: lint },
    Part { name: "doc", about: "the API documentation builds without warnings", run: doc },
    Part { name: "unit", about: "tests that start no JVM, browser or solver", run: unit },
    Part { name: "solvers", about: "engines against other planners and solvers", run: solvers },
    Part {
        name: "report",
        about: "the report in a browser, and SARIF against its schema",
        run: report,
    },
    Part { name: "jvm", about: "programs under the recorder, and the command line", run: jvm },
];

/// Packages whose tests start JVMs, or a browser.
const OF_JVMS: [&str; 2] = ["untorn", "untorn-jvm"];
const OF_BROWSER: &str = "untorn-report";

/// Modules of tests that start a JVM or a solver, in crates whose other tests start neither.
const JVM_MODULE: &str = "jvm::";
const SOLVER_MODULE: &str = "tools::";

/// How to call `./dev test`.
pub fn usage() -> String {
    let rows = PARTS.iter().map(|part| format!("            {:8} {}\n", part.name, part.about));
    rows.collect()
}

/// Tests the named parts, or everything.
pub fn test(names: &[&str]) -> Result<()> {
    if names.is_empty() {
        return all();
    }
    let find = |name: &&str| PARTS.iter().find(|part| part.name == *name);
    for name in names {
        if find(name).is_none() {
            let known = PARTS.map(|part| part.name).join(", ");
            bail!("there is no part '{name}'; there are {known}");
        }
    }
    names.iter().filter_map(find).try_for_each(|part| {
        println!("dev: {}: {}", part.name, part.about);
        (part.run)()
    })
}

/// What CI runs. The tests of all parts are compiled and run by one cargo, which is quicker than part by part.
fn all() -> Result<()> {
    setup::tests()?;
    test(&["tidy", "deny", "lint", "doc"])?;
    run(cargo(&["test", "--workspace", "--locked"]))
}

pub fn lint() -> Result<()> {
    setup::base()?;
    run(cargo(&["fmt", "--all", "--", "--check"]))?;
    run(cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
}

fn doc() -> Result<()> {
    setup::base()?;
    // Its readers work on the code: private items belong to it.
    let words =
        ["doc", "--workspace", "--no-deps", "--document-private-items", "--locked", "--quiet"];
    let mut doc = cargo(&words);
    doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links");
    run(doc)
}

/// The arguments of cargo for tests that start neither JVM nor browser nor solver.
fn without_programs(selection: &[&str]) -> Vec<String> {
    let mut words: Vec<&str> = vec!["test", "--locked"];
    words.extend(selection);
    words.extend(["--", "--skip", JVM_MODULE, "--skip", SOLVER_MODULE]);
    words.into_iter().map(str::to_owned).collect()
}

fn everything_but_programs() -> Vec<&'static str> {
    let excluded = OF_JVMS.iter().copied().chain([OF_BROWSER]);
    let mut words = vec!["--workspace"];
    words.extend(excluded.flat_map(|name| ["--exclude", name]));
    words
}

fn test_command(words: &[String]) -> std::process::Command {
    cargo(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn unit() -> Result<()> {
    setup::base()?;
    setup::native()?;
    run(test_command(&without_programs(&everything_but_programs())))
}

fn solvers() -> Result<()> {
    setup::solvers()?;
    let test = ["test", "--locked", "-p", "untorn-predict", "--test", "it", "--", SOLVER_MODULE];
    run(cargo(&test))
}

fn report() -> Result<()> {
    setup::report()?;
    run(cargo(&["test", "--locked", "-p", OF_BROWSER]))
}

fn jvm() -> Result<()> {
    setup::jvms()?;
    let test = ["test", "--locked", "-p", "untorn-bytecode", "--test", "it", "--", JVM_MODULE];
    run(cargo(&test))?;
    let packages = OF_JVMS.iter().flat_map(|name| ["-p", name]);
    let words: Vec<&str> = ["test", "--locked"].into_iter().chain(packages).collect();
    run(cargo(&words))
}

/// Tests for while you write: no JVM, browser or solver, no documentation, and few random cases.
pub fn quick(names: &[&str]) -> Result<()> {
    let package;
    let mut selection = match names {
        [] => everything_but_programs(),
        [name] => {
            package = package_of(name);
            vec!["-p", &package]
        }
        _ => bail!("usage: ./dev quick [CRATE]"),
    };
    let starts_programs = |name: &str| OF_JVMS.contains(&name) || name == OF_BROWSER;
    let is_partial = selection.get(1).is_some_and(|name| names.len() == 1 && starts_programs(name));
    // What these packages test in files of their own needs a JVM or a browser.
    selection.extend(if is_partial {
        &["--lib", "--bins"][..]
    } else {
        &["--lib", "--bins", "--tests"]
    });
    let mut test = test_command(&without_programs(&selection));
    test.env("UNTORN_QUICK", "1");
    run(test)?;
    println!(
        "\ndev: quick tests left out: what starts a JVM, a browser or a solver ({}),",
        left_out()
    );
    println!(
        "dev: examples in the documentation, and 19 of 20 random cases. `./dev test` leaves nothing out."
    );
    Ok(())
}

fn left_out() -> String {
    let packages = OF_JVMS.iter().copied().chain([OF_BROWSER]);
    let modules = [JVM_MODULE, SOLVER_MODULE].map(|module| module.trim_end_matches(':'));
    packages.chain(modules).collect::<Vec<_>>().join(", ")
}

/// The package of a crate, which may be named by its folder.
fn package_of(name: &str) -> String {
    match name {
        "cli" => "untorn".to_owned(),
        "untorn" | "xtask" => name.to_owned(),
        _ if name.starts_with("untorn-") => name.to_owned(),
        _ => format!("untorn-{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_known_by_its_folder() {
        let names = ["trace", "untorn-trace", "cli", "xtask"].map(package_of);
        assert_eq!(names, ["untorn-trace", "untorn-trace", "untorn", "xtask"]);
    }

    #[test]
    fn an_unknown_part_is_refused() {
        let error = test(&["unit", "everything"]).expect_err("no such part");
        assert!(error.to_string().contains("'everything'"), "{error}");
    }
}
