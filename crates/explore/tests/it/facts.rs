//! What the trace says of variables and methods decides, not what they are called.

use untorn_explore::Focus;

use crate::harness::{all, explore, explore_with, found, options, program, two};

fn update(name: &str, var: &str) -> String {
    format!("call {name}\nread {var} r\nadd r 1\nwrite {var} r\nreturn {name}")
}

#[test]
fn the_state_of_a_latch_is_no_candidate() {
    let text = |kind: &str| two(&format!("x = 0 {kind}"), &update("A.m", "x"), &update("A.m", "x"));
    assert_eq!(explore(&text("sync")).candidates, 0);
    assert!(explore(&text("")).candidates > 0);
}

#[test]
fn versions_of_a_collection_prove_no_harm() {
    let text = |kind: &str| two(&format!("x = 0 {kind}"), &update("A.m", "x"), &update("A.m", "x"));
    assert_eq!(found(&text("contents")), [] as [&str; 0]);
    assert_eq!(found(&text("")).len(), 1);
}

#[test]
fn a_name_that_looks_like_a_collection_is_none() {
    let text = two(
        "queue.contents = 0",
        &update("A.m", "queue.contents"),
        &update("A.m", "queue.contents"),
    );
    assert_eq!(found(&text), ["inferred A.m queue.contents RWW"]);
}

#[test]
fn a_name_that_looks_like_a_library_is_none() {
    let name = "java.util.Mine.add";
    let (one, two_) = (update(name, "x"), update(name, "y"));
    let body = format!(
        "call {name}\nread x r\nadd r 1\nwrite x r\nread y r\nadd r 1\nwrite y r\nreturn {name}"
    );
    assert_eq!(found(&two("x = 0\ny = 0", &body, &body)).len(), 2, "{one}{two_}");
}

#[test]
fn the_fields_of_a_library_are_one_concern() {
    let body = "call List.add\nread x r\nadd r 1\nwrite x r\nread y r\nadd r 1\nwrite y r\nreturn List.add";
    let text = |head: &str| two(&format!("x = 0\ny = 0\n{head}"), body, body);
    assert_eq!(found(&text("")).len(), 2);
    assert_eq!(found(&text("library List.add")).len(), 1);
}

#[test]
fn the_body_of_a_thread_is_not_meant_to_be_atomic() {
    let body = "call Worker.run\nread x r\nwrite x 7\nreturn Worker.run";
    let text = |head: &str| two(&format!("x = 0\n{head}"), body, body);
    assert_eq!(found(&text("")).len(), 1);
    let outcome = explore(&text("entry Worker.run"));
    assert_eq!(outcome.violations.len(), 0);
    assert!(outcome.bodies > 0);
}

#[test]
fn a_method_called_run_is_no_entry_by_its_name() {
    assert_eq!(found(&two("x = 0", &update("Timer.run", "x"), &update("Timer.run", "x"))).len(), 1);
}

#[test]
fn elements_of_one_array_are_one_field() {
    let text = two(
        "Grid#1.rows[0] = 0\nGrid#2.rows[5] = 0",
        &(update("G.m", "Grid#1.rows[0]") + "\n" + &update("G.m", "Grid#2.rows[5]")),
        &(update("G.m", "Grid#1.rows[0]") + "\n" + &update("G.m", "Grid#2.rows[5]")),
    );
    assert_eq!(found(&text), ["inferred G.m Grid.rows[] RWW"]);
}

#[test]
fn one_field_of_two_objects_is_one_finding() {
    let body = update("A.m", "Account#1.balance") + "\n" + &update("A.m", "Account#2.balance");
    let text = two("Account#1.balance = 0\nAccount#2.balance = 0", &body, &body);
    assert_eq!(found(&text), ["inferred A.m Account.balance RWW"]);
}

#[test]
fn verifying_asks_for_the_method_and_not_for_the_name_of_the_block() {
    let only =
        |method: &str, field: &str| Focus { method: method.to_owned(), field: field.to_owned() };
    let text = two("x = 0", &update("A.m", "x"), &update("A.m", "x"));
    let with =
        |only| explore_with(&text, untorn_explore::Options { only: Some(only), ..options() });
    let same = with(only("A.m", "x"));
    assert_eq!((all(&same).len(), same.focus.activations > 0), (1, true));
    let other = with(only("A.other", "x"));
    assert_eq!((all(&other).len(), other.focus.activations > 0), (0, false));
    let field = with(only("A.m", "y"));
    assert_eq!((all(&field).len(), field.focus.activations > 0), (0, true));
}

#[test]
fn a_text_that_is_no_program_is_refused_with_its_line() {
    use untorn_testkit::simulated::Simulated;
    for (text, line) in
        [("thread main\nread x r", 2), ("thread main\ngoto nowhere", 2), ("x = 1", 1)]
    {
        let error = Simulated::new(text).expect_err("no program");
        assert_eq!(error.line, line, "{error}");
    }
    assert_eq!(program("thread main\nprint hello").runs.len(), 0);
}
