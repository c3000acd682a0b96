//! What a program printed: its complaints, as far as they say why it failed.

use untorn_frontend::UncaughtException;

/// What ended the program, by its own words: assertions, uncaught exceptions of C++, panics of Rust.
pub(crate) fn complaints(stderr: &[u8]) -> Vec<UncaughtException> {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().collect();
    let found = |(at, line): (usize, &&str)| {
        assertion(line)
            .or_else(|| exception(line, lines.get(at + 1)))
            .or_else(|| panic(line, lines.get(at + 1)))
    };
    lines.iter().enumerate().filter_map(found).collect()
}

/// `bank: bank.c:12: withdraw: Assertion `balance >= 0' failed.`
fn assertion(line: &str) -> Option<UncaughtException> {
    let (before, rest) = line.split_once(": Assertion `")?;
    let condition = rest.strip_suffix("' failed.")?;
    let mut parts = before.rsplitn(4, ": ");
    let (function, place) = (parts.next()?, parts.next()?);
    Some(UncaughtException {
        kind: "assertion".to_owned(),
        message: condition.to_owned(),
        place: Some(format!("{}({place})", function.split('(').next().unwrap_or(function))),
    })
}

/// `terminate called after throwing an instance of 'std::out_of_range'`, and what it says in the next line.
fn exception(line: &str, next: Option<&&str>) -> Option<UncaughtException> {
    let kind = line.strip_prefix("terminate called after throwing an instance of '")?;
    let said = next.and_then(|next| next.trim_start().strip_prefix("what():  "));
    Some(UncaughtException {
        kind: kind.trim_end_matches('\'').to_owned(),
        message: said.unwrap_or_default().to_owned(),
        place: None,
    })
}

/// `thread '<unnamed>' panicked at src/main.rs:12:5:`, and the message in the next line.
fn panic(line: &str, next: Option<&&str>) -> Option<UncaughtException> {
    let place = line.strip_prefix("thread '")?.split_once(" panicked at ")?.1;
    let place = place.trim_end_matches(':');
    // Without the column.
    let place = place.rsplit_once(':').map_or(place, |(place, _)| place);
    Some(UncaughtException {
        kind: "panic".to_owned(),
        message: next.copied().unwrap_or_default().to_owned(),
        place: Some(place.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> (String, String, Option<String>) {
        let found = complaints(text.as_bytes());
        assert_eq!(found.len(), 1, "{found:?}");
        (found[0].kind.clone(), found[0].message.clone(), found[0].place.clone())
    }

    #[test]
    fn complaints_say_what_and_where() {
        let assertion = "bank: src/bank.c:12: withdraw: Assertion `balance >= 0' failed.\n";
        let expected =
            ("assertion".into(), "balance >= 0".into(), Some("withdraw(src/bank.c:12)".into()));
        assert_eq!(one(assertion), expected);
        let thrown = "terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::at\n";
        assert_eq!(one(thrown), ("std::out_of_range".into(), "vector::at".into(), None));
        let panicked = "thread '<unnamed>' (7) panicked at src/main.rs:12:5:\nindex out of bounds\nnote: run\n";
        let expected =
            ("panic".into(), "index out of bounds".into(), Some("src/main.rs:12".into()));
        assert_eq!(one(panicked), expected);
        assert_eq!(complaints(b"balance 120\nAssertion failed\n"), []);
    }
}
