//! The tracked calls of a run: who made them, what they returned, which of them look meant to be one step.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use untorn_predict::{At, History};
use untorn_trace::{
    CallOutcome, CodePosition, Event, LabelId, Op, SiteId, Tables, ThreadId, Value,
};

use crate::compositions::{CompositionId, Compositions, ResultKind};

/// Calls of one activation that a second call may belong to.
const MAX_EARLIER: usize = 64;

/// What a call returned, as far as its caller may decide by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CallResult {
    /// Nothing is given back.
    Done,
    Threw,
    No,
    Yes,
    Null,
    Object,
    Negative,
    Zero,
    Positive,
}

impl std::fmt::Display for CallResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Done => "nothing",
            Self::Threw => "an exception",
            Self::No => "false",
            Self::Yes => "true",
            Self::Null => "null",
            Self::Object => "an object",
            Self::Negative => "a number below zero",
            Self::Zero => "0",
            Self::Positive => "a number above zero",
        })
    }
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// With this value, if it is known.
    Value(Option<Value>),
    Threw,
}

/// One call.
#[derive(Clone, Copy, Debug)]
struct TrackedCall {
    begin: At,
    /// `None` if the run ends inside of it.
    end: Option<(At, End)>,
    /// The call around it.
    outer: Option<u32>,
    /// The call of the method that makes it, by its position in the run.
    activation: At,
    place: u32,
    label: LabelId,
}

impl TrackedCall {
    fn contains(&self, at: At) -> bool {
        self.begin <= at && self.end.is_none_or(|(end, _)| at <= end)
    }
}

/// Where a call is called: the method, and where in its code.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct CallPlace {
    method: String,
    pc: u32,
    /// What is called, and its class.
    api: String,
    class: String,
}

/// Two calls of one activation that look meant to be one step, in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CompositionInstance {
    pub id: CompositionId,
    first: u32,
    second: u32,
}

/// The n-th call that a thread makes at a place, the first of a composition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Occurrence {
    id: CompositionId,
    thread: ThreadId,
    place: CallPlace,
    nth: usize,
}

/// The tracked calls of a run.
#[derive(Debug, Default)]
pub(crate) struct TrackedCalls {
    calls: Vec<TrackedCall>,
    /// By thread, in the order of their beginnings.
    by_thread: Vec<Vec<u32>>,
    places: Vec<CallPlace>,
    /// By activation: the compositions of it.
    made: FxHashMap<At, Vec<CompositionInstance>>,
}

/// What is open in a thread.
#[derive(Clone, Copy, Debug)]
enum Frame {
    Call(At),
    TrackedCall(u32),
}

/// Finds the tracked calls of a run, event by event.
#[derive(Debug)]
pub(crate) struct Tracker<'a> {
    tables: &'a Tables,
    known: &'a Compositions,
    found: TrackedCalls,
    places: FxHashMap<(SiteId, LabelId), Option<u32>>,
    /// By thread.
    open: Vec<Vec<Frame>>,
    /// Of the next event.
    position: u32,
}

impl<'a> Tracker<'a> {
    pub(crate) fn new(tables: &'a Tables, known: &'a Compositions) -> Self {
        let (found, places, open) = (TrackedCalls::default(), FxHashMap::default(), Vec::new());
        Self { tables, known, found, places, open, position: 0 }
    }

    /// The next event of the run. If it belongs to a tracked call, it is taken out of the trace: it is neither a block nor
    /// an access.
    pub(crate) fn event(&mut self, event: &mut Event) -> bool {
        if self.known.is_empty() {
            return false;
        }
        let (at, thread) = (At(self.position), event.thread.index());
        self.position = self.position.saturating_add(1);
        if self.open.len() <= thread {
            self.open.resize(thread + 1, Vec::new());
            self.found.by_thread.resize(thread + 1, Vec::new());
        }
        let frames = &mut self.open[thread];
        let is_tracked = match event.op {
            Op::Call { method, .. } => {
                let (found, tables, site) = (&mut self.found, self.tables, event.site);
                let place = self.places.entry((site, method));
                let place = *place.or_insert_with(|| found.call_place(tables, site, method));
                match place {
                    Some(place) => found.begins(frames, at, thread, place, method),
                    None => frames.push(Frame::Call(at)),
                }
                place.is_some()
            }
            Op::Return { known, outcome, value, .. } => match frames.pop() {
                Some(Frame::TrackedCall(call)) => {
                    let end = match outcome {
                        CallOutcome::Returned => End::Value(known.then_some(value)),
                        CallOutcome::Threw => End::Threw,
                    };
                    self.found.calls[call as usize].end = Some((at, end));
                    true
                }
                _ => false,
            },
            _ => false,
        };
        if is_tracked {
            event.op = Op::HIDDEN;
        }
        is_tracked
    }

