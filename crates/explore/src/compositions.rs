//! Calls that look meant to be one step: what a static analysis says of the program, see the crate `compositions`.

use rustc_hash::FxHashMap;

/// One call of a composition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComposedCall {
    /// Where in the code of the method that makes it.
    pub pc: u32,
    /// `java.util.Map.remove`
    pub api: String,
    /// The class of it: `java.util.Map`.
    pub class: String,
    pub result: ResultKind,
}

/// What a call gives back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResultKind {
    /// Nothing, or nothing that an answer is made of.
    None,
    Bool,
    Number,
    Object,
}

impl ResultKind {
    /// By the descriptor of what is called.
    pub fn of(descriptor: &str) -> Self {
        match descriptor.rsplit(')').next().and_then(|result| result.bytes().next()) {
            Some(b'Z') => Self::Bool,
            Some(b'B' | b'S' | b'C' | b'I' | b'J') => Self::Number,
            Some(b'L' | b'[') => Self::Object,
            _ => Self::None,
        }
    }
}

/// Two calls of one method that look meant to be one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Composition {
    /// The method that makes them, `com.acme.Cart.remove`, and its descriptor.
    pub client: String,
    pub descriptor: String,
    pub calls: [ComposedCall; 2],
    /// The object that they are made on: `this.items`.
    pub receiver: String,
    /// Why they look meant to be one step.
    pub why: String,
}

/// The number of a composition among all of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CompositionId(pub u32);

/// All of a program.
#[derive(Clone, Debug, Default)]
pub struct Compositions {
    all: Vec<Composition>,
    by_method: FxHashMap<String, Vec<CompositionId>>,
    /// What calls give back, by the name of what is called.
    results: FxHashMap<String, ResultKind>,
}

impl Compositions {
    pub fn new(all: Vec<Composition>) -> Self {
        let mut by_method: FxHashMap<String, Vec<CompositionId>> = FxHashMap::default();
        for (index, one) in all.iter().enumerate() {
            let method = format!("{}{}", one.client, one.descriptor);
            by_method.entry(method).or_default().push(CompositionId(index as u32));
        }
        let calls = all.iter().flat_map(|one| &one.calls);
        let results = calls.map(|call| (call.api.clone(), call.result)).collect();
        Self { all, by_method, results }
    }

    /// What a call gives back. Of overloads that differ in it, and of what no composition calls, nothing is known.
    pub(crate) fn result(&self, api: &str) -> ResultKind {
        self.results.get(api).copied().unwrap_or(ResultKind::None)
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn get(&self, id: CompositionId) -> &Composition {
        &self.all[id.0 as usize]
    }

    /// Those of a method, `com.acme.Cart.remove(I)V`.
    pub(crate) fn of_method(&self, method: &str) -> &[CompositionId] {
        self.by_method.get(method).map_or(&[], Vec::as_slice)
    }
}
