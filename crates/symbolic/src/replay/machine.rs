//! Threads with their frames, driven by the log.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use untorn_bytecode::Kind;
use untorn_jvm_protocol::path_log::{PathLog, SiteKind};

use super::code::{Code, Method, SiteInfo, Target};
use super::log::Log;
use super::value::{NULL, ObjectId, Objects, Value};
use crate::path::{Activation, CodePlace, Path};

/// A method under way.
#[derive(Debug)]
pub(super) struct Frame {
    pub method: Rc<Method>,
    pub number: usize,
    /// Of the path.
    pub activation: u32,
    pub flow: u32,
    pub at: u32,
    pub locals: Vec<Value>,
    pub stack: Vec<Value>,
    /// Called by the code below, not by something between that is not re-executed.
    pub is_direct: bool,
    /// The call at hand has begun in a frame of its own.
    pub has_called: bool,
    /// What that one has returned.
    pub returned: Option<Value>,
    /// The instruction at hand has thrown: the log says what comes of it.
    pub has_thrown: bool,
}

/// How a thread goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StepResult {
    Go,
    /// The next record is of another thread, or there is none.
    Wait,
    /// The code cannot do what it was said to have done.
    Lost(&'static str),
}

pub(super) type Thread = Vec<Frame>;

pub(super) struct Machine<'a> {
    pub code: Code,
    pub log: Log<'a>,
    pub objects: Objects,
    pub heap: FxHashMap<(ObjectId, u32), Value>,
    /// By what is called: what objects that call it have captured, the oldest first.
    pub captured: FxHashMap<Target, Vec<Vec<Value>>>,
    pub path: Path,
    /// The thread at hand.
    pub thread: u32,
    flows: FxHashMap<usize, u32>,
    has_arguments: bool,
}

impl<'a> Machine<'a> {
    pub(super) fn new(log: &'a PathLog, mut path: Path) -> Self {
        path.fidelity.is_cut = log.is_cut;
        Self {
            code: Code::read(log),
            log: Log::new(log),
            objects: Objects::default(),
            heap: FxHashMap::default(),
            captured: FxHashMap::default(),
            path,
            thread: 0,
            flows: FxHashMap::default(),
            has_arguments: false,
        }
    }

    pub(super) fn run(mut self) -> Path {
        let mut threads: FxHashMap<u32, Thread> = FxHashMap::default();
        while let Some((thread, _)) = self.log.peek() {
            self.thread = thread;
            let mut frames = threads.remove(&thread).unwrap_or_default();
            self.run_thread(&mut frames);
            threads.insert(thread, frames);
        }
        self.path
    }

    /// Until a record of another thread comes.
    fn run_thread(&mut self, frames: &mut Thread) {
        loop {
            match self.step(frames) {
                StepResult::Go => {}
                StepResult::Wait => break,
                StepResult::Lost(why) => {
                    self.lose(frames, why);
                    if !self.skip() {
                        break;
                    }
                }
            }
        }
    }

    fn lose(&mut self, frames: &mut Thread, why: &'static str) {
        let place = frames.last().map_or("outside".to_owned(), |frame| {
            let Target { class, name, .. } = &frame.method.target;
            format!("{}.{name}:{}", class.replace('/', "."), frame.method.line(frame.at))
        });
        self.path.fidelity.diverge(|| format!("{place}: {why}"));
        frames.clear();
    }

    /// The next record is of this thread.
    fn is_here(&self) -> bool {
        self.log.peek().is_some_and(|(thread, _)| thread == self.thread)
    }

    fn step(&mut self, frames: &mut Thread) -> StepResult {
        let Some(frame) = frames.last_mut() else { return self.outside(frames) };
        let method = Rc::clone(&frame.method);
        let Some(op) = method.ops.get(frame.at as usize) else {
            return StepResult::Lost("the code is at its end");
        };
        if op.site == 0 && !needs_record(op) && !frame.has_thrown {
            self.path.covered.insert((frame.flow, frame.at));
            self.path.fidelity.instructions += 1;
            return self.plain(frames, op);
        }
        let Some((thread, site)) = self.log.peek() else { return StepResult::Wait };
        if thread != self.thread {
            return StepResult::Wait;
        }
        self.path.covered.insert((frame.flow, frame.at));
        if site != op.site || op.site == 0 {
            return self.other_record(frames, site);
        }
        let info = self.code.sites[&site];
        let value = match self.content(info.kind) {
            Ok(value) => value,
            Err(next) => return next,
        };
        self.log.advance();
        self.path.fidelity.instructions += 1;
        self.complete(frames, op, value)
    }

