//! The code that a path log is about, decoded once.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use untorn_bytecode::{ClassFile, Code as Bytecode, Instr, Kind, Number, Pool, descriptor, op};
use untorn_jvm_protocol::path_log::{PathLog, SiteKind};

use crate::path::{Flow, Interest};

/// A method that code calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Call {
    pub class: String,
    pub name: String,
    pub descriptor: String,
    pub is_static: bool,
    /// Of the arguments, without the receiver.
    pub parameters: Vec<Kind>,
}

/// What an `invokedynamic` makes: an object that calls a method.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Target {
    pub class: String,
    pub name: String,
    pub descriptor: String,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Operand {
    None,
    Local(u16, i32),
    Int(i32),
    Number(Number),
    Text(Rc<str>),
    /// A field, by a number of ours: of objects by its name, static ones with their class.
    Field(u32, Kind),
    Call(Rc<Call>),
    /// Kinds of the captured values, and what is called, if that is known.
    Dynamic(Rc<(Vec<Kind>, Option<Target>)>),
    Jump(u32),
    /// Keys with their targets, and the default.
    Switch(Rc<(Vec<(i32, u32)>, u32)>),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Op {
    pub opcode: u8,
    pub operand: Operand,
    /// The record that says that it has completed; 0 if there is none.
    pub site: u32,
}

#[derive(Debug)]
pub(super) struct Method {
    pub target: Target,
    pub is_static: bool,
    pub parameters: Vec<Kind>,
    pub max_locals: usize,
    pub ops: Vec<Op>,
    /// From, to (not included), handler; by instruction.
    handlers: Vec<[u32; 3]>,
    lines: Vec<u16>,
}

impl Method {
    pub(super) fn is_constructor(&self) -> bool {
        self.target.name == "<init>"
    }

    /// Whether an exception of the first instruction may be handled from the second on.
    pub(super) fn handles(&self, at: u32, handler: u32) -> bool {
        self.handlers
            .iter()
            .any(|&[from, to, target]| (from..to).contains(&at) && target == handler)
    }

    pub(super) fn flow(&self) -> Flow {
        let Target { class, name, descriptor } = &self.target;
        let next = self.ops.iter().enumerate().map(|(at, op)| {
            let mut next = Vec::new();
            match &op.operand {
                Operand::Jump(target) => next.push(*target),
                Operand::Switch(switch) => {
                    next.push(switch.1);
                    next.extend(switch.0.iter().map(|(_, target)| target));
                }
                _ => {}
            }
            if op::falls_through(op.opcode) && at + 1 < self.ops.len() {
                next.push(at as u32 + 1);
            }
            next
        });
        let interest = self.ops.iter().map(|op| interest_of(op.opcode));
        let name = format!("{}.{name}{descriptor}", class.replace('/', "."));
        Flow { name, next: next.collect(), interest: interest.collect() }
    }

    pub(super) fn line(&self, at: u32) -> u16 {
        self.lines.get(at as usize).copied().unwrap_or(0)
    }
}

fn interest_of(opcode: u8) -> Interest {
    match opcode {
        op::GETFIELD
        | op::PUTFIELD
        | op::GETSTATIC
        | op::PUTSTATIC
        | op::IALOAD..=op::SALOAD
        | op::IASTORE..=op::SASTORE
        | op::MONITORENTER => Interest::Access,
        op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => Interest::Call,
        _ => Interest::None,
    }
}

/// Where a site is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SiteInfo {
    pub method: usize,
    pub at: u32,
    pub kind: SiteKind,
}

/// All methods that have sites.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub methods: Vec<Rc<Method>>,
    pub sites: FxHashMap<u32, SiteInfo>,
    /// By hash: the texts in the code that have it.
    pub texts: FxHashMap<i32, Vec<Rc<str>>>,
    fields: FxHashMap<String, u32>,
}

impl Code {
    /// Classes that cannot be read are left out; their records are skipped.
    pub(super) fn read(log: &PathLog) -> Self {
        let mut code = Self::default();
        for (bytes, sites) in &log.classes {
            let Ok(class) = ClassFile::parse(bytes) else { continue };
            let mut by_method: FxHashMap<u32, Vec<(u32, u32, SiteKind)>> = FxHashMap::default();
            for (number, site) in (sites.first..).zip(&sites.sites) {
                by_method.entry(site.0).or_default().push((number, site.1, site.2));
            }
            for (at, method) in class.methods().iter().enumerate() {
                let own = by_method.remove(&(at as u32));
                if let (Some(own), Some(bytecode)) = (own, method.code()) {
                    code.add(&class, method, bytecode, &own);
                }
            }
        }
        code
    }

