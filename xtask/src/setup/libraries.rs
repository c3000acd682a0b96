//! Libraries that Java programs use, with what these need themselves: fetched by Maven into `target/targets`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::setup::need;
use crate::shell::{command, remove_folder, run};

const HOME: &str = "target/targets";

/// The drivers that tests run.
const OF_TESTS: [&str; 8] = [
    "DbcpRegister",
    "TomcatAttributes",
    "TomcatToken",
    "Log4jListeners",
    "Log4jAppenders",
    "Pool2MinIdle",
    "KotlinLazy",
    "ScalaTrie",
];

pub fn of_tests() -> Result<()> {
    OF_TESTS.iter().try_for_each(|name| driver(name))
}

/// Sets drivers up. One that cannot be set up does not stop the others; its row reports it.
pub fn each(names: &[String]) -> Result<()> {
    for name in names {
        if !source(name).is_file() {
            bail!("there is no {}", source(name).display());
        }
        if let Err(error) = driver(name) {
            println!("dev: targets/{name} cannot be set up: {error:#}");
        }
    }
    Ok(())
}

fn source(name: &str) -> PathBuf {
    Path::new("targets").join(format!("{name}.java"))
}

/// The names of all drivers.
pub fn all() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir("targets")? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "java") {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// Those whose libraries were fetched before.
pub fn fetched() -> Result<Vec<String>> {
    let is_fetched = |name: &String| Path::new(HOME).join(name).join("coordinates").exists();
    Ok(all()?.into_iter().filter(is_fetched).collect())
}

/// The libraries of a driver, and the driver compiled against them.
fn driver(name: &str) -> Result<()> {
    let (home, source) = (Path::new(HOME).join(name), source(name));
    let text = std::fs::read_to_string(&source).with_context(|| source.display().to_string())?;
    fetch_once(&home, &coordinates(&text))?;
    let classes = home.join("classes");
    std::fs::create_dir_all(&classes)?;
    let mut javac = command("javac", &["-nowarn", "-g:source,lines", "-cp"]);
    javac.arg(home.join("lib/*")).arg("-d").arg(classes).arg(source);
    run(javac)
}

/// The same as [`fetch`], unless just these were fetched before.
pub fn fetch_once(folder: &Path, coordinates: &str) -> Result<()> {
    let known = folder.join("coordinates");
    if std::fs::read_to_string(&known).ok().as_deref() == Some(coordinates) {
        return Ok(());
    }
    println!("dev: fetching the libraries of {}", folder.display());
    fetch(folder, coordinates)?;
    Ok(std::fs::write(known, coordinates)?)
}

/// What a driver declares to need, a line each.
fn coordinates(source: &str) -> String {
    let lines = source.lines().filter_map(|line| line.strip_prefix("// maven:"));
    lines.map(|line| format!("{}\n", line.trim_start())).collect()
}

/// JUnit, for the tests that run tests; and what Maven itself needs for examples/maven, so that it works
/// offline.
pub fn junit() -> Result<()> {
    let ready = Path::new(HOME).join("junit-ready");
    if ready.exists() {
        return Ok(());
    }
    println!("dev: fetching JUnit 4 and 5");
    fetch(&Path::new(HOME).join("JUnit4"), "junit:junit:4.13.2")?;
    let five = "org.junit.jupiter:junit-jupiter:5.10.2\n\
                org.junit.platform:junit-platform-launcher:1.10.2";
    fetch(&Path::new(HOME).join("JUnit5"), five)?;
    remove_folder(Path::new("target/maven"))?;
    run(command("cp", &["-r", "examples/maven", "target/maven"]))?;
    run(command("mvn", &["-q", "-B", "-f", "target/maven/pom.xml", "test"]))?;
    Ok(std::fs::write(ready, "")?)
}

/// Archives of these libraries and of what they need, in `folder/lib`.
fn fetch(folder: &Path, coordinates: &str) -> Result<()> {
    need("mvn", "maven")?;
    remove_folder(folder)?;
    std::fs::create_dir_all(folder.join("lib"))?;
    let project = folder.join("pom.xml");
    std::fs::write(&project, pom(coordinates)?)?;
    let mut maven = command("mvn", &["-q", "-B", "-f"]);
    maven.arg(project).arg("dependency:copy-dependencies");
    maven.args(["-DincludeScope=runtime", "-DoutputDirectory=lib"]);
    run(maven)
}

fn pom(coordinates: &str) -> Result<String> {
    let mut text = "<project><modelVersion>4.0.0</modelVersion><groupId>untorn</groupId>\
                    <artifactId>target</artifactId><version>1</version><dependencies>"
        .to_owned();
    for line in coordinates.lines() {
        let (group, artifact, version, classifier) = match line.split(':').collect::<Vec<_>>()[..] {
            [group, artifact, version] => (group, artifact, version, String::new()),
            [group, artifact, version, classifier] => {
                (group, artifact, version, format!("<classifier>{classifier}</classifier>"))
            }
            _ => bail!("no coordinates: {line}"),
        };
        text += &format!(
            "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
             <version>{version}</version>{classifier}</dependency>"
        );
    }
    Ok(text + "</dependencies></project>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_names_its_libraries() {
        let source = "// maven: org.a:b:1\n// maven:c:d:2.0\nclass Driver {}\n";
        assert_eq!(coordinates(source), "org.a:b:1\nc:d:2.0\n");
        let text = pom("org.a:b:1").expect("coordinates");
        assert!(text.contains("<artifactId>b</artifactId><version>1</version>"), "{text}");
        assert!(pom("org.a").is_err());
    }
}
