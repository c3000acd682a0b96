//! One line of STD text, byte by byte: the grammar, and the words for what breaks it.
//!
//! The fast path of the reader takes only lines whose every name it has seen here before, so this
//! is the one place that defines what is well-formed.

/// A well-formed line, its names still text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line<'a> {
    pub thread: &'a str,
    pub op: LineOp<'a>,
    pub loc: &'a str,
}

/// The operation in a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineOp<'a> {
    Read(&'a str),
    Write(&'a str),
    Acquire(&'a str),
    Release(&'a str),
    Request(&'a str),
    Fork(&'a str),
    Join(&'a str),
    Begin(Option<&'a str>),
    End(Option<&'a str>),
}

impl<'a> Line<'a> {
    /// Takes one line apart; `bytes` is without its line end. The error is a reason in words.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let text = str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            format!("invalid UTF-8 after {}", quote(&String::from_utf8_lossy(&bytes[..at])))
        })?;
        if text.is_empty() {
            return Err("empty line; expected thread|operation|location".to_owned());
        }
        let (thread, rest) = text.split_once('|').ok_or_else(|| {
            format!("expected '|' after the thread name, found only {}", quote(text))
        })?;
        let (op, loc) = rest.split_once('|').ok_or_else(|| {
            format!("expected '|' after the operation, found only {}", quote(rest))
        })?;
        check_name("thread name", thread)?;
        let op = LineOp::parse(op)?;
        if loc.is_empty() {
            return Err("expected a location after the last '|'".to_owned());
        }
        match loc.chars().find(|&c| c == '|' || (c.is_control() && c != '\t')) {
            Some(c) => Err(format!("{c:?} in the location {}", quote(loc))),
            None => Ok(Self { thread, op, loc }),
        }
    }
}

impl<'a> LineOp<'a> {
    /// The word for the operation.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Read(_) => "r",
            Self::Write(_) => "w",
            Self::Acquire(_) => "acq",
            Self::Release(_) => "rel",
            Self::Request(_) => "req",
            Self::Fork(_) => "fork",
            Self::Join(_) => "join",
            Self::Begin(_) => "begin",
            Self::End(_) => "end",
        }
    }

    /// What the operation works on.
    pub fn target(&self) -> Option<&'a str> {
        match *self {
            Self::Read(name)
            | Self::Write(name)
            | Self::Acquire(name)
            | Self::Release(name)
            | Self::Request(name)
            | Self::Fork(name)
            | Self::Join(name) => Some(name),
            Self::Begin(label) | Self::End(label) => label,
        }
    }

    fn parse(text: &'a str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("begin") {
            return Ok(Self::Begin(label(text, rest)?));
        }
        if let Some(rest) = text.strip_prefix("end") {
            return Ok(Self::End(label(text, rest)?));
        }
        let Some((word, rest)) = text.split_once('(') else {
            return Err(format!("unknown operation {}", quote(text)));
        };
        let (make, what): (fn(&'a str) -> Self, _) = match word {
            "r" => (Self::Read, "variable name"),
            "w" => (Self::Write, "variable name"),
            "acq" => (Self::Acquire, "lock name"),
            "rel" => (Self::Release, "lock name"),
            "req" => (Self::Request, "lock name"),
            "fork" => (Self::Fork, "thread name"),
            "join" => (Self::Join, "thread name"),
            _ => return Err(format!("unknown operation {}", quote(word))),
        };
        let Some(name) = rest.strip_suffix(')') else {
            return Err(format!("expected ')' at the end of the operation {}", quote(text)));
        };
        check_name(what, name)?;
        Ok(make(name))
    }
}

/// The label in what follows `begin` or `end`: none, `(label)`, or all of it.
fn label<'a>(op: &str, rest: &'a str) -> Result<Option<&'a str>, String> {
    let Some(inner) = rest.strip_prefix('(') else {
        return match rest.chars().find(|c| c.is_control()) {
            Some(c) => Err(format!("{c:?} in the label {}", quote(rest))),
            None => Ok((!rest.is_empty()).then_some(rest)),
        };
    };
    let Some(label) = inner.strip_suffix(')') else {
        return Err(format!("expected ')' at the end of the operation {}", quote(op)));
    };
    check_name("label", label)?;
    Ok(Some(label))
}

fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("empty {what}"));
    }
    match name.chars().find(|&c| c == ')' || c.is_control()) {
        Some(c) => Err(format!("{c:?} in the {what} {}", quote(name))),
        None => Ok(()),
    }
}

/// `text` in quotes, short enough for a message and with control characters made visible.
fn quote(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
