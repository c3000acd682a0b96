//! What scripts and build tools print that differs from run to run and means nothing: how long something took, and when
//! it was.

/// What the JVM says of the options by which the agent comes to it.
const PICKED_UP: &str = "Picked up JAVA_TOOL_OPTIONS:";

const UNITS: [&str; 10] =
    ["ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minutes"];

/// The text with `#` for times and dates.
pub fn without(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let kept = text.lines().filter(|line| !line.contains(PICKED_UP));
    kept.flat_map(|line| format!("{}\n", masked(line)).into_bytes()).collect()
}

fn masked(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let mask = |(at, word): (usize, &&str)| {
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
        let next = words.get(at + 1).map_or("", |next| {
            next.trim_end_matches(|c: char| c.is_ascii_punctuation() || c == '\u{1b}')
        });
        let is_time = is_moment(bare)
            || is_number(bare) && UNITS.contains(&next)
            || UNITS.iter().any(|unit| bare.strip_suffix(unit).is_some_and(is_number));
        if is_time { word.replace(bare, "#") } else { (*word).to_owned() }
    };
    words.iter().enumerate().map(mask).collect::<Vec<_>>().join(" ")
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',')
}

/// `12:34:56`, `2026-11-16`, `2026-11-16T12:34:56Z`.
fn is_moment(text: &str) -> bool {
    let is_digits = |piece: &str| !piece.is_empty() && piece.chars().all(|c| c.is_ascii_digit());
    let has_lengths = |separator: char, lengths: &[usize]| {
        let mut pieces = text.split(separator);
        lengths.iter().all(|&length| {
            let head = pieces.next().and_then(|piece| piece.get(..length));
            head.is_some_and(is_digits)
        })
    };
    has_lengths(':', &[2, 2]) || has_lengths('-', &[4, 2, 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> String {
        String::from_utf8(without(text.as_bytes())).expect("still text")
    }

    #[test]
    fn times_are_made_alike_and_results_are_not() {
        assert_eq!(
            kept("Tests run: 2, Time elapsed: 0.067 s <<< FAILURE!"),
            "Tests run: 2, Time elapsed: # s <<< FAILURE!\n"
        );
        assert_eq!(kept("Finished at: 2026-11-16T10:42:10Z"), "Finished at: #\n");
        assert_eq!(kept("[12:34:56] took 15ms, or (0.5s)"), "[#] took #, or (#)\n");
        assert_eq!(kept("BUILD SUCCESSFUL in 2s"), "BUILD SUCCESSFUL in #\n");
        for line in [
            "balance 50, expected 20",
            "expected: <20> but was: <-60>",
            "10 messages",
            "A-1",
            "3:4",
            "10-20",
        ] {
            assert_eq!(kept(line), format!("{line}\n"));
        }
    }

    #[test]
    fn what_the_jvm_says_of_us_is_left_out() {
        assert_eq!(kept("a\n[ERROR] Picked up JAVA_TOOL_OPTIONS: -agentpath:x\nb\n"), "a\nb\n");
    }
}
