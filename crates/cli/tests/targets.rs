//! Real libraries, by the drivers of `targets/`. `./dev setup` fetches those that are tested here; `./dev targets`
//! runs them all.

#[path = "support/java.rs"]
mod java;

use std::path::PathBuf;

use java::{Running, arg, libraries, recording, run, scratch, try_run};

/// Where `./dev setup` has put the library and the compiled driver.
fn home(name: &str) -> PathBuf {
    let home = libraries().join(name);
    assert!(home.join("classes").is_dir(), "{} is missing: run `./dev setup`", home.display());
    home
}

/// Checks a driver: the block is found torn, something of it is visible, and it replays, every time.
fn finds(name: &str, block: &str, effect: &str) {
    let home = home(name);
    let path = format!("{0}/classes:{0}/lib/*", home.display());
    let out = scratch(&format!("target-{name}"));
    let mut args = vec!["check", "--time", "60s", "--explore", "0", "--out", arg(&out)];
    args.extend(["--", "java", "-cp", &path, name]);
    let done = run(&args).with_code(1);
    assert!(done.stdout.contains(&format!("{block} is not atomic")), "{done}");
    assert!(done.stdout.contains(effect), "{done}");
    // More than once: identities of objects once depended on the order in which old class files were verified, and one
    // replay in seven differed.
    for _ in 0..8 {
        let again = run(&["replay", arg(&out.join("report.json")), "1"]);
        assert!(again.stderr.contains("events exactly"), "the replay differs: {again}");
    }
}

/// DBCP-369 of commons-dbcp 1.4.
#[test]
fn a_data_source_is_opened_while_another_is_closed() {
    let block = "InstanceKeyObjectFactory.registerNewInstance";
    finds("DbcpRegister", block, "ConcurrentModificationException");
}

/// Tomcat 6.0.35: the listeners are told that null was removed.
#[test]
fn an_attribute_of_a_servlet_context_is_removed_twice() {
    finds("TomcatAttributes", "ApplicationContext.removeAttribute", "null");
}

/// Records a driver, by two policies: it prints what it prints without the recorder, and its runs replay.
fn does_the_same(name: &str) {
    let home = home(name);
    let path = format!("{0}/classes:{0}/lib/*", home.display());
    let command = ["java", "-cp", &path, name].map(str::to_owned);
    let plain = try_run(&command).expect("it ends").with_code(0);
    let folder = scratch(&format!("same-{name}"));
    for policy in ["run-to-block", "random"] {
        let trace = folder.join(format!("{policy}.utr"));
        let options = ["--policy", policy, "--seed", "3"];
        let recorded = Running::start(&mut recording(&trace, &options, &command)).finish();
        assert_eq!(recorded.clone().with_code(0).stdout, plain.stdout, "{recorded}");
        let again = run(&["replay", arg(&trace)]).with_code(0).saying("events exactly");
        assert_eq!(again.stdout, plain.stdout);
    }
}

#[test]
fn kotlin_is_recorded_and_replayed() {
    does_the_same("KotlinLazy");
}

#[test]
fn scala_is_recorded_and_replayed() {
    does_the_same("ScalaTrie");
}
