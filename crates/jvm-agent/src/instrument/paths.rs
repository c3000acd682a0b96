//! Probes of a path log: what a re-execution of the code cannot compute by itself. Only runs that are asked for one have
//! them.

use rustc_hash::FxHashSet;
use untorn_bytecode::{Instr, Kind, Snippet, descriptor, op};
use untorn_jvm_protocol::path_log::{PathSite, SiteKind};

use super::access::argument;
use super::{MethodPass, RewriteError};
use crate::scope::Depth;

/// The class of these probes.
const PATH: &str = "java/lang/UntornPath";

/// The sites of a class under way.
#[derive(Debug)]
pub(super) struct PathSites {
    first: u32,
    pub(super) sites: Vec<PathSite>,
}

impl PathSites {
    pub(super) fn from(first: u32) -> Self {
        Self { first, sites: Vec::new() }
    }
}

impl<'a> MethodPass<'_, '_, 'a> {
    /// The number of a new site; `None` in runs without a path log.
    fn path_site(&mut self, pc: u32, kind: SiteKind) -> Option<i32> {
        let paths = self.class.paths.as_mut()?;
        let number = paths.first + paths.sites.len() as u32;
        paths.sites.push(PathSite(self.index as u32, pc, kind));
        Some(number.cast_signed())
    }

    fn path_probe(
        &mut self,
        code: Snippet,
        site: i32,
        name: &str,
        descriptor: &str,
    ) -> Result<Snippet, RewriteError> {
        let probe = self.class.editor.pool().methodref(PATH, name, descriptor)?;
        Ok(code.int(site, self.class.editor.pool())?.invokestatic(probe))
    }

