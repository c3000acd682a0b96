//! From text to steps, with the place of whatever is wrong.

use super::{Kind, Step, Term};

/// What is wrong with a pattern, and where: a byte of its text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what} at character {}", at + 1)]
pub struct PatternError {
    pub at: usize,
    pub what: String,
}

const OPERATIONS: [(&str, Kind); 9] = [
    ("r", Kind::Read),
    ("w", Kind::Write),
    ("acq", Kind::Acquire),
    ("rel", Kind::Release),
    ("wait", Kind::Wait),
    ("resume", Kind::Resume),
    ("notify", Kind::Notify),
    ("fork", Kind::Fork),
    ("join", Kind::Join),
];

pub(super) fn pattern(text: &str) -> Result<Vec<Step>, PatternError> {
    let mut reader = Reader { text, at: 0 };
    let mut steps = vec![reader.step()?];
    while reader.accept('<') {
        steps.push(reader.step()?);
    }
    if reader.peek().is_some() {
        return Err(reader.error("expected `<` or the end"));
    }
    Ok(steps)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn error(&self, what: &str) -> PatternError {
        PatternError { at: self.at, what: what.to_owned() }
    }

    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), PatternError> {
        if self.accept(wanted) { Ok(()) } else { Err(self.error(&format!("expected `{wanted}`"))) }
    }

    /// A name, if one stands here.
    fn name(&mut self) -> Option<&'t str> {
        if !self.peek()?.is_alphabetic() {
            return None;
        }
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        Some(&rest[..end])
    }

    fn text(&mut self) -> Result<String, PatternError> {
        let start = self.at;
        self.expect('"')?;
        let rest = &self.text[self.at..];
        let Some(end) = rest.find('"') else {
            return Err(PatternError { at: start, what: "a text without its end".to_owned() });
        };
        self.at += end + 1;
        Ok(rest[..end].to_owned())
    }

    fn term(&mut self, what: &str) -> Result<Term, PatternError> {
        if self.peek() == Some('"') {
            return self.text().map(Term::Text);
        }
        match self.name() {
            Some(name) => Ok(Term::Name(name.to_owned())),
            None => Err(self.error(&format!("expected {what}: a name or a \"text\""))),
        }
    }

    fn step(&mut self) -> Result<Step, PatternError> {
        let mut step = self.event()?;
        if self.accept('@') {
            step.thread = Some(self.term("a thread")?);
            if self.accept('.') {
                let block = self.name().map(str::to_owned);
                step.block = Some(block.ok_or_else(|| self.error("expected the name of a block"))?);
            }
        }
        let before = self.at;
        if self.name() == Some("at") {
            self.peek();
            step.site = Some(self.text()?);
        } else {
            self.at = before;
        }
        Ok(step)
    }

    fn event(&mut self) -> Result<Step, PatternError> {
        let mut step =
            Step { kind: None, number: None, target: None, thread: None, block: None, site: None };
        if self.accept('#') {
            let digits = &self.text[self.at..];
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let number = digits[..end].parse();
            step.number = Some(number.map_err(|_| self.error("expected the number of an event"))?);
            self.at += end;
            return Ok(step);
        }
        let start = self.at;
        let Some(name) = self.name() else {
            return Err(self.error("expected an event: #5, r(x), acq(l), …, or a name"));
        };
        let operation = OPERATIONS.iter().find(|(text, _)| *text == name);
        step.kind = Some(operation.map_or(Kind::Access, |(_, kind)| *kind));
        if self.accept('(') {
            if operation.is_none() {
                let all = OPERATIONS.map(|(text, _)| text).join(", ");
                let what = format!("no operation is called `{name}`; there are {all}");
                let start = start + self.text[start..].find(name).unwrap_or(0);
                return Err(PatternError { at: start, what });
            }
            step.target = Some(self.term("a target")?);
            self.expect(')')?;
        }
        Ok(step)
    }
}
