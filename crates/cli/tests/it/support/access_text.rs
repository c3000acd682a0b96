//! Recorded events in words.

use untorn_trace::event::Access;
use untorn_trace::{Event, Op, show_value};

use super::java::Recorded;

/// An access in words: how, what, value.
fn access(trace: &Recorded, event: &Event) -> Option<String> {
    let (verb, access, var, value) = match event.op {
        Op::Read { access, var, value, known: true } => ("read", access, var, value),
        Op::Write { access, var, value, known: true } => ("write", access, var, value),
        _ => return None,
    };
    let how = match access {
        Access::Plain => "plain ",
        Access::Volatile => "",
        Access::Update => "update ",
    };
    let value = show_value(value, trace.tables.var_facts(var).values);
    Some(format!("{how}{verb} {} = {value}", unnumbered(&trace.tables.var_name(var))))
}

/// The accesses at places of a source file, in words.
pub fn accesses(trace: &Recorded, file: &str) -> Vec<String> {
    trace.in_file(file).filter_map(|event| access(trace, event)).collect()
}

/// The name without the numbers of objects: `Account#.balance`.
pub fn unnumbered(name: &str) -> String {
    let mut pieces = name.split('#');
    let first = pieces.next().unwrap_or_default().to_owned();
    let digits = |piece: &str| piece.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    pieces.fold(first, |name, piece| format!("{name}#{}", digits(piece)))
}

/// The number of the object in a name.
pub fn number(name: &str) -> u64 {
    let digits: String =
        name.chars().skip_while(|&c| c != '#').skip(1).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number in {name}"))
}
