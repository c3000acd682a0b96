//! The project's own code is looked at first. That decides what comes first, never what is found.

use untorn_explore::{Options, Outcome};
use untorn_frontend::OwnCode;
use untorn_testkit::{Rng, cases};

use crate::harness::{Folder, all, explore_in, explore_with, options, program, two};

fn update(method: &str, var: &str) -> String {
    format!("call {method}\nread {var} r\nadd r 1\nwrite {var} r\nreturn {method}\n")
}

/// Thirty methods of a library lose updates, and the last one, of the project, does, too.
fn handler_behind_a_library() -> String {
    let mut body: String =
        (0..30).map(|n| update(&format!("lib.Pool.m{n}"), &format!("p{n}"))).collect();
    body += &update("app.Shop.sell", "stock");
    let variables: String = (0..30).map(|n| format!("p{n} = 0\n")).collect();
    two(&format!("{variables}stock = 0"), &body, &body)
}

fn own(classes: &[&str]) -> OwnCode {
    let mut own = OwnCode::default();
    classes.iter().for_each(|class| own.add_class(class));
    own
}

fn explore_own(text: &str, own_code: OwnCode, options: Options) -> Outcome {
    let mut front_end = program(text);
    front_end.own_code = own_code;
    explore_in(&Folder::new(), &mut front_end, options).expect("the program runs")
}

#[test]
fn the_first_directed_run_is_made_for_the_projects_own_code() {
    let text = handler_behind_a_library();
    // Runs from block to block show nothing by themselves.
    let initial = options().initial.into_iter().take(1).collect();
    let few = Options { runs: 2, initial, ..options() };
    let outcome = explore_own(&text, own(&["app.Shop"]), few.clone());
    assert_eq!(all(&outcome), ["inferred app.Shop.sell stock RWW"]);
    let outcome = explore_own(&text, own(&["lib.Pool"]), few);
    assert!(!all(&outcome).contains(&"inferred app.Shop.sell stock RWW".to_owned()));
}

/// Whatever belongs to the project, with enough runs the same is found.
#[test]
fn what_comes_first_does_not_decide_what_is_found() {
    let mut rng = Rng::new(8);
    let classes = ["A.One", "B.Two", "C.Three", "D.Four"];
    for _ in 0..cases(8, 500) {
        let body: String = (0..rng.between(2, 6))
            .map(|_| {
                let method = format!("{}.m{}", classes[rng.below(4) as usize], rng.below(2));
                update(&method, ["x", "y", "z"][rng.below(3) as usize])
            })
            .collect();
        let text = two("x = 0\ny = 0\nz = 0", &body, &body);
        let chosen: Vec<&str> = classes.iter().copied().filter(|_| rng.chance(128)).collect();
        let enough = Options { runs: 60, ..options() };
        let plain = all(&explore_with(&text, enough.clone()));
        let ordered = all(&explore_own(&text, own(&chosen), enough));
        assert_eq!(plain, ordered, "{chosen:?}\n{text}");
        assert!(!plain.is_empty());
    }
}

#[test]
fn one_may_ask_for_some_code_only() {
    let text = handler_behind_a_library();
    let only = |pattern: &str| Options { only_code: vec![pattern.to_owned()], ..options() };
    let outcome = explore_with(&text, only("app.*"));
    assert_eq!(all(&outcome), ["inferred app.Shop.sell stock RWW"]);
    assert!(outcome.outside >= 30, "{} passed over", outcome.outside);
    let outcome = explore_with(&text, only("lib.Pool.m7"));
    assert_eq!(all(&outcome), ["inferred lib.Pool.m7 p7 RWW"]);
    assert_eq!(explore_with(&text, options()).outside, 0);
}
