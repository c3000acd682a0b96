//! Small programs of all that threads can do: what they print does not depend on us, and a replay repeats them.

use std::path::{Path, PathBuf};
use std::process::Command;

use untorn_frontend::ExitKind;
use untorn_frontend::compare::{Compared, compare, names};
use untorn_schedule::{PolicyKind, RunSpec};

use crate::harness::{Folder, random, stdout};

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let files = std::fs::read_dir(folder).expect("the programs are there").flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// Whether the events of a replay are the same, too: the system decides when a signal or a child comes.
fn is_up_to_the_program(source: &Path) -> bool {
    let name = source.file_stem().and_then(|name| name.to_str()).unwrap_or("");
    !matches!(name, "awaited_signal" | "children" | "sockets" | "full_pipe")
}

#[test]
fn programs_do_the_same_with_and_without_us_and_again() {
    for source in programs() {
        let folder = Folder::new();
        let program = folder.build(&source);
        let alone = Command::new(&program).output().expect("it starts");
        let said = String::from_utf8_lossy(&alone.stdout).into_owned();
        let exit = ExitKind::Exit(alone.status.code().expect("it ends by itself"));
        let mut runner = folder.prepare(&program, &[]);
        let [one, again] = ["one.utr", "again.utr"].map(|name| folder.path().join(name));
        let pos = RunSpec::policy(PolicyKind::Pos, 3);
        for spec in [RunSpec::default(), random(1), random(2), pos] {
            let name = format!("{} by {spec:?}", source.display());
            let first = runner.run(&spec, &one).expect("it runs");
            assert_eq!((first.exit, stdout(&first)), (exit, said.clone()), "{name}");
            assert_eq!(first.fault, None, "{name}");
            let replayed = runner.replay(&one, &again).expect("it runs");
            assert_eq!((replayed.exit, stdout(&replayed)), (exit, said.clone()), "{name}");
            if is_up_to_the_program(&source) {
                let compared = compare(&one, &again, &names).expect("two traces");
                assert!(matches!(compared, Compared::Same(_)), "{name}: {compared:?}");
            }
        }
    }
}