    /// No code of the program runs in this thread: only a method that is called by somebody else can be next.
    fn outside(&mut self, frames: &mut Thread) -> StepResult {
        if !self.is_here() {
            return StepResult::Wait;
        }
        let Some((_, site)) = self.log.peek() else { return StepResult::Wait };
        match self.code.sites.get(&site).map(|info| info.kind) {
            Some(SiteKind::Enter) => self.enter(frames, site),
            _ if self.skip() => StepResult::Go,
            _ => StepResult::Wait,
        }
    }

    /// Passes over a record. False if there are no more.
    fn skip(&mut self) -> bool {
        let Some((thread, site)) = self.log.peek().filter(|&(thread, _)| thread == self.thread)
        else {
            return false;
        };
        debug_assert_eq!(thread, self.thread, "a record of this thread");
        let Some(&info) = self.code.sites.get(&site) else {
            // Its content is not known, so nothing behind it can be read.
            self.path.fidelity.is_cut = true;
            self.log.stop();
            return false;
        };
        let is_read = match info.kind {
            SiteKind::Enter => {
                self.arguments(&Rc::clone(&self.code.methods[info.method])).is_some()
            }
            kind => self.content(kind).is_ok(),
        };
        if is_read {
            self.log.advance();
        }
        is_read
    }

    /// Another record than that of the instruction at hand.
    fn other_record(&mut self, frames: &mut Thread, site: u32) -> StepResult {
        let Some(&info) = self.code.sites.get(&site) else {
            return StepResult::Lost("a record of unknown code");
        };
        match info.kind {
            SiteKind::Enter => self.enter(frames, site),
            SiteKind::Catch => self.catch(frames, info),
            _ => {
                // Something between has caught what a method has thrown.
                let is_its = |frame: &Frame| {
                    frame.method.ops.get(frame.at as usize).is_some_and(|op| op.site == site)
                };
                match frames.iter().rposition(is_its) {
                    Some(at) if at + 1 < frames.len() => {
                        frames.truncate(at + 1);
                        frames[at].has_called = false;
                        StepResult::Go
                    }
                    _ => StepResult::Lost("another instruction has completed"),
                }
            }
        }
    }

    /// An exception has come to a handler.
    fn catch(&mut self, frames: &mut Thread, info: SiteInfo) -> StepResult {
        let handles =
            |frame: &Frame| frame.number == info.method && frame.method.handles(frame.at, info.at);
        let Some(at) = frames.iter().rposition(handles) else {
            return StepResult::Lost("no method under way has this handler");
        };
        let value = match self.content(SiteKind::Object) {
            Ok(value) => value,
            Err(next) => return next,
        };
        self.log.advance();
        frames.truncate(at + 1);
        let frame = &mut frames[at];
        frame.stack.clear();
        frame.stack.push(value);
        frame.at = info.at;
        (frame.has_called, frame.returned, frame.has_thrown) = (false, None, false);
        StepResult::Go
    }

    /// A method begins: called by the instruction at hand, or by something between.
    fn enter(&mut self, frames: &mut Thread, site: u32) -> StepResult {
        let number = self.code.sites[&site].method;
        let method = Rc::clone(&self.code.methods[number]);
        let Some(logged) = self.arguments(&method) else { return StepResult::Wait };
        self.log.advance();
        let direct = frames.last().and_then(|frame| self.passed(frame, &method, &logged));
        let flow = self.flow_of(number, &method);
        let caller = frames.last().map(|frame| (frame.activation, frame.at));
        let is_direct = direct.is_some();
        if is_direct && let Some(frame) = frames.last_mut() {
            frame.has_called = true;
        }
        let arguments = direct.unwrap_or_else(|| self.handed_over(&method, logged));
        let activation = self.path.activations.len() as u32;
        self.path.activations.push(Activation { flow, caller });
        let mut locals = Vec::with_capacity(method.max_locals);
        for value in arguments {
            locals.push(value);
            if value.is_wide() {
                locals.push(Value::Top);
            }
        }
        locals.resize(method.max_locals.max(locals.len()), Value::Top);
        frames.push(Frame {
            method,
            number,
            activation,
            flow,
            at: 0,
            locals,
            stack: Vec::new(),
            is_direct,
            has_called: false,
            returned: None,
            has_thrown: false,
        });
        StepResult::Go
    }

    /// What the arguments of a method are that is not called by code that is re-executed.
    fn handed_over(&mut self, method: &Method, logged: Vec<Value>) -> Vec<Value> {
        let is_main =
            method.target.name == "main" && method.target.descriptor == "([Ljava/lang/String;)V";
        if is_main
            && !self.has_arguments
            && let Some(Value::Ref(array, _)) = logged.last()
            && *array != NULL
        {
            self.has_arguments = true;
            self.objects.get_mut(*array).is_arguments = true;
        }
        let mut arguments = logged;
        self.restore_captured(method, &mut arguments);
        if method.is_constructor() {
            arguments.insert(0, Value::Ref(self.objects.fresh(), None));
        }
        arguments
    }

