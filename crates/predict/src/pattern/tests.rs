use untorn_trace::{Event, LabelId, LockId, Op, SiteId, Tables, ThreadId, VarId};

use super::*;

const X: VarId = VarId(0);
const Y: VarId = VarId(1);

/// Two blocks of `main` on x and y, and a thread `other` that writes both.
fn history() -> (History, Tables) {
    let mut tables = Tables::default();
    for name in ["main", "other"] {
        tables.threads.push(name);
    }
    for name in ["x", "y"] {
        tables.vars.push(name);
    }
    tables.locks.push("l");
    let site = tables.sites.intern_loc("src/Account.java:12");
    let block = |begin: bool| {
        let label = LabelId::NONE;
        if begin { Op::begin(label) } else { Op::End { label } }
    };
    let main = [block(true), Op::read(X), Op::write(X), block(false), Op::read(X), Op::read(Y)];
    let other = [Op::write(X), Op::acquire(LockId(0)), Op::write(Y)];
    let mut events: Vec<Event> =
        main.iter().map(|&op| Event::new(ThreadId(0), op, SiteId::NONE)).collect();
    events.extend(other.iter().map(|&op| Event::new(ThreadId(1), op, site)));
    (History::new(events, &tables).expect("short"), tables)
}

fn goals(pattern: &str) -> Vec<Vec<u32>> {
    let (history, tables) = history();
    let pattern = EventPattern::parse(pattern).expect("a pattern");
    let matches = pattern.goals(&history, &tables, 100);
    assert!(matches.is_complete);
    matches.goals.iter().map(|goal| goal.events.iter().map(|at| at.0).collect()).collect()
}

#[test]
fn the_same_name_is_the_same_thing() {
    assert_eq!(goals("r(x)@A < w(x)@B < r(x)@A"), [[1, 6, 4]]);
    assert_eq!(goals("r(x)@A < w(y)@B < r(x)@A"), [[1, 8, 4]]);
    assert_eq!(goals("r(x)@A.b < w(x)@B < w(x)@A.b"), [[1, 6, 2]]);
    assert!(goals("r(x)@A.b < w(x)@B < r(x)@A.b").is_empty());
}

#[test]
fn texts_numbers_and_sites_name_one_thing() {
    assert_eq!(goals("w(\"y\")@\"other\""), [[8]]);
    assert_eq!(goals("#1 < #6 < #2"), [[1, 6, 2]]);
    assert_eq!(goals("w at \"Account.java:12\""), [[6], [8]]);
    assert!(goals("w at \"count.java:12\"").is_empty());
    assert_eq!(goals("acq(m) at \"src/Account.java:12\""), [[7]]);
    assert_eq!(goals("e1@A < f@B < e2@A").len(), 6 * 2 + 4, "pairs of one, one of the other");
}

#[test]
fn no_more_goals_than_asked_for() {
    let (history, tables) = history();
    let pattern = EventPattern::parse("a < b < c").expect("a pattern");
    let matches = pattern.goals(&history, &tables, 3);
    assert_eq!(matches.goals.len(), 3);
    assert!(!matches.is_complete && matches.tried > 0);
}

#[test]
fn errors_say_where() {
    let error = |text: &str| EventPattern::parse(text).expect_err("no pattern").to_string();
    assert_eq!(
        error("r(x)@A < q(x)@B"),
        "no operation is called `q`; there are r, w, acq, rel, wait, resume, notify, fork, join at character 10"
    );
    assert_eq!(error("r(x@A"), "expected `)` at character 4");
    assert_eq!(error("r(x)@ < w"), "expected a thread: a name or a \"text\" at character 7");
    assert_eq!(error("r(x) w"), "expected `<` or the end at character 6");
    assert_eq!(error("#a"), "expected the number of an event at character 2");
    assert_eq!(error("r at \"x"), "a text without its end at character 6");
    assert_eq!(error(""), "expected an event: #5, r(x), acq(l), …, or a name at character 1");
}