    /// All that were found, after the last event. Their events are known by their positions in the run.
    pub(crate) fn finish(self) -> TrackedCalls {
        let mut found = self.found;
        found.made = found.compose(self.known);
        found
    }
}

impl TrackedCalls {
    /// Gives the beginnings and ends of calls other positions, in the same order.
    pub(crate) fn relocate(&mut self, place: impl Fn(At) -> At) {
        for call in &mut self.calls {
            call.begin = place(call.begin);
            call.end = call.end.map(|(at, end)| (place(at), end));
        }
    }

    /// API calls are recorded at the call site, application methods at their entry; a Call whose label is its own
    /// method is therefore not an API call.
    fn call_place(&mut self, tables: &Tables, site: SiteId, label: LabelId) -> Option<u32> {
        let site = tables.sites.get(site)?;
        let caller = format!("{}.{}", site.class, site.method);
        let CodePosition::Bytecode { descriptor, offset: Some(pc) } = site.position else {
            return None;
        };
        let api = tables.labels.get(label).unwrap_or_default();
        if api == caller {
            return None;
        }
        let class = tables.label_method(label).map_or("", |(class, _)| class).to_owned();
        let place = CallPlace { method: caller + descriptor, pc, api: api.to_owned(), class };
        self.places.push(place);
        Some(self.places.len() as u32 - 1)
    }

    fn begins(
        &mut self,
        frames: &mut Vec<Frame>,
        at: At,
        thread: usize,
        place: u32,
        label: LabelId,
    ) {
        let index = self.calls.len() as u32;
        let around = |frame: &Frame| match frame {
            Frame::TrackedCall(call) => Some(*call),
            Frame::Call(_) => None,
        };
        let called = |frame: &Frame| match frame {
            Frame::Call(at) => Some(*at),
            Frame::TrackedCall(_) => None,
        };
        let outer = frames.iter().rev().find_map(around);
        // A thread whose first events are missing has no activation: its calls belong to nothing.
        let activation = frames.iter().rev().find_map(called).unwrap_or(at);
        self.calls.push(TrackedCall { begin: at, end: None, outer, activation, place, label });
        self.by_thread[thread].push(index);
        frames.push(Frame::TrackedCall(index));
    }

    /// The tracked calls around an event, the innermost first.
    fn around(&self, thread: ThreadId, at: At) -> impl Iterator<Item = u32> {
        let own = self.by_thread.get(thread.index()).map_or(&[][..], Vec::as_slice);
        let begun = own.partition_point(|&call| self.calls[call as usize].begin <= at);
        let last = begun.checked_sub(1).map(|last| own[last]);
        let chain = std::iter::successors(last, |&call| self.calls[call as usize].outer);
        chain.filter(move |&call| self.calls[call as usize].contains(at))
    }

    /// The composition that two accesses of one variable belong to: they are made from its first to its second call,
    /// and one of them by these.
    pub(crate) fn composition(
        &self,
        thread: ThreadId,
        accesses: [At; 2],
    ) -> Option<CompositionInstance> {
        let [_, last] = accesses;
        self.around(thread, accesses[0]).find_map(|call| {
            // Within one call it is that call which is torn.
            if self.calls[call as usize].contains(last) {
                return None;
            }
            let all = self.made.get(&self.calls[call as usize].activation)?;
            let around = all.iter().filter(|made| self.is_around(made, accesses));
            let exact = around.clone().find(|made| self.makes(made, accesses) == [true; 2]);
            exact
                .or_else(|| around.clone().find(|made| self.makes(made, accesses) != [false; 2]))
                .copied()
        })
    }

