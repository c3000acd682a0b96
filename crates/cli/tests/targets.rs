//! Real libraries, by the drivers of `targets/`. `./dev setup` fetches those that are tested here; `./dev targets`
//! runs them all.

#[path = "support/java.rs"]
mod java;

use std::path::{Path, PathBuf};

use java::{arg, run, scratch};

/// Where `./dev setup` has put the library and the compiled driver.
fn home(name: &str) -> PathBuf {
    let targets = std::env::var_os("UNTORN_TARGETS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/targets"),
        PathBuf::from,
    );
    let home = targets.join(name);
    assert!(home.join("classes").is_dir(), "{} is missing: run `./dev setup`", home.display());
    home
}

/// DBCP-369: a bug of commons-dbcp 1.4 that went unnoticed for years.
#[test]
fn a_data_source_is_opened_while_another_is_closed() {
    let home = home("DbcpRegister");
    let path = format!("{0}/classes:{0}/lib/*", home.display());
    let out = scratch("target-dbcp");
    let command = ["--", "java", "-cp", &path, "DbcpRegister"];
    let mut args = vec!["check", "--time", "60s", "--explore", "0", "--out", arg(&out)];
    args.extend(command);
    let done = run(&args).with_code(1);
    assert!(done.stdout.contains("InstanceKeyObjectFactory.registerNewInstance is not"), "{done}");
    assert!(done.stdout.contains("ConcurrentModificationException"), "{done}");
    let again = run(&["replay", arg(&out.join("report.json")), "1"]);
    assert!(again.stderr.contains("events exactly"), "the replay differs: {again}");
}
