//! Parses the text of a plan. The text that [`Plan`] displays parses to the same plan.

use std::str::FromStr;

use thiserror::Error;
use untorn_trace::ids::ThreadId;

use super::{AccessKind, CodePoint, KEEP_TIME, Plan, PlanPoint, PlanStep, PlanThread};

/// Why a text is not a plan: the position, what was expected there, what was found.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}")]
pub struct PlanError {
    /// Both from 1; columns count characters.
    pub line: usize,
    pub column: usize,
    pub expected: &'static str,
    pub found: String,
}

/// File name endings that distinguish a file from a method.
const FILES: [&str; 16] = [
    "java", "kt", "kts", "scala", "groovy", "clj", "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "rs",
    "jsp", "inc",
];

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let mut plan = Self::default();
        for (i, text) in text.lines().enumerate() {
            let start = text.trim_start();
            if start.is_empty() || start.starts_with("//") || start.starts_with(';') {
                continue;
            }
            let line = Line { text, at: 0, number: i + 1 };
            if start.trim_end() == KEEP_TIME {
                plan.keeps_time = true;
            } else if start.starts_with('*') {
                plan.holds.push(line.hold()?);
            } else {
                plan.steps.push(line.step()?);
            }
        }
        Ok(plan)
    }
}

/// A thread name that needs no quotes.
pub(super) fn is_bare(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A file or a method, in quotes if it needs them.
pub(super) fn quote_place(name: &str) -> String {
    if name.is_empty() || name.contains(ends_place) || name.contains('\\') {
        quote(name)
    } else {
        name.to_owned()
    }
}

/// Characters that cannot occur in the name of a file or method without quotes.
fn ends_place(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | ':' | '(' | '+')
}

fn is_file(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    name.contains('/') || FILES.contains(&ending)
}

/// One line, read from left to right.
struct Line<'a> {
    text: &'a str,
    /// Bytes read. Invariant: at a boundary of characters.
    at: usize,
    number: usize,
}