    /// Whether two events are from the first to the second call.
    fn is_around(&self, made: &CompositionInstance, [first, last]: [At; 2]) -> bool {
        let [one, other] = self.both(made);
        one.begin <= first && other.end.is_none_or(|(end, _)| last <= end)
    }

    /// Whether the first call makes the first access, and the second one the last.
    pub(crate) fn makes(&self, made: &CompositionInstance, [first, last]: [At; 2]) -> [bool; 2] {
        let [one, other] = self.both(made);
        [one.contains(first), other.contains(last)]
    }

    fn place_of(&self, call: u32) -> &CallPlace {
        &self.places[self.calls[call as usize].place as usize]
    }

    fn both(&self, made: &CompositionInstance) -> [&TrackedCall; 2] {
        [made.first, made.second].map(|call| &self.calls[call as usize])
    }

    fn pair(&self, known: &Compositions, first: u32, second: u32) -> Option<CompositionInstance> {
        let [one, other] = [first, second].map(|call| &self.calls[call as usize]);
        if one.activation != other.activation || one.begin >= other.begin {
            return None;
        }
        let [from, to] = [first, second].map(|call| self.place_of(call));
        let ids = known.of_method(&from.method).iter();
        let id = ids
            .copied()
            .find(|&id| known.get(id).calls.each_ref().map(|call| call.pc) == [from.pc, to.pc])?;
        Some(CompositionInstance { id, first, second })
    }

    /// All compositions of the run: of each second call, the nearest first call.
    fn compose(&self, known: &Compositions) -> FxHashMap<At, Vec<CompositionInstance>> {
        let mut earlier: FxHashMap<At, VecDeque<u32>> = FxHashMap::default();
        let mut all: FxHashMap<At, Vec<CompositionInstance>> = FxHashMap::default();
        for second in 0..self.calls.len() as u32 {
            let activation = self.calls[second as usize].activation;
            let own = earlier.entry(activation).or_default();
            let mut seen = FxHashSet::default();
            let made = own.iter().rev().filter_map(|&first| self.pair(known, first, second));
            let made: Vec<CompositionInstance> = made.filter(|made| seen.insert(made.id)).collect();
            if !made.is_empty() {
                all.entry(activation).or_default().extend(made);
            }
            own.push_back(second);
            // A loop makes the same calls again and again: the last few are near enough.
            if own.len() > MAX_EARLIER {
                own.pop_front();
            }
        }
        all
    }

    /// Whatever looks meant to be one step in this run.
    pub(crate) fn all_made(&self) -> impl Iterator<Item = &CompositionInstance> {
        self.made.values().flatten()
    }

    /// From the first to the end of the second call of each composition.
    pub(crate) fn stretches(&self) -> Vec<[At; 2]> {
        let ends = |made: &CompositionInstance| {
            let [first, second] = self.both(made);
            second.end.map(|(end, _)| [first.begin, end])
        };
        self.all_made().filter_map(ends).collect()
    }

    /// Which of the calls of its thread the first one of a composition is.
    pub(crate) fn first_of(&self, history: &History, made: &CompositionInstance) -> Occurrence {
        let thread = history.event(self.both(made)[0].begin).thread;
        let place = self.place_of(made.first);
        let before = self.by_thread[thread.index()].iter().take_while(|&&call| call != made.first);
        let nth = before.filter(|&&call| self.place_of(call) == place).count();
        Occurrence { id: made.id, thread, place: place.clone(), nth }
    }

    /// What the calls of a composition say that begins with that call, if nobody comes between them.
    pub(crate) fn undisturbed(
        &self,
        history: &History,
        known: &Compositions,
        first: &Occurrence,
    ) -> Option<[CallResult; 2]> {
        let own = self.by_thread.get(first.thread.index())?.iter();
        let mut same = own.filter(|&&call| self.place_of(call) == &first.place);
        let call = *same.nth(first.nth)?;
        let all = self.made.get(&self.calls[call as usize].activation)?;
        let made = all.iter().find(|made| made.id == first.id && made.first == call)?;
        if !self.is_undisturbed(history, made) {
            return None;
        }
        self.answers(known, made)
    }

