//! What threads call.

use std::fmt::{self, Write};
use std::sync::Arc;

use crate::history::{CallId, Outcome};

/// A method of the object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Operation {
    pub name: String,
    /// As in a class file: `(ILjava/lang/Object;)Z`.
    pub descriptor: String,
}

impl Operation {
    /// The descriptors of its parameters.
    pub fn parameters(&self) -> Vec<&str> {
        parameters(&self.descriptor)
    }

    /// Whether it returns nothing.
    pub fn is_void(&self) -> bool {
        self.descriptor.ends_with(")V")
    }
}

/// `push(Object)`
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types: Vec<String> = self.parameters().into_iter().map(type_name).collect();
        write!(f, "{}({})", self.name, types.join(", "))
    }
}

fn parameters(descriptor: &str) -> Vec<&str> {
    let inner = descriptor.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let mut rest = inner.map_or("", |(inner, _)| inner);
    let mut all = Vec::new();
    while !rest.is_empty() {
        let dimensions = rest.len() - rest.trim_start_matches('[').len();
        let length = match rest[dimensions..].starts_with('L') {
            true => rest.find(';').map_or(rest.len(), |at| at + 1),
            false => (dimensions + 1).min(rest.len()),
        };
        all.push(&rest[..length]);
        rest = &rest[length..];
    }
    all
}

fn type_name(descriptor: &str) -> String {
    let inner = descriptor.trim_start_matches('[');
    let name = match inner {
        "I" => "int",
        "J" => "long",
        "S" => "short",
        "B" => "byte",
        "C" => "char",
        "Z" => "boolean",
        "F" => "float",
        "D" => "double",
        class => {
            let class = class.strip_prefix('L').unwrap_or(class).trim_end_matches(';');
            class.rsplit(['/', '$']).next().unwrap_or(class)
        }
    };
    name.to_owned() + &"[]".repeat(descriptor.len() - inner.len())
}

/// One call. An argument is a small number, of which whoever runs the scenario makes a value of the parameter's type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Call {
    pub operation: Arc<Operation>,
    pub arguments: Vec<u32>,
}

/// `put(1, 2)`; an argument is shown as the value that is made of its number.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = self.operation.parameters();
        let shown = types.iter().zip(&self.arguments).map(|(kind, &number)| argument(kind, number));
        write!(f, "{}({})", self.operation.name, shown.collect::<Vec<_>>().join(", "))
    }
}

fn argument(kind: &str, number: u32) -> String {
    let letter = char::from(b'a' + (number % 26) as u8);
    match kind {
        "Z" | "Ljava/lang/Boolean;" => (number % 2 == 1).to_string(),
        "C" | "Ljava/lang/Character;" => format!("'{letter}'"),
        "Ljava/lang/String;" | "Ljava/lang/CharSequence;" => format!("\"{letter}\""),
        array if array.starts_with('[') => format!("[{number}, {}]", number + 1),
        class if class.starts_with("Ljava/util/function/") => {
            format!("{} {number}", type_name(class))
        }
        "Ljava/util/Collection;"
        | "Ljava/util/List;"
        | "Ljava/util/Set;"
        | "Ljava/lang/Iterable;" => {
            format!("[{number}, {}]", number + 1)
        }
        "Ljava/util/Map;" => format!("{{{number}={number}}}"),
        _ => number.to_string(),
    }
}

/// How the object is made.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Constructor {
    pub descriptor: String,
    pub arguments: Vec<u32>,
}

impl Constructor {
    pub fn parameter_count(&self) -> usize {
        parameters(&self.descriptor).len()
    }
}

/// A part of a scenario: who makes its calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    Before,
    /// Counted from 1.
    Thread(usize),
    After,
}

/// Calls of a new object: some before the threads start, those of each thread, and some after all threads ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scenario {
    /// The class of the object.
    pub class: String,
    pub constructor: Constructor,
    /// Before, each thread, after.
    pub sections: Vec<Vec<Call>>,
}

impl Scenario {
    pub fn section(&self, index: usize) -> Section {
        match index {
            0 => Section::Before,
            last if last + 1 == self.sections.len() => Section::After,
            thread => Section::Thread(thread),
        }
    }

    /// The calls of the threads.
    pub fn threads(&self) -> &[Vec<Call>] {
        let last = self.sections.len().saturating_sub(1);
        self.sections.get(1..last).unwrap_or_default()
    }

    pub fn call_count(&self) -> usize {
        self.sections.iter().map(Vec::len).sum()
    }

    /// For whoever runs it: `class|constructor|before|thread|…|after`.
    pub fn to_text(&self) -> String {
        let Constructor { descriptor, arguments } = &self.constructor;
        let mut text = format!("{}|{descriptor}:{}", self.class, numbers(arguments));
        for section in &self.sections {
            let calls = section.iter().map(|Call { operation, arguments }| {
                format!("{}{}:{}", operation.name, operation.descriptor, numbers(arguments))
            });
            let _ = write!(text, "|{}", calls.collect::<Vec<_>>().join(" "));
        }
        text
    }

