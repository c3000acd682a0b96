//! `untorn record --plan`: the interleavings that the programs of `examples/java/fail` describe are made to happen.

use crate::support::java::{
    self, CommandResult, Recorded, arg, compile_one, example, record, run, scratch, soak,
};

/// Follows the plan beside the program, again and again: the torn output appears, and the trace proves it.
fn tears(name: &str) {
    let example = example("fail", name);
    let torn = format!("{}\n", example.key("torn").expect("the program can be torn"));
    let (_, block) = example.key("expect").and_then(|text| text.split_once(' ')).expect("a block");
    let trace = scratch(&format!("record-plan-{name}")).join("run.utr");
    let plan = example.beside("plan");
    for _ in 0..if soak() { 20 } else { 3 } {
        let options = ["--plan", arg(&plan), "--atomic", block];
        let done = record(&trace, &options, &example.command()).with_code(0);
        let recorded = Recorded::read(&trace);
        let summary = recorded.summary();
        let followed = summary.followed.clone().expect("a plan was followed");
        assert_eq!(
            (summary.plan_missing.as_slice(), &followed.released),
            ([].as_slice(), &None),
            "the plan cannot be followed; it may be written for another JDK: {done}"
        );
        assert_eq!(followed.steps, followed.of, "{done}");
        assert_eq!(done.stdout, torn, "{done}");
    }
    let found = run(&["analyze", arg(&trace)]).with_code(1);
    let verdict = found.stdout.contains(&format!("{block} is not atomic"));
    assert!(verdict, "not a word of {block}: {found}");
}

#[test]
fn bank_loses_a_withdrawal_by_its_plan_soak() {
    tears("Bank");
}

#[test]
fn two_fields_are_seen_half_moved_by_their_plan_soak() {
    tears("TwoFields");
}

#[test]
fn string_buffer_appends_what_nobody_wrote_by_its_plan_soak() {
    tears("StringBufferAppend");
}

#[test]
fn vector_contains_all_lies_by_its_plan_soak() {
    tears("VectorContainsAll");
}

/// Records with a plan that is not followed to its end, and says so; also what is said of it in the trace.
fn unfollowed(name: &str, plan: &str, command: &[String]) -> (CommandResult, Recorded) {
    let folder = scratch(&format!("record-unfollowed-{name}"));
    let (file, trace) = (folder.join("test.plan"), folder.join("run.utr"));
    std::fs::write(&file, plan).expect("a plan is written");
    let mut args = vec!["record", "-o", arg(&trace), "--plan", arg(&file), "--"];
    args.extend(command.iter().map(String::as_str));
    let done = run(&args).saying("the plan was not followed: ");
    (done, Recorded::read(&trace))
}

/// The same of a plan that was released while the program ran.
fn released(name: &str, plan: &str, command: &[String]) -> CommandResult {
    let (done, recorded) = unfollowed(name, plan, command);
    let followed = recorded.summary().followed.as_ref();
    assert!(followed.is_some_and(|followed| followed.released.is_some()), "{done}");
    done
}

/// Until the program ends, the thread might still be started.
#[test]
fn a_plan_for_a_thread_that_never_starts_is_confessed() {
    let command = example("fail", "Bank").command();
    let (done, _) = unfollowed("thread", "Charlie @ Bank.java:38 read\n", &command);
    assert_eq!(done.with_code(0).stdout, "balance 20\n");
}

#[test]
fn a_plan_for_a_line_that_does_not_exist_is_released_and_says_so() {
    let command = example("fail", "Bank").command();
    let done = released("line", "Alice @ Bank.java:9999 read\n", &command).with_code(0);
    assert_eq!(done.saying("the planned place Bank.java:9999").stdout, "balance 20\n");
}

#[test]
fn a_plan_that_a_lock_forbids_is_released() {
    let source = example("pass", "BankFixed");
    let read = source.line_of("return balance;");
    let write = 1 + source.line_of("synchronized void setBalance");
    let plan = format!(
        "Alice @ BankFixed.java:{read} read\nBob @ BankFixed.java:{read} read\n\
         Alice @ BankFixed.java:{write} write\n"
    );
    let done = released("lock", &plan, &source.command()).with_code(0);
    assert_eq!(done.saying("is blocked on").stdout, source.golden());
}

const EXITS: &str = r#"
class Exits {
    static int x;

    public static void main(String[] args) throws InterruptedException {
        var worker = new Thread(() -> x++, "worker");
        worker.start();
        worker.join();
        System.exit(x + 4);
    }
}
"#;

#[test]
fn the_exit_code_of_the_program_survives_a_released_plan() {
    let command = java::java(&compile_one("Exits.java", EXITS), "Exits");
    released("exit", "worker @ Exits.java:9999\n", &command).with_code(5);
}

#[test]
fn the_exit_code_of_the_program_survives_a_plan_that_was_not_reached() {
    let command = java::java(&compile_one("Exits.java", EXITS), "Exits");
    unfollowed("exit-early", "nobody @ Exits.java:3\n", &command).0.with_code(5);
}
