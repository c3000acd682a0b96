//! Three-access violations, counted by their places.

use untorn_explore::{Options, Outcome, Triples};

use crate::harness::{all, explore_with, options, two};

fn count(text: &str) -> Outcome {
    explore_with(text, Options { counts_triples: true, ..options() })
}

/// Candidates, made to happen, confirmed by values, confirmed by the printed conditions.
fn counts(triples: &Triples) -> [usize; 4] {
    let all = || triples.iter().map(|(_, result)| result);
    [
        all().count(),
        all().filter(|result| result.has_happened).count(),
        all().filter(|result| result.by_values).count(),
        all().filter(|result| result.by_printed).count(),
    ]
}

#[test]
fn a_lost_update_is_one_triple() {
    let update = "call C.add\nread x r\nadd r 1\nwrite x r\nreturn C.add";
    // Read, then the write of the same line by the other thread, then the own write.
    let outcome = count(&two("x = 0", update, update));
    let found: Vec<(usize, &str)> = outcome
        .triples
        .iter()
        .map(|(places, result)| (places.len(), result.pattern.as_str()))
        .collect();
    assert_eq!(counts(&outcome.triples), [2, 2, 2, 2], "{found:?}");
}

/// What the paper prints for a lost update is no proof: the block may have run first.
#[test]
fn the_printed_conditions_confirm_what_values_do_not() {
    let block = "atomic A.set\nread x r\nwrite x 3\nend A.set";
    let outcome = count(&two("x = 0", block, "write x 2"));
    assert_eq!(counts(&outcome.triples), [1, 1, 0, 1]);
}

#[test]
fn what_cannot_happen_is_a_candidate_that_did_not_happen() {
    let block = "atomic A.sum\nread x r\nread x s\nend A.sum";
    let waits = "lock m\nwrite x 1\nunlock m";
    let guarded = format!("lock m\n{block}\nunlock m");
    assert_eq!(counts(&count(&two("x = 0", &guarded, waits)).triples)[1..], [0, 0, 0]);
    assert_eq!(counts(&count(&two("x = 0", block, waits)).triples), [1, 1, 1, 1]);
}

/// One finding is enough for people; for a count every triple is tried.
#[test]
fn triples_of_a_block_that_is_known_to_be_torn_are_tried_too() {
    let steps = |n: u32| format!("read x r{n}\nadd r{n} 1\nwrite x r{n}\n");
    let method = format!("call C.add\n{}{}{}return C.add", steps(1), steps(2), steps(3));
    let text = two("x = 0", &method, &method);
    let outcome = count(&text);
    let [candidates, happened, by_values, _] = counts(&outcome.triples);
    assert!(candidates > 6 && happened * 10 >= candidates * 9, "{happened} of {candidates}");
    assert!(by_values <= happened);
    // The findings are the same, and nothing is counted unless it is asked for.
    let plain = explore_with(&text, options());
    assert_eq!(all(&plain), all(&outcome));
    assert_eq!(counts(&plain.triples), [0; 4]);
}