    /// The same read back; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('|');
        let class = parts.next().filter(|class| !class.is_empty())?.to_owned();
        let (descriptor, arguments) = parts.next()?.rsplit_once(':')?;
        let constructor =
            Constructor { descriptor: descriptor.to_owned(), arguments: parse_numbers(arguments)? };
        let section =
            |text: &str| text.split(' ').filter(|own| !own.is_empty()).map(parse_call).collect();
        let sections: Option<Vec<Vec<Call>>> = parts.map(section).collect();
        Some(Self { class, constructor, sections: sections.filter(|all| all.len() >= 2)? })
    }

    /// `thread 1: push(1) → true`; `None` if there is no such call.
    pub fn sentence(&self, id: CallId, outcome: &Outcome) -> Option<String> {
        let call = self.sections.get(id.section)?.get(id.index)?;
        let who = match self.section(id.section) {
            Section::Before => "before".to_owned(),
            Section::Thread(number) => format!("thread {number}"),
            Section::After => "after".to_owned(),
        };
        Some(match outcome {
            Outcome::Returned(_) if call.operation.is_void() => format!("{who}: {call}"),
            outcome => format!("{who}: {call} → {outcome}"),
        })
    }

    /// Whether every thread of the other one has a thread of its own here that makes the same calls by name, in the same
    /// order, and perhaps others.
    pub fn contains_threads_of(&self, other: &Self) -> bool {
        let has = |thread: &[Call], wanted: &[Call]| {
            let mut own = thread.iter();
            wanted.iter().all(|call| own.any(|one| one.operation == call.operation))
        };
        fn all(
            own: &[&Vec<Call>],
            wanted: &[Vec<Call>],
            has: &dyn Fn(&[Call], &[Call]) -> bool,
        ) -> bool {
            let Some((first, rest)) = wanted.split_first() else { return true };
            (0..own.len()).any(|at| {
                let others: Vec<&Vec<Call>> =
                    own.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, one)| *one).collect();
                has(own[at], first) && all(&others, rest, has)
            })
        }
        all(&self.threads().iter().collect::<Vec<_>>(), other.threads(), &has)
    }
}

fn parse_call(text: &str) -> Option<Call> {
    let (operation, arguments) = text.rsplit_once(':')?;
    let (name, _) = operation.split_once('(')?;
    let operation =
        Operation { name: name.to_owned(), descriptor: operation[name.len()..].to_owned() };
    Some(Call { operation: Arc::new(operation), arguments: parse_numbers(arguments)? })
}

fn parse_numbers(text: &str) -> Option<Vec<u32>> {
    text.split(',').filter(|own| !own.is_empty()).map(|own| own.parse().ok()).collect()
}

fn numbers(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, descriptor: &str, arguments: &[u32]) -> Call {
        let operation = Operation { name: name.to_owned(), descriptor: descriptor.to_owned() };
        Call { operation: Arc::new(operation), arguments: arguments.to_vec() }
    }

    #[test]
    fn operations_and_calls_are_shown_as_in_java() {
        let put = call("put", "(I[JLjava/util/Map;LLeaf;)Z", &[1, 2, 3, 0]);
        assert_eq!(put.operation.parameters(), ["I", "[J", "Ljava/util/Map;", "LLeaf;"]);
        assert_eq!(put.operation.to_string(), "put(int, long[], Map, Leaf)");
        assert_eq!(put.to_string(), "put(1, [2, 3], {3=3}, 0)");
        assert_eq!(call("add", "(Ljava/lang/String;)V", &[1]).to_string(), "add(\"b\")");
    }

    #[test]
    fn a_scenario_contains_the_threads_of_smaller_ones() {
        let [push, pop] = ["push", "pop"].map(|name| call(name, "()V", &[]));
        let scenario = |threads: &[&[&Call]]| {
            let list = |calls: &[&Call]| calls.iter().map(|&call| call.clone()).collect::<Vec<_>>();
            let mut sections = vec![Vec::new()];
            sections.extend(threads.iter().map(|calls| list(calls)));
            sections.push(Vec::new());
            let constructor = Constructor { descriptor: "()V".to_owned(), arguments: Vec::new() };
            Scenario { class: "S".to_owned(), constructor, sections }
        };
        let small = scenario(&[&[&push], &[&pop]]);
        assert!(scenario(&[&[&pop, &pop], &[&pop, &push]]).contains_threads_of(&small));
        assert!(
            !scenario(&[&[&push, &pop], &[&push]])
                .contains_threads_of(&scenario(&[&[&pop], &[&pop]]))
        );
        assert!(!scenario(&[&[&push], &[&push]]).contains_threads_of(&small));
        assert_eq!(small.to_text(), "S|()V:||push()V:|pop()V:|");
        assert_eq!(Scenario::parse(&small.to_text()), Some(small));
        for text in
            ["", "S", "S|()V:", "S|()V:|", "S|()V|||", "S|()V:|push||", "S|()V:|push()V:x||"]
        {
            assert_eq!(Scenario::parse(text), None, "{text}");
        }
    }
}
