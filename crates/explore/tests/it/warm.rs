//! What a run in a warm process shows counts only after a fresh process has repeated it.

use crate::harness::{Folder, all, explore_in, options, program, two, two_then};

fn lost() -> String {
    let add = "call C.add\nread x r\nadd r 1\nwrite x r\nreturn C.add";
    two_then("x = 0", add, add, "read x r\nprint total $r")
}

fn too_late() -> String {
    two("ready = 0", "write ready 1", "read ready r\nif r == 1 goto fine\nfail not ready\n.fine")
}

#[test]
fn warm_runs_find_what_fresh_ones_find() {
    for (text, warm_seeds) in
        [(lost(), false), (too_late(), false), (lost(), true), (too_late(), true)]
    {
        let explored = |warm: bool| {
            let (folder, mut front_end) = (Folder::new(), program(&text));
            (front_end.warm, front_end.warm_seeds) = (warm, warm_seeds);
            let outcome = explore_in(&folder, &mut front_end, options()).expect("it runs");
            let failures: Vec<String> =
                outcome.failures.iter().map(|failure| failure.kind.to_string()).collect();
            let evidence: Vec<bool> = outcome
                .violations
                .iter()
                .map(|found| found.evidence.trace.is_file())
                .chain(outcome.failures.iter().map(|failure| failure.evidence.trace.is_file()))
                .collect();
            assert!(evidence.iter().all(|kept| *kept));
            ((all(&outcome), failures), front_end.fresh_runs, front_end.runs.len())
        };
        let (fresh, _, _) = explored(false);
        let (warm, repeated, runs) = explored(true);
        assert_eq!(warm, fresh);
        assert!(repeated >= 1 && repeated < runs / 2, "{repeated} of {runs} runs repeated");
    }
}

#[test]
fn what_cannot_be_repeated_does_not_count() {
    for text in [lost(), too_late()] {
        let (folder, mut front_end) = (Folder::new(), program(&text));
        (front_end.warm, front_end.unrepeatable) = (true, true);
        let outcome = explore_in(&folder, &mut front_end, options()).expect("it runs");
        let found = (outcome.violations.len(), outcome.failures.len());
        assert_eq!(found, (0, 0));
        assert!(outcome.unconfirmed_warm_runs > 0);
        assert!(front_end.fresh_only.is_some(), "{} not repeated", outcome.unconfirmed_warm_runs);
    }
}
