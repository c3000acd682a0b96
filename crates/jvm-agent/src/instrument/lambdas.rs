//! Classes that the JDK generates for lambdas and method references. The JVM does not pass them to agents, so they
//! are rewritten where the JDK has generated their bytes. A method reference such as `counter::incrementAndGet` calls
//! the JDK from there; such a class does nothing else that has to be recorded.

use std::sync::PoisonError;

use untorn_bytecode::{ClassFile, Instr, Snippet, op};

use super::{ClassEdit, MethodPass, RewriteError, Rewriter, STACK};
use crate::scope::is_platform;
use crate::scope::{Depth, Origin};
use crate::sites::MethodInfo;

const MAKER: &str = "java/lang/invoke/InnerClassLambdaMetafactory";

impl<'a> MethodPass<'_, '_, 'a> {
    /// Passes the bytes of a new class through the agent. Which call returns them depends on the release of the JDK.
    pub(super) fn lambda_maker(&mut self, instrs: &[Instr<'a>]) -> Result<(), RewriteError> {
        if self.class.class.name() != MAKER {
            return Ok(());
        }
        for instr in instrs.iter().filter(|instr| is_call(instr)) {
            let called = instr.pool_index().map(|index| self.class.class.pool().member(index));
            let Some(Ok(called)) = called else { continue };
            let gives_bytes = matches!(&*called.name, "toByteArray" | "build")
                && called.descriptor.ends_with(")[B");
            if gives_bytes {
                let probe = self.probe("lambda", "([B)[B")?;
                self.after(instr.pc, Snippet::new().invokestatic(probe));
            }
        }
        Ok(())
    }
}

fn is_call(instr: &Instr<'_>) -> bool {
    matches!(instr.opcode, op::INVOKEVIRTUAL | op::INVOKESTATIC | op::INVOKEINTERFACE)
}

impl Rewriter {
    /// The class of a lambda with its probes; `None` if it needs none.
    pub fn rewrite_lambda(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let class = ClassFile::parse(bytes).ok()?;
        let host = class.name().split("$$Lambda").next().unwrap_or_default();
        if self.scope.depth(host, Origin::Elsewhere) != Depth::Application {
            return None;
        }
        let mut edit = ClassEdit::new(self, &class, Depth::Accesses);
        for index in 0..class.methods().len() {
            edit.lambda_method(index, host).ok()?;
        }
        if !edit.touched {
            return None;
        }
        let rewritten = edit.editor.finish().ok()?;
        Some(rewritten.bytes).filter(|_| rewritten.skipped.is_empty())
    }
}

impl ClassEdit<'_, '_> {
    fn lambda_method(&mut self, index: usize, host: &str) -> Result<(), RewriteError> {
        let method = &self.class.methods()[index];
        let Some(code) = method.code().filter(|_| !method.is_constructor()) else { return Ok(()) };
        let Ok(instrs) = code.instructions().collect::<Result<Vec<_>, _>>() else { return Ok(()) };
        let id = {
            let mut sites = self.rewriter.sites.write().unwrap_or_else(PoisonError::into_inner);
            let file = sites.file_of(host).unwrap_or_default().to_owned();
            sites.add_method(MethodInfo {
                class: host.to_owned(),
                name: method.name().to_owned(),
                descriptor: method.descriptor().to_owned(),
                file,
                is_static: method.is_static(),
                is_library: is_platform(host),
            })
        };
        let (scratch, spilled) = (None, None);
        let mut edit = MethodPass {
            class: self,
            index,
            id,
            method,
            code,
            scratch,
            spilled,
            edits: 0,
            made: Vec::new(),
        };
        for instr in instrs.iter().filter(|instr| is_call(instr)) {
            let called = instr.pool_index().map(|index| edit.class.class.pool().member(index));
            if let Some(Ok(called)) = called {
                edit.library(instr, &called)?;
            }
        }
        if edit.edits > 0 {
            self.editor.method(index).grow_stack(STACK);
            self.touched = true;
        }
        Ok(())
    }
}
