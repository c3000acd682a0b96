//! `untorn doctor`: what of a program can be seen, and what cannot.

use crate::support::java::{self, Running, compile_one, example, untorn};

const SOURCE: &str = r#"
import java.util.concurrent.locks.StampedLock;

class Patient {
    native int secret();

    public static void main(String[] args) {
        var lock = new StampedLock();
        long stamp = lock.tryOptimisticRead();
        System.out.println(lock.validate(stamp) ? 4 : 3);
        System.exit(5);
    }
}
"#;

fn doctor(command: &[String]) -> java::CommandResult {
    Running::start(untorn(&["doctor", "--"]).args(command)).finish()
}

#[test]
fn what_leaves_no_events_is_named() {
    let command = java::java(&compile_one("Patient.java", SOURCE), "Patient");
    let run = doctor(&command).with_code(0);
    for words in [
        "4\n",
        "agent    attached\n",
        "program  ended with exit code 5\n",
        "in 1 class of the application",
        "used, but not seen: optimistic reads\n",
        "used, but not seen: native method Patient.secret\n",
    ] {
        assert!(run.stdout.contains(words), "not a word of '{words}': {run}");
    }
}

#[test]
fn an_ordinary_program_is_seen_whole() {
    let run = doctor(&example("fail", "Bank").command()).with_code(0);
    assert!(run.stdout.contains("of 3 threads\n"), "{run}");
    assert!(run.stdout.ends_with("not seen nothing that is known to us\n"), "{run}");
}

#[test]
fn what_starts_no_java_program_is_refused() {
    doctor(&["ls".to_owned()]).with_code(2).saying("'ls' started no Java program");
    doctor(&[]).with_code(2).saying("which program?");
}
