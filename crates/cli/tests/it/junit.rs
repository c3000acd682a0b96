//! `--junit`: one test in one JVM, by the JUnit of its class path. `./dev setup` fetches JUnit.

use std::path::Path;
use std::time::Duration;

use crate::support::java::{
    CommandResult, Running, arg, compile_with, library, run, scratch, untorn,
};

const ACCOUNT: &str = "
package com.acme;

public class Account {
    private int balance = 100;

    public synchronized int balance() { return balance; }

    private synchronized void add(int amount) { balance += amount; }

    public boolean withdraw(int amount) {
        if (balance() < amount) return false;
        add(-amount);
        return true;
    }

    /** Two withdrawals at once, of which only one may succeed. */
    public static int twice() throws InterruptedException {
        Account account = new Account();
        Thread alice = new Thread(() -> account.withdraw(80), \"alice\");
        Thread bob = new Thread(() -> account.withdraw(80), \"bob\");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        return account.balance();
    }
}
";

const TEST4: &str = "
package com.acme;

import static org.junit.Assert.assertEquals;
import org.junit.Test;

public class FourTest {
    @Test public void overdraws() throws Exception { assertEquals(20, Account.twice()); }
    @Test public void isEmpty() { assertEquals(0, 0); }
    @Test public void fails() { assertEquals(\"always\", 1, 2); }
}
";

const TEST5: &str = "
package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

class FiveTest {
    @Test void overdraws(TestInfo info) throws Exception { assertEquals(20, Account.twice()); }
    @Test void isEmpty() { assert Account.class != null; }
    @Test void fails() { assertEquals(1, 2); }
}
";

/// For a check: many JVMs, one after the other.
const LIMIT: Duration = Duration::from_secs(240);

/// The class path of a test for that JUnit.
fn class_path(junit: &str) -> String {
    let libraries = library(junit);
    let (file, test) = if junit == "JUnit4" { ("FourTest", TEST4) } else { ("FiveTest", TEST5) };
    let sources = [("Account.java", ACCOUNT), (&format!("{file}.java"), test)]
        .map(|(file, source)| (file.to_owned(), source.to_owned()));
    let classes = compile_with(junit, &sources, &libraries);
    format!("{}:{libraries}", classes.display())
}

fn record(trace: &Path, test: &str, class_path: &str) -> CommandResult {
    run(&["record", "-o", arg(trace), "--junit", test, "-cp", class_path])
}

/// A test passes or fails as by itself, one method is chosen, and its run replays.
fn runs(junit: &str, test: &str) {
    let trace = scratch(&format!("junit-{junit}")).join("run.utr");
    let path = class_path(junit);
    let passed = record(&trace, &format!("{test}#overdraws"), &path).with_code(0);
    assert_eq!(passed.stdout, "tests: 1, failed: 0\n");
    let again = run(&["replay", arg(&trace)]).with_code(0);
    assert!(again.stderr.contains("events exactly"), "{again}");
    assert_eq!(again.stdout, passed.stdout);
    let failed = record(&trace, test, &path).with_code(1);
    assert!(failed.stdout.contains("tests: 3, failed: 1\n"), "{failed}");
    failed.saying("Exception in thread \"main\"").saying("expected:<");
}

/// What happens only when a block is torn fails the test, which is reported, and replays.
fn is_chased(junit: &str, test: &str) {
    let out = scratch(&format!("junit-check-{junit}"));
    let name = format!("{test}#overdraws");
    let path = class_path(junit);
    let mut args = vec!["check", "--explore", "0", "--minimise", "0", "--out", arg(&out)];
    args.extend(["--junit", &name, "-cp", &path]);
    let found = Running::start(&mut untorn(&args)).within(LIMIT).finish().with_code(1);
    for words in ["Account.withdraw is not atomic", "visible: exit code 1", "but was:<-60>"] {
        let text = found.stdout.replace(": <", ":<");
        assert!(text.contains(words), "not a word of '{words}': {found}");
    }
    let again = run(&["replay", arg(&out.join("report.json")), "1"]).with_code(1);
    again.saying("events exactly").saying("-60");
}

#[test]
fn junit_4_runs_a_test() {
    runs("JUnit4", "com.acme.FourTest");
}

#[test]
fn junit_4_is_chased() {
    is_chased("JUnit4", "com.acme.FourTest");
}

#[test]
fn junit_5_is_chased() {
    is_chased("JUnit5", "com.acme.FiveTest");
}

#[test]
fn junit_5_runs_a_test() {
    let trace = scratch("junit-5").join("run.utr");
    let path = class_path("JUnit5");
    let passed = record(&trace, "com.acme.FiveTest#overdraws", &path).with_code(0);
    assert_eq!(passed.stdout, "tests: 1, failed: 0\n");
    run(&["replay", arg(&trace)]).with_code(0).saying("events exactly");
    let failed = record(&trace, "com.acme.FiveTest", &path).with_code(1);
    assert!(failed.stdout.contains("failed: fails()\ntests: 3, failed: 1\n"), "{failed}");
}

/// A class path with both: the launcher of JUnit 5 finds nothing in an old test, and JUnit 4 runs it.
#[test]
fn an_old_test_runs_beside_a_new_junit() {
    let trace = scratch("junit-both").join("run.utr");
    let path = format!("{}:{}", class_path("JUnit4"), library("JUnit5"));
    let passed = record(&trace, "com.acme.FourTest#isEmpty", &path).with_code(0);
    assert_eq!(passed.stdout, "tests: 1, failed: 0\n");
}

#[test]
fn the_doctor_looks_at_a_test() {
    let path = class_path("JUnit4");
    let done = run(&["doctor", "--junit", "com.acme.FourTest#isEmpty", "-cp", &path]).with_code(0);
    assert!(done.stdout.contains("agent    attached\n"), "{done}");
}

#[test]
fn what_is_missing_is_named() {
    let folder = scratch("junit-missing");
    let trace = folder.join("run.utr");
    let (four, five) = (class_path("JUnit4"), class_path("JUnit5"));
    record(&trace, "com.acme.NoTest", &four).with_code(2).saying("com.acme.NoTest").saying("-cp");
    record(&trace, "com.acme.FourTest#no", &four).with_code(2).saying("No tests found matching");
    record(&trace, "com.acme.Account", &four).with_code(2).saying("no way to run com.acme.Account");
    record(&trace, "com.acme.FiveTest#no", &five).with_code(2).saying("finds no such test");
    let bare = five.split(':').next().expect("a class path");
    record(&trace, "com.acme.FiveTest", bare).with_code(2).saying("junit-platform-launcher");
    let mut args = vec!["check", "--out", arg(&folder), "--junit", "com.acme.FiveTest", "-cp"];
    args.push(bare);
    run(&args).with_code(2).saying("neither JUnit 4").saying("no way to run com.acme.FiveTest");
    record(&trace, "FiveTest.java", &five).with_code(2).saying("is not the name of a test");
    let with_maven = ["record", "--junit", "com.acme.FiveTest", "--", "mvn"];
    run(&with_maven).with_code(2).saying("--junit needs `java`, not 'mvn'");
    run(&["record", "-cp", "x", "--", "java", "Main"]).with_code(2).saying("--junit");
}

/// The launcher is no part of what a build tool puts on the class path of a test.
#[test]
fn a_missing_launcher_is_named() {
    let trace = scratch("junit-launcher").join("run.utr");
    let path = class_path("JUnit5");
    let (classes, _) = path.split_once(':').expect("a class path");
    let folder = library("JUnit5");
    let folder = Path::new(folder.trim_end_matches('*'));
    let archives = std::fs::read_dir(folder).expect("JUnit 5 is there").flatten();
    let kept = archives.map(|entry| entry.path().display().to_string());
    let kept: Vec<String> = kept.filter(|path| !path.contains("launcher")).collect();
    let without = format!("{classes}:{}", kept.join(":"));
    record(&trace, "com.acme.FiveTest", &without)
        .with_code(2)
        .saying("add junit-platform-launcher to the class path");
}

#[test]
fn a_project_names_its_test() {
    let folder = scratch("junit-project");
    let text = format!(
        "[record]\njunit = \"com.acme.FourTest#isEmpty\"\nclass_path = \"{}\"\n",
        class_path("JUnit4")
    );
    std::fs::write(folder.join("untorn.toml"), text).expect("writable");
    let mut start = untorn(&["record"]);
    let done = Running::start(start.current_dir(&folder)).finish().with_code(0);
    assert_eq!(done.stdout, "tests: 1, failed: 0\n");
}