    /// Whether nobody else did anything from the first call to the end of the second.
    pub(crate) fn is_undisturbed(&self, history: &History, made: &CompositionInstance) -> bool {
        let [first, second] = self.both(made);
        let Some((end, _)) = second.end else { return false };
        end.0 - first.begin.0 == history.nth(end) - history.nth(first.begin)
    }

    /// What the two calls returned; `None` if the run ended before.
    pub(crate) fn answers(
        &self,
        known: &Compositions,
        made: &CompositionInstance,
    ) -> Option<[CallResult; 2]> {
        let [first, second] = &known.get(made.id).calls;
        Some([self.answer(made.first, first.result)?, self.answer(made.second, second.result)?])
    }

    fn answer(&self, call: u32, kind: ResultKind) -> Option<CallResult> {
        let (_, end) = self.calls[call as usize].end?;
        let End::Value(value) = end else { return Some(CallResult::Threw) };
        let Some(Value(value)) = value else { return Some(CallResult::Done) };
        Some(match (kind, value.cast_signed()) {
            (ResultKind::None, _) => CallResult::Done,
            (ResultKind::Bool, 0) => CallResult::No,
            (ResultKind::Bool, _) => CallResult::Yes,
            (ResultKind::Object, 0) => CallResult::Null,
            (ResultKind::Object, _) => CallResult::Object,
            (ResultKind::Number, 0) => CallResult::Zero,
            (ResultKind::Number, ..0) => CallResult::Negative,
            (ResultKind::Number, _) => CallResult::Positive,
        })
    }

    /// The calls of its activation that make two accesses of a composition; of an access that is made by none, that of the
    /// composition.
    pub(crate) fn calls(
        &self,
        known: &Compositions,
        made: &CompositionInstance,
        thread: ThreadId,
        accesses: [At; 2],
    ) -> [ObservedCall; 2] {
        let activation = self.calls[made.first as usize].activation;
        let own = |call: &u32| self.calls[*call as usize].activation == activation;
        let around = |at: At| self.around(thread, at).find(own);
        let [first, last] = accesses.map(around);
        let calls = [first.unwrap_or(made.first), last.unwrap_or(made.second)];
        calls.map(|call| self.observed(known, call))
    }

    /// The call of another thread around an event: one of the same class as a composition's, if there is one.
    pub(crate) fn call_around(
        &self,
        known: &Compositions,
        made: &CompositionInstance,
        thread: ThreadId,
        at: At,
    ) -> Option<ObservedCall> {
        let classes = known.get(made.id).calls.each_ref().map(|call| &call.class);
        let is_alike = |call: &u32| classes.contains(&&self.place_of(*call).class);
        let mut alike = self.around(thread, at).filter(is_alike);
        let call = alike.next().or_else(|| self.around(thread, at).next())?;
        Some(self.observed(known, call))
    }

    fn observed(&self, known: &Compositions, call: u32) -> ObservedCall {
        let TrackedCall { label, begin, .. } = self.calls[call as usize];
        ObservedCall {
            label,
            begin,
            answer: self.answer(call, known.result(&self.place_of(call).api)),
        }
    }
}

/// A call, as it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ObservedCall {
    pub label: LabelId,
    pub begin: At,
    pub answer: Option<CallResult>,
}

#[cfg(test)]
mod tests {
    use untorn_trace::tables::Site;

    use super::*;
    use crate::compositions::{ComposedCall, Composition};

    /// `Desk.serve` asks `Queue.isEmpty` at 3 and then calls `Queue.remove` at 9.
    fn known() -> Compositions {
        let call = |pc, method: &str, result| ComposedCall {
            pc,
            api: format!("Queue.{method}"),
            class: "Queue".to_owned(),
            result,
        };
        Compositions::new(vec![Composition {
            client: "Desk.serve".to_owned(),
            descriptor: "()V".to_owned(),
            calls: [call(3, "isEmpty", ResultKind::Bool), call(9, "remove", ResultKind::Object)],
            receiver: "this.queue".to_owned(),
            why: String::new(),
        }])
    }

