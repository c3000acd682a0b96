//! A recorded schedule, its bytes and its text.
//!
//! **Bytes.** A step is two varints (seven bits a byte, lowest first, the high bit says that more
//! follows): `thread * 8 + reason`, then `events`. There is no header and no reference to an
//! earlier step, so pieces encoded one after the other can be concatenated: a recorder streams them
//! out as turns end. The container that holds the bytes has the version and the checksum.
//!
//! **Text.** One step a line, `#THREAD EVENTS REASON`; lines that are empty or start with `//` or
//! `;` do not count.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use untorn_trace::ids::ThreadId;

use crate::Reason;

/// One turn: the thread, the number of its events, and why the turn ended.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    pub thread: ThreadId,
    pub events: u64,
    pub reason: Reason,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {} {}", self.thread.0, self.events, self.reason)
    }
}

/// All turns of a run, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    pub steps: Vec<Step>,
}

/// Why bytes or a text are not a schedule.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ScheduleError {
    #[error("offset {offset}: the schedule ends within a step")]
    Truncated { offset: usize },
    #[error("offset {offset}: a number does not fit its field")]
    TooLarge { offset: usize },
    #[error("line {line}: expected {expected}, found '{found}'")]
    Text { line: usize, expected: &'static str, found: String },
}

impl Schedule {
    /// The bytes of some steps. Pieces can be concatenated.
    pub fn encode_steps(steps: &[Step]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(steps.len() * 3);
        for step in steps {
            put_varint(&mut bytes, (u64::from(step.thread.0) << 3) | code_of(step.reason));
            put_varint(&mut bytes, step.events);
        }
        bytes
    }

    /// The number of preemptions: a thread was stopped that could have continued, and another one ran.
    pub fn preemptions(steps: &[Step]) -> u64 {
        // Turns without events are an artefact of following a schedule.
        let mut ran = steps.iter().filter(|step| step.events > 0).peekable();
        let mut count = 0;
        while let Some(step) = ran.next() {
            let stopped = matches!(step.reason, Reason::Budget | Reason::Plan | Reason::Held);
            count +=
                u64::from(stopped && ran.peek().is_some_and(|next| next.thread != step.thread));
        }
        count
    }

    pub fn decode(bytes: &[u8]) -> Result<Vec<Step>, ScheduleError> {
        let mut steps = Vec::new();
        let mut offset = 0;
        while offset < bytes.len() {
            let start = offset;
            let head = varint(bytes, &mut offset)?;
            let thread =
                u32::try_from(head >> 3).map_err(|_| ScheduleError::TooLarge { offset: start })?;
            // Three bits, and a reason for each.
            let reason = Reason::ALL[(head & 7) as usize];
            let events = varint(bytes, &mut offset)?;
            steps.push(Step { thread: ThreadId(thread), events, reason });
        }
        Ok(steps)
    }
}

impl From<Vec<Step>> for Schedule {
    fn from(steps: Vec<Step>) -> Self {
        Self { steps }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let mut steps = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if !(line.is_empty() || line.starts_with("//") || line.starts_with(';')) {
                steps.push(step_of_line(line, i + 1)?);
            }
        }
        Ok(Self { steps })
    }
}

fn step_of_line(line: &str, number: usize) -> Result<Step, ScheduleError> {
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or("");
    let fail = |expected, found: &str| ScheduleError::Text {
        line: number,
        expected,
        found: found.to_owned(),
    };
    let (thread, events, reason, rest) = (word(), word(), word(), word());
    let id = thread.strip_prefix('#').and_then(|id| id.parse().ok());
    let thread = ThreadId(id.ok_or_else(|| fail("a thread such as #0", thread))?);
    let events = events.parse().map_err(|_| fail("a number of events", events))?;
    let reason = Reason::ALL
        .into_iter()
        .find(|known| known.word() == reason)
        .ok_or_else(|| fail("a reason such as 'blocked'", reason))?;
    if rest.is_empty() {
        Ok(Step { thread, events, reason })
    } else {
        Err(fail("the end of the line", rest))
    }
}

/// The position in [`Reason::ALL`], which is what files hold and must never change.
const fn code_of(reason: Reason) -> u64 {
    reason as u64
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn varint(bytes: &[u8], offset: &mut usize) -> Result<u64, ScheduleError> {
    let start = *offset;
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*offset).ok_or(ScheduleError::Truncated { offset: start })?;
        *offset += 1;
        let part = u64::from(byte & 0x7f);
        if (part << shift) >> shift != part {
            return Err(ScheduleError::TooLarge { offset: start });
        }
        value |= part << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(ScheduleError::TooLarge { offset: start })
}
