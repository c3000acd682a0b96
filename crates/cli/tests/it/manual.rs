//! Manual pages and completions know every command.

use untorn_frontend::PrivateFolder;

use crate::support::{root, untorn};

const COMMANDS: [&str; 8] =
    ["analyze", "check", "compare", "explain", "record", "replay", "report", "verify"];

#[test]
fn every_command_has_a_page() {
    let folder = PrivateFolder::create_in(&std::env::temp_dir()).unwrap();
    let path = folder.path().join("man1");
    let output = untorn(&root(), &["man", path.to_str().unwrap()], b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for command in COMMANDS {
        let page = std::fs::read_to_string(path.join(format!("untorn-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
}

#[test]
fn shells_complete_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let output = untorn(&root(), &["completions", shell], b"");
        let script = String::from_utf8(output.stdout).unwrap();
        for command in COMMANDS {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
    assert_eq!(untorn(&root(), &["completions", "cmd"], b"").status.code(), Some(2));
}
