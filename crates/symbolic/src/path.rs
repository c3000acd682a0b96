//! The path of one run: the branches that depend on inputs, with what they depend on. No language is in here.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashSet;
use untorn_schedule::{InputPlace, Inputs};

use crate::term::{BinOp, CmpOp, TermId, Terms, VarId, signed};

/// Characters of an input that are variables. A longer text keeps what it has behind them.
pub const MAX_LENGTH: u32 = 24;

/// A part of an input: all of it, or a word or a line of standard input.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Source {
    pub place: InputPlace,
    /// The bytes of it, if it is not all.
    pub span: Option<(usize, usize)>,
}

impl Source {
    pub const fn whole(place: InputPlace) -> Self {
        Self { place, span: None }
    }
}

/// What of an input a variable is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Aspect {
    /// The number that it is written as.
    Number,
    /// Whether it says `true`.
    Flag,
    Length,
    /// The character at this position.
    Char(u32),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Var {
    pub source: Source,
    pub aspect: Aspect,
}

/// A place in a [`Flow`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CodePlace {
    pub flow: u32,
    pub index: u32,
}

/// A branch that depends on inputs, when it was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub at: CodePlace,
    pub thread: u32,
    /// Of [`Path::activations`].
    pub activation: u32,
    /// Which way it went.
    pub outcome: u32,
    /// What holds because it went this way.
    pub condition: TermId,
    pub others: Vec<Way>,
}

/// Another way that a branch may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    pub outcome: u32,
    pub condition: TermId,
    /// Where it leads to in the same flow; `None` if it leaves it.
    pub target: Option<u32>,
}

/// A method while it runs: its code, and the call it is made by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Activation {
    pub flow: u32,
    pub caller: Option<(u32, u32)>,
}

/// How much an instruction matters for who looks for torn blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Interest {
    #[default]
    None,
    /// A call: who knows what it does.
    Call,
    /// An access or an operation of a lock.
    Access,
}

/// The control flow of a piece of code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Flow {
    /// The same in all runs of the program.
    pub name: String,
    /// By instruction: those that may come next.
    pub next: Vec<Vec<u32>>,
    pub interest: Vec<Interest>,
}

impl Flow {
    /// Whether there is a way from one instruction to another.
    pub fn reaches(&self, from: u32, to: u32) -> bool {
        self.distance(from, |index| (index == to).then_some(0)).is_some()
    }

    /// The length of the shortest way to a goal, and what the goal costs besides.
    pub fn distance(&self, from: u32, goal: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let mut seen = vec![false; self.next.len()];
        let mut round = vec![from];
        let mut best: Option<u32> = None;
        let mut length = 0;
        while !round.is_empty() && best.is_none_or(|best| best > length) {
            let mut later = Vec::new();
            for index in round {
                let Some(seen) = seen.get_mut(index as usize).filter(|seen| !**seen) else {
                    continue;
                };
                *seen = true;
                if let Some(more) = goal(index) {
                    best = Some(best.map_or(length + more, |best| best.min(length + more)));
                }
                later.extend(&self.next[index as usize]);
            }
            round = later;
            length += 1;
        }
        best
    }
}

/// How well a run could be followed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fidelity {
    pub instructions: u64,
    /// Where the re-execution and the recording disagreed, in words; the first few.
    pub divergences: Vec<String>,
    pub divergence_count: u64,
    /// What depends on inputs and was taken for a constant from there on, by name.
    pub concretised: BTreeMap<String, u64>,
    /// The recording ends before the run does.
    pub is_cut: bool,
}

impl Fidelity {
    const NAMED: usize = 5;

    pub fn diverge(&mut self, words: impl FnOnce() -> String) {
        self.divergence_count += 1;
        if self.divergences.len() < Self::NAMED {
            self.divergences.push(words());
        }
    }
}

/// The path of a run.
#[derive(Clone, Debug, Default)]
pub struct Path {
    pub terms: Terms,
    pub vars: Vec<Var>,
    /// What holds of the variables whatever the inputs are.
    pub limits: Vec<TermId>,
    pub steps: Vec<Step>,
    pub activations: Vec<Activation>,
    pub flows: Vec<Flow>,
    /// What was executed.
    pub covered: FxHashSet<(u32, u32)>,
    /// The inputs of the run, as far as they are known.
    pub inputs: Inputs,
    /// Those of them that have to stay as they are.
    pub fixed: Vec<InputPlace>,
    pub fidelity: Fidelity,
}

