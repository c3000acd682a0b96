//! Calls of the JDK whose results are known as terms. All others give what was recorded.

use untorn_schedule::InputPlace;

use super::code::Call;
use super::machine::{Frame, Machine};
use super::value::{NULL, ObjectId, Value};
use crate::path::{Aspect, Source};
use crate::term::{BinOp, CmpOp, TermId};

/// The part of the heap that is what an atomic object holds.
const HELD: &str = "what an atomic object holds";

impl Machine<'_> {
    /// The result of a call that is not re-executed.
    pub(super) fn library(
        &mut self,
        frame: &Frame,
        call: &Call,
        arguments: &[Value],
        result: Value,
    ) -> Value {
        let depends = arguments.iter().any(|&value| self.depends(value));
        let is_input = matches!(
            (call.class.as_str(), call.name.as_str()),
            ("java/lang/System", "getProperty" | "getenv")
        );
        let is_atomic = call.class.starts_with("java/util/concurrent/atomic/Atomic");
        if !depends && !is_input && !is_atomic {
            return self.unboxed_object(result);
        }
        let term = match call.class.as_str() {
            "java/lang/String" => return self.text(call, arguments, result),
            "java/lang/System" => return self.given(call, arguments, result),
            "java/lang/Math" | "java/lang/StrictMath" => self.mathematics(call, arguments),
            "java/util/concurrent/atomic/AtomicInteger"
            | "java/util/concurrent/atomic/AtomicLong" => self.atomic(call, arguments, result),
            "java/lang/Integer"
            | "java/lang/Long"
            | "java/lang/Short"
            | "java/lang/Byte"
            | "java/lang/Character"
            | "java/lang/Boolean" => self.number(call, arguments, result),
            _ => None,
        };
        let found = match (term, result) {
            (Some(term), Value::Int(value, _))
                if self.value_of(term) == u64::from(value.cast_unsigned()) =>
            {
                Some(Value::Int(value, Some(term)))
            }
            (Some(term), Value::Long(value, _)) if self.value_of(term) == value.cast_unsigned() => {
                Some(Value::Long(value, Some(term)))
            }
            (Some(term), Value::Ref(object, _)) => {
                self.objects.get_mut(object).boxed = self.boxed_for_good(term);
                Some(Value::Ref(object, Some(term)))
            }
            (Some(_), Value::Top) => Some(Value::Top),
            (Some(_), _) => {
                let target = &frame.method.target;
                self.path.fidelity.diverge(|| {
                    format!("{}.{}: {} gives something else", target.class, target.name, call.name)
                });
                None
            }
            (None, _) => None,
        };
        found.unwrap_or_else(|| {
            if depends && result != Value::Top {
                self.concretise(&format!("{}.{}", call.class.replace('/', "."), call.name));
            }
            self.unboxed_object(result)
        })
    }

    fn value_of(&self, term: TermId) -> u64 {
        self.path.terms.value(term)
    }

    /// Whether it is, or holds, something that depends on inputs.
    fn depends(&self, value: Value) -> bool {
        match value {
            Value::Ref(object, None) if object != NULL => {
                let object = self.objects.get(object);
                object.source.is_some() || object.boxed.is_some()
            }
            other => other.term().is_some(),
        }
    }

    /// Small boxes are shared: what one holds says nothing of where it comes from.
    fn boxed_for_good(&self, term: TermId) -> Option<TermId> {
        let width = self.path.terms.width(term);
        let value = crate::term::signed(self.value_of(term), width);
        (!(-128..128).contains(&value)).then_some(term)
    }

    /// A box that comes from somewhere has its term again.
    fn unboxed_object(&self, value: Value) -> Value {
        match value {
            Value::Ref(object, None) if object != NULL => {
                Value::Ref(object, self.objects.get(object).boxed)
            }
            other => other,
        }
    }

    /// An object of the JDK was made.
    pub(super) fn library_made(&mut self, call: &Call, object: ObjectId, arguments: &[Value]) {
        let is_atomic = matches!(
            call.class.as_str(),
            "java/util/concurrent/atomic/AtomicInteger" | "java/util/concurrent/atomic/AtomicLong"
        );
        if is_atomic {
            let key = (object, self.code.field(HELD.to_owned()));
            let zero = if call.class.ends_with("Long") {
                Value::Long(0, None)
            } else {
                Value::Int(0, None)
            };
            self.heap.insert(key, arguments.first().copied().unwrap_or(zero));
        }
    }

    fn source_of(&self, value: Option<&Value>) -> Option<Source> {
        match value {
            Some(&Value::Ref(object, _)) if object != NULL => {
                self.objects.get(object).source.clone()
            }
            _ => None,
        }
    }

    fn text_of(&self, value: Option<&Value>) -> Option<std::rc::Rc<str>> {
        match value {
            Some(&Value::Ref(object, _)) if object != NULL => self.objects.get(object).text.clone(),
            _ => None,
        }
    }

    /// A property or a variable of the environment.
    fn given(&mut self, call: &Call, arguments: &[Value], result: Value) -> Value {
        let (Value::Ref(object, _), Some(name)) = (result, self.text_of(arguments.first())) else {
            return result;
        };
        let name = name.to_string();
        let place = match call.name.as_str() {
            "getProperty" => InputPlace::Property(name),
            _ => InputPlace::Environment(name),
        };
        // What is not given cannot be told from a default.
        if object != NULL && self.path.inputs.get(&place).is_some() {
            self.objects.get_mut(object).source = Some(Source::whole(place));
        }
        result
    }

    /// A method of a text that is an input.
    fn text(&mut self, call: &Call, arguments: &[Value], result: Value) -> Value {
        let bit = |own: &mut Self, term: Option<TermId>| {
            term.map(|term| own.path.terms.resize(term, 32, false))
        };
        let source = self.source_of(arguments.first());
        let term = match (call.name.as_str(), &source) {
            ("hashCode", Some(_)) => {
                if let (Value::Int(hash, _), Some(&Value::Ref(object, _))) =
                    (result, arguments.first())
                {
                    return Value::Hash(hash, object);
                }
                None
            }
            ("length", Some(source)) => self.path.var(source, Aspect::Length, 32),
            ("isEmpty", Some(source)) => {
                let length = self.path.var(source, Aspect::Length, 32);
                let empty = length.map(|length| self.path.terms.equals(length, 0));
                bit(self, empty)
            }
            ("charAt", Some(source)) => self.character(source, arguments.get(1)),
            ("startsWith", Some(source)) if call.parameters.len() == 1 => {
                let start = self.text_of(arguments.get(1));
                let term = start.and_then(|start| self.path.text_starts(source, &start, 0));
                bit(self, term)
            }
            ("equals", own) => {
                let other = self.source_of(arguments.get(1));
                let (source, text) = match (own, other) {
                    (Some(own), None) => (Some(own.clone()), self.text_of(arguments.get(1))),
                    (None, Some(other)) => (Some(other), self.text_of(arguments.first())),
                    _ => (None, None),
                };
                let term = source.zip(text).and_then(|(own, text)| self.path.text_is(&own, &text));
                bit(self, term)
            }
            _ => None,
        };
        match (term, result) {
            (Some(term), Value::Int(value, _))
                if self.value_of(term) == u64::from(value.cast_unsigned()) =>
            {
                Value::Int(value, Some(term))
            }
            (_, Value::Top) => result,
            _ => {
                self.concretise(&format!("java.lang.String.{}", call.name));
                result
            }
        }
    }

    fn character(&mut self, source: &Source, at: Option<&Value>) -> Option<TermId> {
        let Some(&Value::Int(at, None)) = at else { return None };
        let at = u32::try_from(at).ok().filter(|&at| at < crate::path::MAX_LENGTH)?;
        let unit = self.path.var(source, Aspect::Char(at), 16)?;
        Some(self.path.terms.resize(unit, 32, false))
    }

    /// Parsing, boxing and unboxing.
    fn number(&mut self, call: &Call, arguments: &[Value], result: Value) -> Option<TermId> {
        let width = if call.class == "java/lang/Long" { 64 } else { 32 };
        let first = *arguments.first()?;
        if let Some(source) = self.source_of(arguments.first()) {
            return match call.name.as_str() {
                "parseInt" | "parseLong" | "parseShort" | "parseByte" | "valueOf"
                    if call.parameters.len() == 1 && call.class != "java/lang/Boolean" =>
                {
                    self.path.var(&source, Aspect::Number, width)
                }
                "parseBoolean" | "valueOf" if call.class == "java/lang/Boolean" => {
                    let flag = self.path.var(&source, Aspect::Flag, 1)?;
                    Some(self.path.terms.resize(flag, 32, false))
                }
                _ => None,
            };
        }
        let own = match first {
            Value::Ref(object, None) => self.objects.get(object).boxed,
            other => other.term(),
        };
        match (call.name.as_str(), result) {
            ("valueOf", Value::Ref(..)) => own,
            ("intValue" | "shortValue" | "byteValue" | "charValue" | "booleanValue", _) => {
                own.map(|term| self.path.terms.resize(term, 32, true))
            }
            ("longValue", _) => own.map(|term| self.path.terms.resize(term, 64, true)),
            ("compare" | "compareTo", _) => {
                let [a, b] = [first, *arguments.get(1)?].map(|value| self.term_of(value, width));
                let ([a, b], (x, y)) = ([a?, b?], (a, b));
                let numbers = [a, b].map(|term| crate::term::signed(self.value_of(term), width));
                self.compared(x, numbers[0], y, numbers[1])
            }
            ("equals", _) => {
                let [a, b] = [first, *arguments.get(1)?].map(|value| self.term_of(value, width));
                let same = self.path.terms.cmp(CmpOp::Eq, a?, b?);
                Some(self.path.terms.resize(same, 32, false))
            }
            ("isDigit", _) => {
                let digit = self.path.within(own?, 0x30..0x3a);
                Some(self.path.terms.resize(digit, 32, false))
            }
            _ => None,
        }
    }

    /// A number as a term; that of a box only if it is known.
    fn term_of(&mut self, value: Value, width: u8) -> Option<TermId> {
        match value.plain_hash() {
            Value::Int(number, term) => {
                let bits = i64::from(number).cast_unsigned();
                Some(self.term_or(term, bits, width))
            }
            Value::Long(number, term) => Some(self.term_or(term, number.cast_unsigned(), width)),
            Value::Ref(object, term) if object != NULL => term.or(self.objects.get(object).boxed),
            _ => None,
        }
    }

    fn mathematics(&mut self, call: &Call, arguments: &[Value]) -> Option<TermId> {
        let width = match arguments.first()? {
            Value::Long(..) => 64,
            Value::Int(..) => 32,
            _ => return None,
        };
        let a = self.term_of(*arguments.first()?, width)?;
        let b = arguments.get(1).and_then(|&value| self.term_of(value, width));
        let terms = &mut self.path.terms;
        Some(match (call.name.as_str(), b) {
            ("abs", None) => {
                let zero = terms.constant(width, 0);
                let (is_negative, minus) =
                    (terms.cmp(CmpOp::Less, a, zero), terms.bin(BinOp::Sub, zero, a));
                terms.ite(is_negative, minus, a)
            }
            ("max", Some(b)) => {
                let less = terms.cmp(CmpOp::Less, a, b);
                terms.ite(less, b, a)
            }
            ("min", Some(b)) => {
                let less = terms.cmp(CmpOp::Less, a, b);
                terms.ite(less, a, b)
            }
            ("addExact", Some(b)) => terms.bin(BinOp::Add, a, b),
            ("subtractExact", Some(b)) => terms.bin(BinOp::Sub, a, b),
            _ => return None,
        })
    }

    /// What an atomic object holds before and after; gives the result.
    fn atomic(&mut self, call: &Call, arguments: &[Value], result: Value) -> Option<TermId> {
        let Some(&Value::Ref(object, _)) = arguments.first() else { return None };
        let width = if call.class.ends_with("Long") { 64 } else { 32 };
        let key = (object, self.code.field(HELD.to_owned()));
        let own = self.heap.remove(&key)?;
        let old = self.term_of(own, width)?;
        let operand = arguments.get(1).and_then(|&value| self.term_of(value, width));
        let one = self.path.terms.constant(width, 1);
        let name = call.name.as_str();
        let new = match name {
            "get" | "intValue" | "longValue" | "getPlain" | "getAcquire" => old,
            "set" | "lazySet" | "getAndSet" | "setPlain" | "setRelease" => operand?,
            "incrementAndGet" | "getAndIncrement" => self.path.terms.bin(BinOp::Add, old, one),
            "decrementAndGet" | "getAndDecrement" => self.path.terms.bin(BinOp::Sub, old, one),
            "addAndGet" | "getAndAdd" => self.path.terms.bin(BinOp::Add, old, operand?),
            // Whether it succeeded is a constant.
            "compareAndSet" => match result {
                Value::Int(0, _) => old,
                _ => arguments.get(2).and_then(|&value| self.term_of(value, width))?,
            },
            _ => return None,
        };
        let gives_old = name.starts_with("getAnd");
        let given = if gives_old { old } else { new };
        // The object holds something else if code that is not re-executed has changed it.
        let is_right = match result {
            Value::Int(value, _) if name != "compareAndSet" => {
                self.value_of(given) == u64::from(value.cast_unsigned())
            }
            Value::Long(value, _) => self.value_of(given) == value.cast_unsigned(),
            _ => true,
        };
        if !is_right {
            return None;
        }
        let bits = self.value_of(new);
        let held = match width {
            64 => Value::Long(bits.cast_signed(), Some(new)),
            _ => Value::Int((bits as u32).cast_signed(), Some(new)),
        };
        self.heap.insert(key, held);
        (name != "compareAndSet").then_some(given)
    }
}
