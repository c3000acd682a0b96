//! `untorn compose` on the programs of `examples/java/compose`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{root, untorn};

/// A folder of this test's own.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

fn classes(folder: &Path) -> PathBuf {
    let classes = folder.join("classes");
    let source = root().join("examples/java/compose/Attributes.java");
    let mut javac = Command::new("javac");
    let status = javac.arg("-g").arg("-d").arg(&classes).arg(source).status();
    assert!(status.expect("javac runs").success());
    classes
}

fn compose(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = untorn(folder, &[&["compose"], args].concat(), b"");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_list_says_who_what_and_why() {
    let folder = scratch("compose-list");
    classes(&folder);
    let (code, said) = compose(&folder, &["--top", "1", "classes"]);
    assert_eq!(code, Some(0), "{said}");
    for wanted in [
        "1. Context.removeAttribute  Attributes.java:23  score 11",
        "Map.containsKey (line 23), then Map.remove (line 25) on this.attributes",
        "the result goes into a branch (line 24), which decides about remove() (line 25)",
        "shares the content of the ConcurrentHashMap",
        "not shown (--top)",
        "library classes, APIs, client classes",
    ] {
        assert!(said.contains(wanted), "no {wanted:?} in\n{said}");
    }
    assert!(!said.contains("2. "), "only one was asked for:\n{said}");
    let (_, quiet) = compose(&folder, &["-q", "classes"]);
    assert_eq!(quiet, "");
    let (_, verbose) = compose(&folder, &["-v", "classes"]);
    assert!(verbose.contains("+3 reads, then changes"), "{verbose}");
}

#[test]
fn machines_get_all_of_it() {
    let folder = scratch("compose-machines");
    classes(&folder);
    let (code, said) = compose(&folder, &["--json", "-", "--sarif", "out.sarif", "classes"]);
    assert_eq!(code, Some(0));
    let whole: serde_json::Value = serde_json::from_str(&said).expect("only JSON");
    let best = &whole["findings"][0];
    assert_eq!(best["method"], "removeAttribute");
    assert_eq!(best["symptom"], "use");
    assert_eq!(best["calls"][1]["api"], "java.util.Map.remove");
    assert_eq!(best["steps"][0]["kind"], "data");
    assert!(whole["statistics"]["jdk_classes"].as_u64().is_some_and(|classes| classes > 1000));
    let sarif = std::fs::read_to_string(folder.join("out.sarif")).expect("written");
    let sarif: serde_json::Value = serde_json::from_str(&sarif).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "composition-use");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "Attributes.java");
    assert_eq!(place["region"]["startLine"], 23);
    // The same classes give the same bytes.
    assert_eq!(compose(&folder, &["--json", "-", "classes"]).1, said);
}

#[test]
fn what_is_broken_is_said() {
    let folder = scratch("compose-broken");
    let classes = classes(&folder);
    std::fs::write(classes.join("Broken.class"), b"\xca\xfe\xba\xbe no class").expect("written");
    let output = untorn(&folder, &["compose", "classes"], b"");
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("1 file that is no class"), "{said}");
    std::fs::write(folder.join("cut.jar"), b"PK\x03\x04 cut").expect("written");
    let output = untorn(&folder, &["compose", "cut.jar"], b"");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("cut.jar"), "{said}");
    let output = untorn(&folder, &["compose", "--jdk", "classes", "classes"], b"");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("--jdk"), "{said}");
}

const VALIDATE: &str = "\
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
validator = jsonschema.validators.validator_for(schema)(schema)
faults = list(validator.iter_errors(json.load(open(sys.argv[2]))))
for fault in faults[:10]: print(list(fault.path), fault.message[:300])
sys.exit(1 if faults else 0)
";

/// What `./dev setup` fetched. What nobody looked at is not valid.
fn from_setup(variable: &str, place: &str, file: &str) -> PathBuf {
    let folder =
        std::env::var_os(variable).map_or_else(|| root().join("target").join(place), PathBuf::from);
    let path = folder.join(file);
    assert!(path.exists(), "{} is missing: run `./dev setup`", path.display());
    path
}

#[test]
fn sarif_is_valid() {
    let schema = from_setup("UNTORN_SARIF", "sarif", "schema.json");
    let python = from_setup("UNTORN_SOLVERS", "solvers", "bin/python");
    let folder = scratch("compose-sarif");
    classes(&folder);
    let (code, _) = compose(&folder, &["--with", "use,comp,muvi", "--sarif", "out", "classes"]);
    assert_eq!(code, Some(0));
    let mut command = Command::new(python);
    let said = command.args(["-c", VALIDATE]).arg(schema).arg(folder.join("out"));
    let said = said.output().expect("python runs");
    let text = String::from_utf8_lossy(&said.stdout) + String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{text}");
}