impl Path {
    fn text_of(&self, source: &Source) -> Option<&str> {
        if self.fixed.contains(&source.place) {
            return None;
        }
        let text = self.inputs.get(&source.place)?;
        match source.span {
            None => Some(text),
            Some((from, to)) => text.get(from..to),
        }
    }

    /// The variable of a part of an input, of that width, with its value in the run. `None` if the input has no such part.
    pub fn var(&mut self, source: &Source, aspect: Aspect, width: u8) -> Option<TermId> {
        let text = self.text_of(source)?;
        let value = match aspect {
            Aspect::Number => text.trim_start_matches('+').parse::<i64>().ok()?.cast_unsigned(),
            Aspect::Flag => text.eq_ignore_ascii_case("true").into(),
            Aspect::Length => text.encode_utf16().count() as u64,
            Aspect::Char(at) => text.encode_utf16().nth(at as usize).map_or(0, u64::from),
        };
        let var = Var { source: source.clone(), aspect };
        let is_new = !self.vars.contains(&var);
        if is_new {
            self.vars.push(var.clone());
        }
        let id = self.vars.iter().position(|own| *own == var)? as u32;
        let term = self.terms.var(width, VarId(id), value);
        if is_new {
            self.limit(aspect, term);
        }
        Some(term)
    }

    /// Inputs stay short, and can be typed.
    fn limit(&mut self, aspect: Aspect, term: TermId) {
        let value = self.terms.value(term);
        let range = match aspect {
            Aspect::Number | Aspect::Flag => return,
            Aspect::Length => 0..u64::from(MAX_LENGTH) + 1,
            Aspect::Char(_) => 0x21..0x7f,
        };
        let within = self.within(term, range);
        let as_it_is = self.terms.equals(term, value);
        let limit = self.terms.or(within, as_it_is);
        self.limits.push(limit);
    }

    /// Whether a vector, whose highest bit is not set, is within a range.
    pub fn within(&mut self, term: TermId, range: Range<u64>) -> TermId {
        let width = self.terms.width(term);
        let low = self.terms.constant(width, range.start);
        let high = self.terms.constant(width, range.end);
        let too_low = self.terms.cmp(CmpOp::Less, term, low);
        let low_enough = self.terms.cmp(CmpOp::Less, term, high);
        let high_enough = self.terms.not(too_low);
        self.terms.bin(BinOp::And, high_enough, low_enough)
    }

    /// Whether a text says this.
    pub fn text_is(&mut self, source: &Source, text: &str) -> Option<TermId> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let length = self.var(source, Aspect::Length, 32)?;
        let fits = self.terms.equals(length, units.len() as u64);
        let start = self.text_starts(source, text, 0)?;
        Some(self.terms.and(fits, start))
    }

    /// Whether a text has these characters from a position on.
    pub fn text_starts(&mut self, source: &Source, text: &str, from: u32) -> Option<TermId> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let end = u64::from(from) + units.len() as u64;
        if end > u64::from(MAX_LENGTH) {
            return Some(self.terms.constant(1, 0)).filter(|_| {
                let own = self.text_of(source).unwrap_or_default();
                !own.encode_utf16().skip(from as usize).take(units.len()).eq(units)
            });
        }
        let length = self.var(source, Aspect::Length, 32)?;
        let least = self.terms.constant(32, end);
        let short = self.terms.cmp(CmpOp::Less, length, least);
        let mut all = vec![self.terms.not(short)];
        for (at, unit) in units.into_iter().enumerate() {
            let own = self.var(source, Aspect::Char(from + at as u32), 16)?;
            all.push(self.terms.equals(own, unit.into()));
        }
        Some(self.terms.all(all))
    }

    /// The inputs that values of variables mean; what no variable is about stays as it is.
    pub fn inputs_of(&self, values: &dyn Fn(VarId) -> Option<u64>) -> Inputs {
        let mut parts: BTreeMap<&Source, Vec<(Aspect, u64)>> = BTreeMap::new();
        for (id, var) in self.vars.iter().enumerate() {
            let id = VarId(id as u32);
            if let Some(value) = values(id) {
                let width = self.terms.find_var(id).map_or(64, |term| self.terms.width(term));
                let value = match var.aspect {
                    Aspect::Number => signed(value, width).cast_unsigned(),
                    _ => value,
                };
                parts.entry(&var.source).or_default().push((var.aspect, value));
            }
        }
        let mut inputs = self.inputs.clone();
        // From the end, so that the places of those before stay where they are.
        for (source, values) in parts.into_iter().rev() {
            let Some(old) = self.text_of(source) else { continue };
            let new = written(old, &values);
            if new == old {
                continue;
            }
            let whole = inputs.get(&source.place).unwrap_or_default();
            let value = match source.span {
                None => new,
                Some((from, to)) => format!("{}{new}{}", &whole[..from], &whole[to..]),
            };
            inputs.set(source.place.clone(), value);
        }
        inputs
    }
}