impl<'a> Line<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Reads up to the first character that `ends` the word.
    fn until(&mut self, ends: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn eat(&mut self, c: char) -> bool {
        let eats = self.rest().starts_with(c);
        self.at += if eats { c.len_utf8() } else { 0 };
        eats
    }

    fn error(&self, at: usize, expected: &'static str) -> PlanError {
        let column = self.text[..at].chars().count() + 1;
        let found = match self.text[at..].split_whitespace().next() {
            Some(word) => format!("'{word}'"),
            None => "the end of the line".to_owned(),
        };
        PlanError { line: self.number, column, expected, found }
    }

    fn step(mut self) -> Result<PlanStep, PlanError> {
        let thread = self.thread()?;
        let point = self.point()?;
        let occurrence = self.occurrence()?;
        self.end()?;
        Ok(PlanStep { thread, point, occurrence })
    }

    /// `* @ PLACE`
    fn hold(mut self) -> Result<PlanPoint, PlanError> {
        self.skip_space();
        self.eat('*');
        let point = self.point()?;
        self.end()?;
        Ok(point)
    }

    /// `@ PLACE [KIND]`
    fn point(&mut self) -> Result<PlanPoint, PlanError> {
        self.skip_space();
        if !self.eat('@') {
            return Err(self.error(self.at, "'@' and a place"));
        }
        let code_point = self.code_point()?;
        let kind = self.kind()?;
        Ok(PlanPoint { code_point, kind })
    }

    fn end(&mut self) -> Result<(), PlanError> {
        self.skip_space();
        if self.rest().is_empty() {
            Ok(())
        } else {
            Err(self.error(self.at, "the end of the line"))
        }
    }

    fn thread(&mut self) -> Result<PlanThread, PlanError> {
        self.skip_space();
        let start = self.at;
        if self.eat('#') {
            let id = self.number("a thread id such as #0")?;
            return Ok(PlanThread::Id(ThreadId(id)));
        }
        if self.rest().starts_with('"') {
            return self.quoted().map(PlanThread::Name);
        }
        let name = self.until(|c| c.is_whitespace() || c == '@');
        if is_bare(name) {
            Ok(PlanThread::Name(name.to_owned()))
        } else {
            Err(self.error(start, "a thread name (in quotes if it has special characters) or #ID"))
        }
    }

    /// A text in quotes, at the opening one.
    fn quoted(&mut self) -> Result<String, PlanError> {
        let start = self.at;
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((_, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = chars.next().map_or(self.text.len(), |(i, _)| start + i);
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    Some((i, _)) => return Err(self.error(start + i, "n, r, \\ or \" after \\")),
                    None => break,
                },
                _ => text.push(c),
            }
        }
        Err(self.error(start, "a closing quote"))
    }

    fn code_point(&mut self) -> Result<CodePoint, PlanError> {
        self.skip_space();
        let start = self.at;
        let name = if self.rest().starts_with('"') {
            self.quoted()?
        } else {
            self.until(ends_place).to_owned()
        };
        if self.rest().starts_with('(') {
            return self.spot_with_pc(&name, start);
        }
        if self.rest().starts_with('+') {
            return self.spot_in_module(name);
        }
        if name.is_empty() || !self.eat(':') {
            return Err(self.error(start, "a place such as File.java:12 or pkg.Class.method:12"));
        }
        let line = self.number("a line number")?;
        if is_file(&name) {
            return Ok(CodePoint::FileLine { file: name, line });
        }
        let (class, method) = self.method(&name, start)?;
        Ok(CodePoint::MethodLine { class, method, line })
    }

    fn spot_with_pc(&mut self, name: &str, start: usize) -> Result<CodePoint, PlanError> {
        let (class, method) = self.method(name, start)?;
        let descriptor = self.until(|c| c.is_whitespace() || c == '@').to_owned();
        if !self.eat('@') {
            return Err(self.error(self.at, "'@' and the pc"));
        }
        let pc = self.number("a pc")?;
        Ok(CodePoint::MethodPc { class, method, descriptor, pc })
    }

    fn spot_in_module(&mut self, module: String) -> Result<CodePoint, PlanError> {
        let start = self.at;
        let word = self.until(char::is_whitespace);
        let offset = word.strip_prefix("+0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let offset = offset.ok_or_else(|| self.error(start, "an offset such as +0x1f3a"))?;
        Ok(CodePoint::ModuleOffset { module, offset })
    }

    fn method(&self, name: &str, start: usize) -> Result<(String, String), PlanError> {
        match name.rsplit_once('.') {
            Some((class, method)) if !class.is_empty() && !method.is_empty() => {
                Ok((class.to_owned(), method.to_owned()))
            }
            _ => Err(self.error(start, "a file, or a method with its class")),
        }
    }

    /// A number that ends where the word does.
    fn number(&mut self, expected: &'static str) -> Result<u32, PlanError> {
        let start = self.at;
        let digits = self.until(|c| c.is_whitespace() || c == '@');
        // `parse` would take a sign.
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = if plain { digits.parse().ok() } else { None };
        number.ok_or_else(|| self.error(start, expected))
    }

    fn kind(&mut self) -> Result<Option<AccessKind>, PlanError> {
        self.skip_space();
        let start = self.at;
        if self.rest().is_empty() || self.rest().starts_with('#') {
            return Ok(None);
        }
        let word = self.until(char::is_whitespace);
        let known = AccessKind::ALL.into_iter().find(|kind| kind.word() == word);
        if known.is_none() && word != "any" {
            let expected = "read, write, acquire, release, any, or an occurrence such as #2";
            return Err(self.error(start, expected));
        }
        Ok(known)
    }

    fn occurrence(&mut self) -> Result<u32, PlanError> {
        const EXPECTED: &str = "an occurrence, from #1";
        self.skip_space();
        let start = self.at;
        if !self.eat('#') {
            return Ok(1);
        }
        match self.number(EXPECTED)? {
            0 => Err(self.error(start, EXPECTED)),
            occurrence => Ok(occurrence),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Plan, String> {
        text.parse().map_err(|error: PlanError| error.to_string())
    }

    #[test]
    fn a_plan_reads_as_written() {
        let text = "// lost update\nmain @ Bank.java:12 read\n\n  ; the other\n\
            \"my \\\"own\\\" thread\" @ bank.Account.set:7 #3\n\
            #2 @ java.lang.StringBuffer.append(Ljava/lang/String;I)V@17 write #2\n\
            T-1@a/b/weird.xyz:4 any\n\
            pool-1.w_2 @ \"a.K.my (test): method\":9 acquire\n";
        let plan = parse(text).expect("a good plan");
        let words: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
        assert_eq!(
            words,
            [
                "main @ Bank.java:12 read",
                "\"my \\\"own\\\" thread\" @ bank.Account.set:7 #3",
                "#2 @ java.lang.StringBuffer.append(Ljava/lang/String;I)V@17 write #2",
                "T-1 @ a/b/weird.xyz:4",
                "pool-1.w_2 @ \"a.K.my (test): method\":9 acquire",
            ]
        );
        assert_eq!(plan.steps[0].point.kind, Some(AccessKind::Read));
        assert_eq!(plan.steps[1].thread, PlanThread::Name("my \"own\" thread".to_owned()));
        assert_eq!(plan.steps[2].occurrence, 2);
        assert_eq!(parse(&plan.to_string()), Ok(plan));
    }

    #[test]
    fn an_error_says_where_and_what() {
        let cases = [
            ("main Bank.java:1", "line 1, column 6: expected '@' and a place, found 'Bank.java:1'"),
            ("\n\n#x @ A.java:1", "line 3, column 2: expected a thread id such as #0, found 'x'"),
            ("é @ A.java:x", "line 1, column 12: expected a line number, found 'x'"),
            (
                "a @ A.java:1 raed",
                "line 1, column 14: expected read, write, acquire, release, any, \
                or an occurrence such as #2, found 'raed'",
            ),
            ("a @ A.java:1 #0", "line 1, column 14: expected an occurrence, from #1, found '#0'"),
            ("a @ A.java:1 #2 x", "line 1, column 17: expected the end of the line, found 'x'"),
            (
                "a @ m:1",
                "line 1, column 5: expected a file, or a method with its class, found 'm:1'",
            ),
            (
                "a @",
                "line 1, column 4: expected a place such as File.java:12 or \
                pkg.Class.method:12, found the end of the line",
            ),
            ("a @ A.m()V", "line 1, column 11: expected '@' and the pc, found the end of the line"),
            ("\"a @ A.java:1", "line 1, column 1: expected a closing quote, found '\"a'"),
            (
                "\"a\\x\" @ A.java:1",
                "line 1, column 4: expected n, r, \\ or \" after \\, found 'x\"'",
            ),
            ("a @ A.java:+1", "line 1, column 12: expected a line number, found '+1'"),
            (
                "a @ A.java:4294967296",
                "line 1, column 12: expected a line number, \
                found '4294967296'",
            ),
        ];
        for (text, error) in cases {
            assert_eq!(parse(text), Err(error.to_owned()), "{text}");
        }
    }
}
