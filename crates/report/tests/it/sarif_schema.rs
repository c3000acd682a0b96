//! SARIF is valid by the published schema, as another validator reads it. Both come from `./dev setup` and
//! live under `target` (`UNTORN_SARIF` and `UNTORN_SOLVERS` name other places). Without them this
//! test fails: an unchecked file does not count as valid.

use std::path::{Path, PathBuf};
use std::process::Command;

use untorn_report::sarif;

use crate::pages;

const VALIDATE: &str = "\
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
validator = jsonschema.validators.validator_for(schema)(schema)
faults = list(validator.iter_errors(json.load(open(sys.argv[2]))))
for fault in faults[:10]: print(list(fault.path), fault.message[:300])
sys.exit(1 if faults else 0)
";

fn from_setup(variable: &str, place: &str, file: &str) -> PathBuf {
    let folder = std::env::var_os(variable).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(place),
        PathBuf::from,
    );
    let path = folder.join(file);
    assert!(path.exists(), "{} is missing: run `./dev setup`", path.display());
    path
}

#[test]
fn sarif_is_valid() {
    let schema = from_setup("UNTORN_SARIF", "sarif", "schema.json");
    let python = from_setup("UNTORN_SOLVERS", "solvers", "bin/python");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, report) in [
        ("all-kinds", pages::all_kinds()),
        ("nothing", pages::nothing()),
        ("hostile", pages::hostile()),
    ] {
        let file = folder.join(format!("{name}.sarif"));
        std::fs::write(&file, sarif::render(&report)).expect("writable");
        let said = Command::new(&python).args(["-c", VALIDATE]).arg(&schema).arg(&file).output();
        let said = said.expect("python runs");
        let text = String::from_utf8_lossy(&said.stdout) + String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "{name}: {text}");
    }
}