    /// A run, given word by word: `call Queue.isEmpty:3`, `return 1`, `throw`, `step`.
    fn run(words: &[&str]) -> (TrackedCalls, Vec<Event>) {
        let mut tables = Tables::default();
        let mut events = Vec::new();
        let mut open = Vec::new();
        let thread = tables.threads.intern("main");
        for text in words {
            let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
            let none = Value(0);
            let (op, site) = match word {
                "call" => {
                    let (name, pc) = rest.split_once(':').unwrap_or((rest, "0"));
                    let method = tables.labels.intern(name);
                    let offset = pc.parse().ok();
                    let site = tables.sites.intern(&Site {
                        line: 1,
                        method: "serve",
                        class: "Desk",
                        position: CodePosition::Bytecode { descriptor: "()V", offset },
                        ..Site::default()
                    });
                    open.push((method, site));
                    (Op::Call { method, known: false, value: none }, site)
                }
                "return" | "throw" => {
                    let (method, site) = open.pop().expect("an open call");
                    let value = rest.parse().map(Value).ok();
                    let (known, value) = (value.is_some(), value.unwrap_or(none));
                    let (outcome, site) = match word {
                        "throw" => (CallOutcome::Threw, SiteId::NONE),
                        _ => (CallOutcome::Returned, site),
                    };
                    (Op::Return { method, outcome, known, value }, site)
                }
                _ => (Op::Branch { count: 1 }, SiteId::NONE),
            };
            events.push(Event::new(thread, op, site));
        }
        let known = known();
        let mut tracker = Tracker::new(&tables, &known);
        for event in &mut events {
            tracker.event(event);
        }
        (tracker.finish(), events)
    }

    fn answers(words: &[&str]) -> Vec<[CallResult; 2]> {
        let (calls, _) = run(words);
        calls.all_made().filter_map(|made| calls.answers(&known(), made)).collect()
    }

    #[test]
    fn two_calls_of_one_activation_are_a_composition() {
        let words = ["call Desk.serve", "call Queue.isEmpty:3", "return 0", "call Queue.remove:9"];
        let serve = |end: &'static str| [&words[..], &["step", end, "return"]].concat();
        assert_eq!(answers(&serve("return 7")), [[CallResult::No, CallResult::Object]]);
        assert_eq!(answers(&serve("return 0")), [[CallResult::No, CallResult::Null]]);
        assert_eq!(answers(&serve("throw")), [[CallResult::No, CallResult::Threw]]);
    }

    #[test]
    fn calls_of_two_activations_are_none() {
        let one = ["call Desk.serve", "call Queue.isEmpty:3", "return 0", "return"];
        let other = ["call Desk.serve", "call Queue.remove:9", "return 1", "return"];
        assert!(answers(&[one, other].concat()).is_empty());
    }

    #[test]
    fn of_a_loop_the_nearest_calls_belong_together() {
        let round = ["call Queue.isEmpty:3", "return 1", "call Queue.isEmpty:3", "return 0"];
        let act = ["call Queue.remove:9", "return 1"];
        let words = [&["call Desk.serve"][..], &round, &act, &["return"]].concat();
        assert_eq!(answers(&words), [[CallResult::No, CallResult::Object]]);
    }

    #[test]
    fn accesses_belong_to_the_calls_around_them() {
        let words = ["call Desk.serve", "call Queue.isEmpty:3", "step", "return 0", "step"];
        let (calls, events) =
            run(&[&words[..], &["call Queue.remove:9", "step", "return 1"]].concat());
        let made = |accesses: [u32; 2]| calls.composition(ThreadId(0), accesses.map(At));
        assert!(made([2, 6]).is_some(), "one in each call");
        assert!(made([2, 4]).is_some(), "one of the first call, one behind it");
        assert!(made([2, 2]).is_none(), "both in one call");
        assert!(made([0, 6]).is_none(), "before the first call");
        // The marks are gone, those of the method itself are not.
        assert!(matches!(events[0].op, Op::Call { .. }));
        assert!(matches!(events[1].op, Op::HIDDEN));
    }
}