    /// An object that calls this method may have captured its first arguments, with terms.
    fn restore_captured(&mut self, method: &Method, arguments: &mut [Value]) {
        let Some(known) = self.captured.get_mut(&method.target) else { return };
        let fits = |own: &Vec<Value>| {
            own.len() <= arguments.len() && own.iter().zip(&*arguments).all(|(a, b)| a.is_same(*b))
        };
        let Some(at) = known.iter().position(fits) else { return };
        // Those that capture the same are told apart by their order; the last may be called often.
        let is_last = known.iter().skip(at + 1).all(|own| !fits(own));
        let own = if is_last { known[at].clone() } else { known.remove(at) };
        for (argument, own) in arguments.iter_mut().zip(own) {
            *argument = own;
        }
    }

    /// What the instruction at hand passes to this method, if it is what the method got.
    fn passed(&mut self, frame: &Frame, method: &Method, logged: &[Value]) -> Option<Vec<Value>> {
        if frame.has_called {
            return None;
        }
        let call = super::calls::call_at(frame)?;
        let target = &method.target;
        if call.name != target.name
            || call.descriptor != target.descriptor
            || call.is_static != method.is_static
        {
            return None;
        }
        let passed = super::calls::arguments(frame, call)?;
        let of_log = if method.is_constructor() { &passed[1..] } else { &passed[..] };
        if method.is_constructor() && call.class != target.class {
            return None;
        }
        let is_same = |(own, logged): (&Value, &Value)| match (own, logged) {
            (Value::Ref(own, _), Value::Ref(logged, _)) => self.objects.may_be_same(*own, *logged),
            _ => own.is_same(*logged),
        };
        (of_log.len() == logged.len() && of_log.iter().zip(logged).all(is_same)).then_some(passed)
    }

    fn flow_of(&mut self, number: usize, method: &Method) -> u32 {
        let path = &mut self.path;
        *self.flows.entry(number).or_insert_with(|| {
            path.flows.push(method.flow());
            path.flows.len() as u32 - 1
        })
    }

    /// The arguments of a method that begins, by its record.
    fn arguments(&mut self, method: &Method) -> Option<Vec<Value>> {
        let mut arguments = Vec::new();
        if !method.is_static && !method.is_constructor() {
            arguments.push(self.content(SiteKind::Object).ok()?);
        }
        for kind in &method.parameters {
            let kind = match kind {
                Kind::Int => SiteKind::Int,
                Kind::Long => SiteKind::Long,
                Kind::Float => SiteKind::Float,
                Kind::Double => SiteKind::Double,
                Kind::Reference => SiteKind::Object,
            };
            arguments.push(self.content(kind).ok()?);
        }
        Some(arguments)
    }

    /// The content of a record. The log may end within it.
    fn content(&mut self, kind: SiteKind) -> Result<Value, StepResult> {
        let cursor = self.log.content();
        let found = match kind {
            SiteKind::Int => cursor.signed().map(|value| Value::Int(value as i32, None)),
            SiteKind::Long => cursor.signed().map(|value| Value::Long(value, None)),
            SiteKind::Float => {
                cursor.number().map(|bits| Value::Float(f32::from_bits(bits as u32)))
            }
            SiteKind::Double => cursor.number().map(|bits| Value::Double(f64::from_bits(bits))),
            SiteKind::Done | SiteKind::Enter => Some(Value::Top),
            SiteKind::Object | SiteKind::Made | SiteKind::Catch => return self.object(),
        };
        found.ok_or_else(|| self.ended())
    }

    fn object(&mut self) -> Result<Value, StepResult> {
        let Some(number) = self.log.content().number() else { return Err(self.ended()) };
        let object = self.objects.of_identity((number >> 1) as u32);
        if number & 1 == 1 {
            let Some(text) = self.log.content().text() else { return Err(self.ended()) };
            self.objects.get_mut(object).text = text.map(Into::into);
        }
        Ok(Value::Ref(object, None))
    }

    fn ended(&mut self) -> StepResult {
        self.path.fidelity.is_cut = true;
        self.log.stop();
        StepResult::Wait
    }

    pub(super) fn place_of(frame: &Frame) -> CodePlace {
        CodePlace { flow: frame.flow, index: frame.at }
    }
}

/// Whether the log says what comes of an instruction that has no record of its own.
fn needs_record(op: &super::code::Op) -> bool {
    use untorn_bytecode::op;
    matches!(op.opcode, op::ATHROW | op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC)
}
