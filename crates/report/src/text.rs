//! Text that came from the traced program is never trusted: it may hold terminal codes, markup, or
//! characters that reorder a line. This module makes it harmless, and measures and cuts it.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text with control characters, line breaks and characters that reorder a line written as
/// escapes, so that it can neither command a terminal nor pretend to be something else.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{61c}')
}

/// The text for an XML element or attribute value, in double quotes.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The columns that the text takes in a terminal or in a monospace font.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text, cut to `columns` with an ellipsis at its end if it is longer.
pub fn ellipsis(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// The text, cut to `columns` in its middle: of a qualified name or a path both ends matter.
pub fn middle_ellipsis(text: &str, columns: usize) -> String {
    if width(text) <= columns || columns < 8 {
        return ellipsis(text, columns);
    }
    let tail_columns = (columns - 1) * 3 / 5;
    let mut tail = Vec::new();
    let mut used = 0;
    for c in text.chars().rev() {
        used += c.width().unwrap_or(0);
        if used > tail_columns {
            break;
        }
        tail.push(c);
    }
    let mut out =
        ellipsis(text, columns - tail.iter().map(|c| c.width().unwrap_or(0)).sum::<usize>());
    out.extend(tail.into_iter().rev());
    out
}

/// The text, cut to `columns` at its start: the end of a path matters most.
pub fn tail_ellipsis(text: &str, columns: usize) -> String {
    let reversed: String = text.chars().rev().collect();
    ellipsis(&reversed, columns).chars().rev().collect()
}

/// The text padded with blanks to `columns`.
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Breaks the text at blanks into lines of at most `columns`; a longer word stands alone.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_codes_and_reordering_are_written_out() {
        assert_eq!(plain("a\u{1b}[31mb\nc\u{202e}d"), "a\\u{1b}[31mb\\u{a}c\\u{202e}d");
        assert_eq!(plain("Grüße 名前"), "Grüße 名前");
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(xml("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    }

    #[test]
    fn cutting_counts_wide_characters_twice() {
        assert_eq!(ellipsis("名前名前", 5), "名前…");
        assert_eq!(ellipsis("short", 5), "short");
        assert_eq!(ellipsis("longer", 5), "long…");
    }

    #[test]
    fn the_middle_goes_first() {
        assert_eq!(
            middle_ellipsis("com.example.deep.Account.withdraw", 21),
            "com.exam…unt.withdraw"
        );
        assert_eq!(width(&middle_ellipsis("名前名前名前名前名前", 11)), 11);
        assert_eq!(middle_ellipsis("abcdefghij", 4), "abc…");
        assert_eq!(tail_ellipsis("src/main/Account.java:14", 15), "…ccount.java:14");
    }

    #[test]
    fn lines_break_at_blanks() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("extraordinary x", 5), ["extraordinary", "x"]);
        assert!(wrap("", 5).is_empty());
    }
}