    /// Where the method begins, and where its handlers do.
    pub(super) fn path_begins(&mut self, instrs: &[Instr<'a>]) -> Result<(), RewriteError> {
        if self.class.paths.is_none() || self.class.depth != Depth::Application {
            return Ok(());
        }
        let Some(site) = self.path_site(0, SiteKind::Enter) else { return Ok(()) };
        let mut code = self.path_probe(Snippet::new(), site, "done", "(I)V")?;
        let mut slot = 0;
        let mut kinds = Vec::new();
        if !self.method.is_static() {
            if !self.method.is_constructor() {
                kinds.push((Kind::Reference, slot));
            }
            slot += 1;
        }
        for parameter in descriptor::parameters(self.method.descriptor()) {
            let Some(kind) = Kind::of(parameter) else { break };
            kinds.push((kind, slot));
            slot += kind.slots();
        }
        for (kind, slot) in kinds {
            let descriptor = format!("({})V", argument(kind));
            let more = self.class.editor.pool().methodref(PATH, "more", &descriptor)?;
            code = code.load(kind, slot).invokestatic(more);
        }
        self.class.editor.method(self.index).prologue(code);
        self.edits += 1;
        let targets: FxHashSet<u32> = self.code.handlers().map(|handler| handler.target).collect();
        for instr in instrs.iter().filter(|instr| targets.contains(&instr.pc)) {
            let Some(site) = self.path_site(instr.pc, SiteKind::Catch) else { continue };
            let copy = Snippet::new().op(op::DUP);
            let code = self.path_probe(copy, site, "value", "(Ljava/lang/Object;I)V")?;
            self.before(instr.pc, code);
        }
        Ok(())
    }

    /// The record of an instruction that has completed, if it needs one. `initialised` is where the object of a
    /// constructor may be used from.
    pub(super) fn path_after(
        &mut self,
        instr: &Instr<'a>,
        initialised: u32,
    ) -> Result<(), RewriteError> {
        if self.class.paths.is_none() {
            return Ok(());
        }
        match instr.opcode {
            op::GETFIELD if instr.pc < initialised => Ok(()),
            op::GETFIELD | op::GETSTATIC => {
                let found = instr.pool_index().map(|index| self.class.class.pool().member(index));
                let Some(Ok(field)) = found else { return Ok(()) };
                self.path_value(instr.pc, &field.descriptor)
            }
            op::IALOAD..=op::SALOAD => {
                let (kind, ..) = super::access::element_of(instr.opcode);
                self.path_value(instr.pc, argument(kind))
            }
            op::ARRAYLENGTH | op::INSTANCEOF => self.path_value(instr.pc, "I"),
            op::NEWARRAY | op::ANEWARRAY | op::MULTIANEWARRAY => {
                self.path_value(instr.pc, "Ljava/lang/Object;")
            }
            op::LDC | op::LDC_W => self.path_constant(instr),
            op::PUTFIELD | op::PUTSTATIC | op::IASTORE..=op::SASTORE | op::CHECKCAST => {
                self.path_done(instr.pc)
            }
            op::INVOKEVIRTUAL | op::INVOKESTATIC | op::INVOKEINTERFACE | op::INVOKESPECIAL => {
                let found = instr.pool_index().map(|index| self.class.class.pool().member(index));
                let Some(Ok(called)) = found else { return Ok(()) };
                match &*called.name {
                    "<init>" => self.path_made(instr, initialised),
                    _ => self.path_result(instr.pc, &called.descriptor),
                }
            }
            op::INVOKEDYNAMIC => {
                let at = u16::from_be_bytes([instr.bytes[1], instr.bytes[2]]);
                let Ok(called) = self.class.class.pool().dynamic(at) else { return Ok(()) };
                self.path_result(instr.pc, &called.descriptor)
            }
            op::NEW => {
                let next = self.code.bytes().get((instr.pc + instr.len) as usize);
                self.made.push(next == Some(&op::DUP));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn path_done(&mut self, pc: u32) -> Result<(), RewriteError> {
        let Some(site) = self.path_site(pc, SiteKind::Done) else { return Ok(()) };
        let code = self.path_probe(Snippet::new(), site, "done", "(I)V")?;
        self.after(pc, code);
        Ok(())
    }

    fn path_result(&mut self, pc: u32, descriptor: &str) -> Result<(), RewriteError> {
        match descriptor.rsplit(')').next() {
            Some("V") | None => self.path_done(pc),
            Some(result) => self.path_value(pc, result),
        }
    }

    /// The value on top of the stack, of a type.
    fn path_value(&mut self, pc: u32, descriptor: &str) -> Result<(), RewriteError> {
        let Some(kind) = Kind::of(descriptor) else { return Ok(()) };
        let what = match kind {
            Kind::Int => SiteKind::Int,
            Kind::Long => SiteKind::Long,
            Kind::Float => SiteKind::Float,
            Kind::Double => SiteKind::Double,
            Kind::Reference => SiteKind::Object,
        };
        let Some(site) = self.path_site(pc, what) else { return Ok(()) };
        let copy = Snippet::new().op(if kind.slots() == 1 { op::DUP } else { op::DUP2 });
        let code = self.path_probe(copy, site, "value", &format!("({}I)V", argument(kind)))?;
        self.after(pc, code);
        Ok(())
    }

    /// Numbers are in the class file.
    fn path_constant(&mut self, instr: &Instr<'a>) -> Result<(), RewriteError> {
        let pool = self.class.class.pool();
        let Some(index) = instr.pool_index().filter(|&index| pool.number(index).is_none()) else {
            return Ok(());
        };
        let dynamic = pool.dynamic(index).map(|called| called.descriptor.into_owned());
        self.path_value(instr.pc, dynamic.as_deref().unwrap_or("Ljava/lang/Object;"))
    }

    /// The object whose constructor has completed: `this`, or the one that is on top of the stack.
    fn path_made(&mut self, instr: &Instr<'a>, initialised: u32) -> Result<(), RewriteError> {
        let is_this = self.method.is_constructor() && instr.pc + instr.len == initialised;
        let code = match is_this {
            true if self.code.writes_local0(self.class.class.pool()) => return Ok(()),
            true => Snippet::new().op(op::ALOAD_0),
            false if self.made.pop() == Some(true) => Snippet::new().op(op::DUP),
            false => return Ok(()),
        };
        let Some(site) = self.path_site(instr.pc, SiteKind::Made) else { return Ok(()) };
        let code = self.path_probe(code, site, "value", "(Ljava/lang/Object;I)V")?;
        self.after(instr.pc, code);
        Ok(())
    }
}
