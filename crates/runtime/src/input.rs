//! The bytes that the program read from standard input. They are stored in the trace, and a replay gets them from
//! there.

use std::collections::VecDeque;
use std::path::Path;

use crate::sync::Lock;

/// Tags of answers in the section.
const READ: u8 = 0;
const AVAILABLE: u8 = 1;

/// An answer of standard input: its tag, its number and, if something was read, so many bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Bytes(Vec<u8>),
    End,
    /// So many bytes could be read without waiting.
    Available(i32),
}

impl Answer {
    fn encode(&self, out: &mut Vec<u8>) {
        let (mark, number, bytes) = match self {
            Self::Bytes(bytes) => (READ, bytes.len() as i32, bytes.as_slice()),
            Self::End => (READ, -1, &[][..]),
            Self::Available(number) => (AVAILABLE, *number, &[][..]),
        };
        out.push(mark);
        out.extend(number.to_le_bytes());
        out.extend(bytes);
    }

    /// The first answer and the rest; `None` at the end, and for malformed input.
    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&mark, rest) = bytes.split_first()?;
        let (number, rest) = rest.split_first_chunk()?;
        let number = i32::from_le_bytes(*number);
        match (mark, usize::try_from(number)) {
            (READ, Err(_)) => Some((Self::End, rest)),
            (READ, Ok(length)) => {
                let (read, rest) = rest.split_at_checked(length)?;
                Some((Self::Bytes(read.to_vec()), rest))
            }
            (AVAILABLE, _) => Some((Self::Available(number), rest)),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
pub struct Input {
    /// Answers that are not written yet, encoded.
    answered: Lock<Vec<u8>>,
    /// Answers of the run that is replayed.
    known: Lock<VecDeque<Answer>>,
}

impl Input {
    /// With the answers of an earlier run.
    pub fn new(earlier: Option<&Path>) -> std::io::Result<Self> {
        let bytes = earlier.map(std::fs::read).transpose()?.unwrap_or_default();
        let mut known = VecDeque::new();
        let mut rest = bytes.as_slice();
        while let Some((answer, remaining)) = Answer::decode(rest) {
            known.push_back(answer);
            rest = remaining;
        }
        Ok(Self { known: Lock::new(known), ..Self::default() })
    }

    /// Whether the next question has a recorded answer.
    pub fn is_known(&self) -> bool {
        !self.known.lock().is_empty()
    }

    /// The bytes that were read, at most so many; `None` if there is no recorded answer.
    pub fn read(&self, most: usize) -> Option<Answer> {
        let mut known = self.known.lock();
        // A program that reads in another way than in the recorded run gets the same bytes.
        while matches!(known.front(), Some(Answer::Available(_))) {
            known.pop_front();
        }
        match known.front_mut()? {
            Answer::Bytes(bytes) if bytes.len() > most => {
                let rest = bytes.split_off(most);
                Some(Answer::Bytes(std::mem::replace(bytes, rest)))
            }
            _ => known.pop_front(),
        }
    }

    pub fn available(&self) -> Option<i32> {
        let mut known = self.known.lock();
        let Some(&Answer::Available(number)) = known.front() else { return None };
        known.pop_front();
        Some(number)
    }

    pub fn keep(&self, answer: &Answer) {
        answer.encode(&mut self.answered.lock());
    }

    /// The answers since the last call.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.answered.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_back_as_they_were_kept() {
        let kept = Input::default();
        let hello = Answer::Bytes(b"hello".to_vec());
        for answer in [&hello, &Answer::Available(3), &Answer::End] {
            kept.keep(answer);
        }
        let bytes = kept.take();
        let (first, rest) = Answer::decode(&bytes).expect("three answers");
        let (second, rest) = Answer::decode(rest).expect("two answers");
        let (third, rest) = Answer::decode(rest).expect("an answer");
        assert_eq!((first, second, third), (hello, Answer::Available(3), Answer::End));
        assert!(rest.is_empty() && kept.take().is_empty());
        for cut in 0..bytes.len() {
            let mut rest = &bytes[..cut];
            while let Some((_, remaining)) = Answer::decode(rest) {
                rest = remaining;
            }
        }
    }

    #[test]
    fn who_reads_less_at_once_reads_the_rest_later() {
        let input = Input::default();
        let mut known = input.known.lock();
        known.extend([Answer::Available(9), Answer::Bytes(b"abc".to_vec()), Answer::End]);
        drop(known);
        assert_eq!(input.read(2), Some(Answer::Bytes(b"ab".to_vec())));
        assert_eq!(input.available(), None);
        assert_eq!(input.read(2), Some(Answer::Bytes(b"c".to_vec())));
        assert_eq!(input.read(2), Some(Answer::End));
        assert_eq!(input.read(2), None);
    }
}