    fn add(
        &mut self,
        class: &ClassFile<'_>,
        method: &untorn_bytecode::Method<'_>,
        bytecode: &Bytecode<'_>,
        sites: &[(u32, u32, SiteKind)],
    ) {
        let Ok(instrs) = bytecode.instructions().collect::<Result<Vec<_>, _>>() else { return };
        let index: FxHashMap<u32, u32> =
            instrs.iter().zip(0..).map(|(instr, at)| (instr.pc, at)).collect();
        let place = |pc: u32| index.get(&pc).copied().unwrap_or(instrs.len() as u32);
        let number = self.methods.len();
        let mut completed: FxHashMap<u32, u32> = FxHashMap::default();
        for &(site, pc, kind) in sites {
            let at = place(pc);
            self.sites.insert(site, SiteInfo { method: number, at, kind });
            if !matches!(kind, SiteKind::Enter | SiteKind::Catch) {
                completed.insert(at, site);
            }
        }
        let ops = instrs.iter().zip(0..).map(|(instr, at)| Op {
            opcode: instr.opcode,
            operand: self.operand(class, instr, &place),
            site: completed.get(&at).copied().unwrap_or(0),
        });
        let ops = ops.collect();
        let handlers = bytecode
            .handlers()
            .map(|handler| [place(handler.start), place(handler.end), place(handler.target)]);
        self.methods.push(Rc::new(Method {
            target: Target {
                class: class.name().to_owned(),
                name: method.name().to_owned(),
                descriptor: method.descriptor().to_owned(),
            },
            is_static: method.is_static(),
            parameters: kinds(method.descriptor()),
            max_locals: usize::from(bytecode.max_locals()),
            handlers: handlers.collect(),
            lines: instrs.iter().map(|instr| bytecode.line_of(instr.pc).unwrap_or(0)).collect(),
            ops,
        }));
    }

    fn operand(
        &mut self,
        class: &ClassFile<'_>,
        instr: &Instr<'_>,
        place: &dyn Fn(u32) -> u32,
    ) -> Operand {
        let pool = class.pool();
        if let Some(local) = instr.local() {
            return Operand::Local(local, instr.immediate().unwrap_or(0));
        }
        if let Some(number) = instr.immediate() {
            return Operand::Int(number);
        }
        if matches!(instr.opcode, op::TABLESWITCH | op::LOOKUPSWITCH) {
            let cases = instr.cases().map(|(key, target)| (key, place(target))).collect();
            let default = instr.target().map_or(0, place);
            return Operand::Switch(Rc::new((cases, default)));
        }
        if let Some(target) = instr.target() {
            return Operand::Jump(place(target));
        }
        if instr.opcode == op::INVOKEDYNAMIC {
            let at = u16::from_be_bytes([instr.bytes[1], instr.bytes[2]]);
            return dynamic(class, at).unwrap_or(Operand::None);
        }
        let Some(index) = instr.pool_index() else { return Operand::None };
        match instr.opcode {
            op::LDC | op::LDC_W | op::LDC2_W => self.constant(pool, index),
            op::GETFIELD | op::PUTFIELD | op::GETSTATIC | op::PUTSTATIC => {
                let Ok(field) = pool.member(index) else { return Operand::None };
                let name = match instr.opcode {
                    op::GETFIELD | op::PUTFIELD => format!("{} {}", field.name, field.descriptor),
                    _ => format!("{}.{} {}", field.class, field.name, field.descriptor),
                };
                let kind = Kind::of(&field.descriptor).unwrap_or(Kind::Int);
                Operand::Field(self.field(name), kind)
            }
            op::INVOKEVIRTUAL..=op::INVOKEINTERFACE => {
                let Ok(called) = pool.member(index) else { return Operand::None };
                Operand::Call(Rc::new(Call {
                    class: called.class.into_owned(),
                    name: called.name.into_owned(),
                    parameters: kinds(&called.descriptor),
                    descriptor: called.descriptor.into_owned(),
                    is_static: instr.opcode == op::INVOKESTATIC,
                }))
            }
            _ => Operand::None,
        }
    }

    fn constant(&mut self, pool: &Pool<'_>, index: u16) -> Operand {
        if let Some(number) = pool.number(index) {
            return Operand::Number(number);
        }
        let Ok(text) = pool.string(index) else { return Operand::None };
        let text: Rc<str> = text.into();
        let known = self.texts.entry(hash_of(&text)).or_default();
        if !known.contains(&text) {
            known.push(Rc::clone(&text));
        }
        Operand::Text(text)
    }

    /// The number of a field or another part of the heap.
    pub(super) fn field(&mut self, name: String) -> u32 {
        let next = self.fields.len() as u32;
        *self.fields.entry(name).or_insert(next)
    }
}

/// What `String.hashCode` gives.
pub(super) fn hash_of(text: &str) -> i32 {
    text.encode_utf16()
        .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

pub(super) fn kinds(descriptor: &str) -> Vec<Kind> {
    descriptor::parameters(descriptor).filter_map(Kind::of).collect()
}

fn dynamic(class: &ClassFile<'_>, index: u16) -> Option<Operand> {
    let pool = class.pool();
    let called = pool.dynamic(index).ok()?;
    let captured = kinds(&called.descriptor);
    let target = pool.bootstrap(index).ok().and_then(|number| {
        let (maker, arguments) = class.bootstrap_method(number)?;
        let (_, maker) = pool.method_handle(maker).ok()?;
        if maker.class != "java/lang/invoke/LambdaMetafactory" {
            return None;
        }
        let (_, called) = pool.method_handle(*arguments.get(1)?).ok()?;
        Some(Target {
            class: called.class.into_owned(),
            name: called.name.into_owned(),
            descriptor: called.descriptor.into_owned(),
        })
    });
    Some(Operand::Dynamic(Rc::new((captured, target))))
}
