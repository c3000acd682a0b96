//! Small objects whose calls are codes.

use std::collections::VecDeque;
use std::sync::Arc;

use untorn_linearizability::{
    Call, CallId, Constructor, Observation, Operation, Outcome, Scenario, SequentialError,
    SequentialRuns, Value,
};

/// What kind of object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    Counter,
    Stack,
    Queue,
    /// As the queue, but taking waits for an element.
    BlockingQueue,
    /// Giving waits for taking, and the other way round.
    HandOver,
    /// Every call returns an object: a new one, or the one that the last call returned.
    Factory,
}

pub const MODELS: [Model; 6] = [
    Model::Counter,
    Model::Stack,
    Model::Queue,
    Model::BlockingQueue,
    Model::HandOver,
    Model::Factory,
];

#[derive(Clone, Debug)]
pub struct Object {
    model: Model,
    elements: VecDeque<u32>,
    /// Of the counter and the factory.
    number: u32,
    /// Calls that wait, the oldest first.
    waiting: Vec<(CallId, u32)>,
}

impl Object {
    pub fn new(model: Model) -> Self {
        Self { model, elements: VecDeque::new(), number: 0, waiting: Vec::new() }
    }

    /// Makes a call; gives those that end with it.
    pub fn call(&mut self, id: CallId, code: u32) -> Vec<(CallId, String)> {
        let mut ended = Vec::new();
        match self.apply(code) {
            Some(result) => ended.push((id, result)),
            None => self.waiting.push((id, code)),
        }
        let mut at = 0;
        while at < self.waiting.len() {
            let (id, code) = self.waiting[at];
            match self.resumed(id, code, &mut ended) {
                true => {
                    self.waiting.retain(|(own, _)| *own != id);
                    at = 0;
                }
                false => at += 1,
            }
        }
        ended
    }

    /// `None` if the call waits. Even codes put something in.
    fn apply(&mut self, code: u32) -> Option<String> {
        let is_put = code.is_multiple_of(2);
        match self.model {
            Model::Counter => {
                self.number += u32::from(is_put);
                Some(self.number.to_string())
            }
            Model::Factory => {
                self.number += u32::from(is_put);
                Some(format!("<Thing#{}>", self.number + 1))
            }
            Model::HandOver => None,
            _ if is_put => {
                self.elements.push_back(code);
                Some("null".to_owned())
            }
            Model::Stack => Some(text(self.elements.pop_back())),
            Model::Queue => Some(text(self.elements.pop_front())),
            Model::BlockingQueue => self.elements.pop_front().map(|own| text(Some(own))),
        }
    }

    fn resumed(&mut self, id: CallId, code: u32, ended: &mut Vec<(CallId, String)>) -> bool {
        if self.model == Model::HandOver {
            // The giver of the oldest element and the taker that waits longest meet.
            let of = |puts: bool| {
                self.waiting.iter().find(|(_, own)| own.is_multiple_of(2) == puts).copied()
            };
            let (Some(giver), Some(taker)) = (of(true), of(false)) else { return false };
            if giver.0 != id && taker.0 != id {
                return false;
            }
            ended.push((giver.0, "null".to_owned()));
            ended.push((taker.0, giver.1.to_string()));
            self.waiting.retain(|(own, _)| *own != giver.0 && *own != taker.0);
            return true;
        }
        match self.apply(code) {
            Some(result) => {
                ended.push((id, result));
                true
            }
            None => false,
        }
    }
}

fn text(value: Option<u32>) -> String {
    value.map_or("null".to_owned(), |value| value.to_string())
}

/// The calls of threads, as a scenario.
pub fn scenario(threads: &[Vec<u32>]) -> Scenario {
    let operation = Arc::new(Operation { name: "call".to_owned(), descriptor: "(I)V".to_owned() });
    let call = |&code: &u32| Call { operation: Arc::clone(&operation), arguments: vec![code] };
    let sections = threads.iter().map(|codes| codes.iter().map(call).collect());
    Scenario {
        class: "Model".to_owned(),
        constructor: Constructor { descriptor: "()V".to_owned(), arguments: Vec::new() },
        sections: std::iter::once(Vec::new()).chain(sections).chain([Vec::new()]).collect(),
    }
}

impl SequentialRuns for Model {
    fn run(
        &mut self,
        scenario: &Scenario,
        order: &[usize],
    ) -> Result<Vec<Observation>, SequentialError> {
        let mut object = Object::new(*self);
        let mut next = vec![0; scenario.sections.len()];
        let mut observed = Vec::new();
        for &section in order {
            if object.waiting.iter().any(|(id, _)| id.section == section) {
                break;
            }
            let id = CallId { section, index: next[section] };
            next[section] += 1;
            observed.push(Observation::Began(id));
            let code = scenario.sections[section][id.index].arguments[0];
            for (id, result) in object.call(id, code) {
                observed.push(Observation::Ended(id, Outcome::Returned(Value::parse(&result))));
            }
        }
        Ok(observed)
    }
}