/// The text of which aspects have these values.
fn written(old: &str, values: &[(Aspect, u64)]) -> String {
    let units: Vec<u16> = old.encode_utf16().collect();
    for &(aspect, value) in values {
        match aspect {
            Aspect::Number if old.parse::<i64>().ok() != Some(value.cast_signed()) => {
                return value.cast_signed().to_string();
            }
            Aspect::Flag if old.eq_ignore_ascii_case("true") != (value == 1) => {
                return (value == 1).to_string();
            }
            _ => {}
        }
    }
    let length = values.iter().find(|(aspect, _)| *aspect == Aspect::Length);
    let length = length.map_or(units.len(), |&(_, length)| length as usize);
    let mut new = units;
    new.resize(length, u16::from(b'a'));
    for &(aspect, value) in values {
        if let Aspect::Char(at) = aspect
            && let Some(unit) = new.get_mut(at as usize)
        {
            *unit = value as u16;
        }
    }
    String::from_utf16_lossy(&new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_inputs() {
        let inputs = Inputs::arguments(["100", "stop"]);
        let mut path = Path { inputs, ..Path::default() };
        let argument = |at| Source::whole(InputPlace::Argument(at));
        assert!(path.var(&argument(0), Aspect::Number, 32).is_some());
        let is_start = path.text_is(&argument(1), "go!").expect("a text");
        assert_eq!(path.terms.value(is_start), 0);
        let new = path.inputs_of(&|VarId(id)| Some([7, 3, 103, 111, 33][id as usize]));
        assert_eq!(new, Inputs::arguments(["7", "go!"]));
    }

    #[test]
    fn numbers_below_zero_are_written_so() {
        for (width, bits) in [(32, 0xffff_fff9), (64, u64::MAX - 6)] {
            let mut path = Path { inputs: Inputs::arguments(["100"]), ..Path::default() };
            let argument = Source::whole(InputPlace::Argument(0));
            path.var(&argument, Aspect::Number, width).expect("a number");
            assert_eq!(path.inputs_of(&|_| Some(bits)), Inputs::arguments(["-7"]));
        }
    }

    #[test]
    fn what_has_to_stay_is_no_variable() {
        let inputs = Inputs::arguments(["100"]);
        let fixed = vec![InputPlace::Argument(0)];
        let mut path = Path { inputs, fixed, ..Path::default() };
        let argument = Source::whole(InputPlace::Argument(0));
        assert_eq!(path.var(&argument, Aspect::Number, 32), None);
        assert_eq!(path.text_is(&argument, "5"), None);
    }

    #[test]
    fn words_of_standard_input_are_replaced_in_place() {
        let inputs: Inputs =
            [(InputPlace::StandardInput, "add 5\nadd 77\n".to_owned())].into_iter().collect();
        let mut path = Path { inputs, ..Path::default() };
        let word = |from, to| Source { place: InputPlace::StandardInput, span: Some((from, to)) };
        path.var(&word(4, 5), Aspect::Number, 32).expect("a number");
        path.var(&word(10, 12), Aspect::Number, 32).expect("a number");
        let new = path.inputs_of(&|VarId(id)| Some([1000, 3][id as usize]));
        assert_eq!(new.get(&InputPlace::StandardInput), Some("add 1000\nadd 3\n"));
    }

    #[test]
    fn the_nearest_goal_counts() {
        let next = vec![vec![1, 3], vec![2], vec![], vec![2]];
        let flow = Flow { next, ..Flow::default() };
        assert!(flow.reaches(0, 2) && !flow.reaches(2, 0));
        assert_eq!(flow.distance(0, |at| (at == 2).then_some(5)), Some(7));
        assert_eq!(flow.distance(2, |at| (at == 0).then_some(0)), None);
    }
}
