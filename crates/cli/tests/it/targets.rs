//! Real libraries, by the drivers of `targets/`. `./dev setup` fetches those that are tested here; `./dev targets`
//! runs them all.

use std::path::PathBuf;

use crate::support::java::{Running, arg, libraries, recording, run, scratch, try_run};

/// Where `./dev setup` has put the library and the compiled driver.
fn home(name: &str) -> PathBuf {
    let home = libraries().join(name);
    assert!(home.join("classes").is_dir(), "{} is missing: run `./dev setup`", home.display());
    home
}

/// Checks a driver, with these options: the headline is found, something of it is visible, and it replays, every time.
fn finds(name: &str, options: &[&str], headline: &str, effect: &str) {
    let home = home(name);
    let path = format!("{0}/classes:{0}/lib/*", home.display());
    let out = scratch(&format!("target-{name}-{}", options.len()));
    let mut args = vec!["check", "--time", "30s", "--explore", "0", "--out", arg(&out)];
    args.extend(options.iter().chain(&["--", "java", "-cp", &path, name]));
    let done = run(&args).with_code(1);
    assert!(done.stdout.contains(headline), "{done}");
    assert!(done.stdout.contains(effect), "{done}");
    // More than once: identities of objects once depended on the order in which old class files were verified, and one
    // replay in seven differed.
    for _ in 0..8 {
        let again = run(&["replay", arg(&out.join("report.json")), "1"]);
        assert!(again.stderr.contains("events exactly"), "the replay differs: {again}");
    }
}

/// What is meant to be one step, by the look of its calls.
fn tears(name: &str, calls: &str, client: &str, effect: &str) {
    let headline = format!("{calls} in {client} are not one step");
    finds(name, &["--compositions"], &headline, effect);
}

/// DBCP-369 of commons-dbcp 1.4.
#[test]
fn a_data_source_is_opened_while_another_is_closed() {
    let block = "InstanceKeyObjectFactory.registerNewInstance is not atomic";
    finds("DbcpRegister", &[], block, "ConcurrentModificationException");
}

/// Tomcat 6.0.35: the listeners are notified that null was removed.
#[test]
fn an_attribute_of_a_servlet_context_is_removed_twice() {
    finds("TomcatAttributes", &[], "ApplicationContext.removeAttribute is not atomic", "null");
}

/// The same, as calls: `containsKey` said that it is there, and `get` that it is not.
#[test]
fn an_attribute_is_gone_between_two_calls() {
    let calls = "Map.containsKey and Map.get";
    tears("TomcatAttributes", calls, "ApplicationContext.removeAttribute", "calls Map.get → null");
}

/// Tomcat 9.0.85: the token that was accepted is replaced by another one.
#[test]
fn a_token_is_set_twice() {
    let calls = "Map.containsKey and Map.put";
    tears("TomcatToken", calls, "ContextAccessController.setSecurityToken", "token lost");
}

/// log4j 1.2.17: a listener is notified twice.
#[test]
fn a_listener_is_registered_twice() {
    let calls = "Vector.contains and Vector.addElement";
    tears("Log4jListeners", calls, "Hierarchy.addHierarchyEventListener", "told 2");
}

/// log4j 1.2.17: an appender writes everything twice.
#[test]
fn an_appender_is_attached_twice() {
    let calls = "Vector.contains and Vector.addElement";
    tears("Log4jAppenders", calls, "AppenderAttachableImpl.addAppender", "attached 3");
}

/// commons-pool 2.12.0: two idle objects where one is wanted.
#[test]
fn a_pool_makes_one_object_too_many() {
    // It looks for the key and counts what is missing, and adds because of either.
    let calls = "GenericKeyedObjectPool.addObject";
    tears("Pool2MinIdle", calls, "GenericKeyedObjectPool.ensureMinIdle", "idle 2");
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
