//! Probes around whole methods: blocks, activations, class initialisers, and the JDK's machinery.

use untorn_bytecode::{Instr, Snippet, Wrap, access, op};

use super::{MethodPass, RewriteError, access as accesses};
use crate::scope::Depth;
use crate::sites::What;

/// What is done around a method of the JDK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Special {
    /// The JVM calls it in the middle of other code, whenever it happens to need something: what it
    /// does is not the program's doing, and a thread that is stopped there may block the others.
    Machinery,
    /// When it returns, the program begins.
    Launcher,
    /// When it returns, the thread has ended or the time is over.
    Join,
    /// When it is called, the program is over: the JVM ends whatever the threads are doing.
    Halt,
}

const SPECIAL: &[(&str, &str, &str, Special)] = &[
    ("java/lang/ClassLoader", "loadClass", "(Ljava/lang/String;)", Special::Machinery),
    ("java/lang/invoke/MethodHandleNatives", "linkCallSite", "", Special::Machinery),
    ("java/lang/invoke/MethodHandleNatives", "linkDynamicConstant", "", Special::Machinery),
    ("java/lang/invoke/MethodHandleNatives", "linkMethod", "", Special::Machinery),
    ("java/lang/invoke/MethodHandleNatives", "linkMethodHandleConstant", "", Special::Machinery),
    ("java/lang/invoke/MethodHandleNatives", "findMethodHandleType", "", Special::Machinery),
    ("java/lang/invoke/MethodType", "makeImpl", "", Special::Machinery),
    ("java/lang/invoke/VarForm", "resolveMemberName", "", Special::Machinery),
    ("sun/launcher/LauncherHelper", "checkAndLoadMain", "", Special::Launcher),
    ("java/lang/Thread", "join", "(J)V", Special::Join),
    ("java/lang/Thread", "exit", "()V", Special::Machinery),
    ("java/lang/Shutdown", "halt", "(I)V", Special::Halt),
];

impl<'a> MethodPass<'_, '_, 'a> {
    /// The first wrap is the outermost.
    pub(super) fn wraps(&mut self, instrs: &[Instr<'a>]) -> Result<(), RewriteError> {
        if self.method.is_constructor() {
            return Ok(());
        }
        self.special()?;
        let (class, name) = (self.class.class.name(), self.method.name());
        match (name, self.class.depth) {
            ("<clinit>", Depth::Application) => self.initialiser()?,
            ("<clinit>", _) => self.machinery()?,
            _ => {}
        }
        if self.class.depth < Depth::Locks {
            return Ok(());
        }
        if self.class.depth == Depth::Application && name != "<clinit>" {
            if self.touches_twice(instrs) {
                self.marks(What::Call, What::Return)?;
            }
            if self.class.rewriter.scope.is_atomic(class, name) {
                self.marks(What::Begin, What::End)?;
            }
        }
        if self.is_spelled_out() {
            self.spell_out()?;
        }
        Ok(())
    }

    fn special(&mut self) -> Result<(), RewriteError> {
        let (class, method) = (self.class.class.name(), self.method);
        let found = SPECIAL.iter().find(|(in_class, name, descriptor, _)| {
            *in_class == class
                && *name == method.name()
                && method.descriptor().starts_with(descriptor)
        });
        let Some(&(.., special)) = found else { return Ok(()) };
        let plain = |probe| Snippet::new().invokestatic(probe);
        let wrap = match special {
            Special::Machinery => return self.machinery(),
            Special::Launcher => {
                let begins = self.probe("programBegins", "()V")?;
                Wrap { before_return: plain(begins), ..Wrap::default() }
            }
            Special::Halt => {
                let ends = self.probe("programEnds", "()V")?;
                Wrap { enter: plain(ends), ..Wrap::default() }
            }
            Special::Join => {
                let joined = self.probe("joined", "(Ljava/lang/Thread;)V")?;
                let code = Snippet::new().op(op::ALOAD_0).invokestatic(joined);
                Wrap { before_return: code, ..Wrap::default() }
            }
        };
        self.class.editor.method(self.index).wrap(wrap);
        self.edits += 1;
        Ok(())
    }

    /// Neither recorded nor interrupted.
    fn machinery(&mut self) -> Result<(), RewriteError> {
        let (hush, unhush) = (self.probe("hush", "()V")?, self.probe("unhush", "()V")?);
        self.put_around(Snippet::new().invokestatic(hush), Snippet::new().invokestatic(unhush));
        Ok(())
    }

    fn initialiser(&mut self) -> Result<(), RewriteError> {
        let (begin, end) =
            (self.site(0, What::BeginInitialiser), self.site(0, What::EndInitialiser));
        let enter = self.tell(Snippet::new(), begin, "beginInitialiser", "(I)V")?;
        let before_return = self.tell(Snippet::new(), end, "endInitialiser", "(I)V")?;
        let handler = self.tell(Snippet::new(), end, "failInitialiser", "(I)V")?;
        self.class.editor.method(self.index).wrap(Wrap { enter, before_return, handler });
        self.edits += 1;
        Ok(())
    }

    fn marks(&mut self, begin: What, end: What) -> Result<(), RewriteError> {
        let (begin, end) = (self.site(0, begin), self.site(0, end));
        let enter = if self.method.is_static() || self.code.writes_local0() {
            self.tell(Snippet::new(), begin, "mark", "(I)V")?
        } else {
            let this = Snippet::new().op(op::ALOAD_0);
            self.tell(this, begin, "mark", "(Ljava/lang/Object;I)V")?
        };
        let out = self.tell(Snippet::new(), end, "mark", "(I)V")?;
        self.put_around(enter, out);
        Ok(())
    }

    fn put_around(&mut self, enter: Snippet, out: Snippet) {
        let wrap = Wrap { enter, before_return: out.clone(), handler: out };
        self.class.editor.method(self.index).wrap(wrap);
        self.edits += 1;
    }

    /// Whether one activation may touch shared state or take locks at least twice: such a method
    /// may be meant to be atomic without saying so.
    fn touches_twice(&self, instrs: &[Instr<'a>]) -> bool {
        if self.method.access() & access::BRIDGE != 0 {
            return false;
        }
        let touching = instrs.iter().filter(|instr| self.touches(instr)).count();
        touching >= 2 || (touching == 1 && self.code.has_loop())
    }

    fn touches(&self, instr: &Instr<'a>) -> bool {
        match instr.opcode {
            op::GETFIELD..=op::PUTFIELD | op::GETSTATIC | op::PUTSTATIC | op::MONITORENTER => true,
            op::INVOKEVIRTUAL | op::INVOKESTATIC | op::INVOKEINTERFACE | op::INVOKESPECIAL => {
                let called = instr.pool_index().map(|index| self.class.class.pool().member(index));
                let Some(Ok(called)) = called else { return false };
                let is_plain = called.class.starts_with("java/lang/")
                    || called.class.starts_with("java/io/")
                    || &*called.name == "<init>";
                !is_plain || called.class.starts_with("java/lang/StringBu")
            }
            opcode => accesses::is_element(opcode),
        }
    }
}
