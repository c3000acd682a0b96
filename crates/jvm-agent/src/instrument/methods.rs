//! Probes around whole methods: blocks, activations, class initialisers, and internal code of the JDK.

use untorn_bytecode::{Instr, Kind, Snippet, Wrap, access, op};

use super::{ClassEdit, MethodPass, RewriteError, access as accesses};
use crate::scope::Depth;
use crate::sites::SiteKind;

/// How a method of the JDK is wrapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Special {
    /// The JVM calls it at any point, whenever it needs something: its actions are not those of the program, and a
    /// thread that is preempted there may block the others.
    Machinery,
    /// When it returns, the program begins. In a JVM that makes many runs it does not: they are made in it.
    Launcher,
    /// The program ends by itself; its argument is the exit code.
    Exit,
    /// When it returns, the thread has ended or its time limit has passed.
    Join,
    /// This probe goes before it.
    Before(&'static str),
    /// This probe goes after it, if it does not throw.
    After(&'static str),
    /// This probe gets its result and its receiver, and returns another result.
    Result {
        probe: &'static str,
        descriptor: &'static str,
    },
    /// It starts the finaliser thread. That thread and `main` would race to be the first that needs a class, and
    /// classes get their identities in the order in which they are needed.
    Finaliser,
    /// It fills its argument, or the array that it returns, with random bytes of the operating system.
    FillsRandomly,
    GivesRandom,
}

/// The class that makes many runs.
const SERVER: &str = "java/lang/UntornServer";

const SUREFIRE_MAP: &str = "org/apache/maven/surefire/api/util/internal/ImmutableMap";

const SYSTEM_RANDOM: &str = "sun/security/provider/NativePRNG$RandomIO";
const HANDLER: &str = "startReferenceHandlerThread";
const INSTRUMENTATION: &str = "sun/instrument/InstrumentationImpl";
const STATE: &str = "(Ljava/lang/Thread$State;Ljava/lang/Thread;)Ljava/lang/Thread$State;";
const LOADED: Special = Special::Result {
    probe: "loaded",
    descriptor: "([Ljava/lang/Class;Ljava/lang/Object;)[Ljava/lang/Class;",
};
const SEEDS: &str = "sun/security/provider/SeedGenerator";

const SPECIAL: &[(&str, &str, &str, Special)] = &[
    ("java/lang/ClassLoader", "loadClass", "(Ljava/lang/String;)", Special::Machinery),
    ("java/lang/invoke/MethodHandleNatives", "linkCallSite", "", Special::Machinery),
    ("java/lang/invoke/MethodHandleNatives", "linkDynamicConstant", "", Special::Machinery),
    ("java/lang/invoke/MethodHandleNatives", "linkMethod", "", Special::Machinery),
    ("java/lang/invoke/MethodHandleNatives", "linkMethodHandleConstant", "", Special::Machinery),
    ("java/lang/invoke/MethodHandleNatives", "findMethodHandleType", "", Special::Machinery),
    ("java/lang/invoke/MethodType", "makeImpl", "", Special::Machinery),
    ("java/lang/invoke/VarForm", "resolveMemberName", "", Special::Machinery),
    // Archives are cached by name and by the modification time of their file.
    ("jdk/internal/loader/URLClassPath", "getLoader", "", Special::Machinery),
    ("java/util/zip/ZipFile$Source", "get", "", Special::Machinery),
    ("java/util/zip/ZipFile$Source", "release", "", Special::Machinery),
    // Surefire, in the JVM of a test, puts properties into a set that contain names of files that are new in each
    // run.
    (SUREFIRE_MAP, "entrySet", "", Special::Machinery),
    ("sun/launcher/LauncherHelper", "checkAndLoadMain", "", Special::Launcher),
    ("java/lang/Thread", "join", "(J)V", Special::Join),
    ("java/lang/Thread", "exit", "()V", Special::Machinery),
    ("java/lang/Thread", "getState", "()", Special::Result { probe: "state", descriptor: STATE }),
    (INSTRUMENTATION, "addTransformer", "", Special::After("transformerAdded")),
    (INSTRUMENTATION, "getAllLoadedClasses", "", LOADED),
    (INSTRUMENTATION, "getInitiatedClasses", "", LOADED),
    // The program has ended: the JVM ends, whatever the threads are doing.
    ("java/lang/Shutdown", "exit", "(I)V", Special::Exit),
    ("java/lang/Shutdown", "halt", "(I)V", Special::Exit),
    ("java/lang/ref/Finalizer", "<clinit>", "", Special::Finaliser),
    ("java/lang/ref/Finalizer", "startFinalizerThread", "", Special::Finaliser),
    // As for the finaliser thread: the thread that enqueues references first loads the classes that cleaners need,
    // and the cleaner thread waits for a queue and loads the classes for that.
    ("java/lang/ref/Reference", HANDLER, "", Special::Before("loadCleaner")),
    ("jdk/internal/ref/CleanerImpl", "start", "", Special::Before("loadQueue")),
    (SYSTEM_RANDOM, "implNextBytes", "([B)V", Special::FillsRandomly),
    (SYSTEM_RANDOM, "implGenerateSeed", "(I)[B", Special::GivesRandom),
    (SEEDS, "generateSeed", "([B)V", Special::FillsRandomly),
    (SEEDS, "getSystemEntropy", "()[B", Special::GivesRandom),
];

impl<'a> MethodPass<'_, '_, 'a> {
    /// The first wrap is the outermost.
    pub(super) fn wraps(&mut self, instrs: &[Instr<'a>]) -> Result<(), RewriteError> {
        if self.method.is_constructor() {
            return Ok(());
        }
        self.special()?;
        self.orders_inside()?;
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
            let is_listed = self.class.rewriter.scope.has_activations(class, name);
            if is_listed || self.touches_twice(instrs) || !self.tracked_calls().is_empty() {
                self.marks(SiteKind::Call, SiteKind::Return)?;
            }
            if self.class.rewriter.scope.is_atomic(class, name) {
                self.marks(SiteKind::Begin, SiteKind::End)?;
            }
        }
        if self.can_have_explicit_monitor() {
            self.make_monitor_explicit()?;
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
                let pool = self.class.editor.pool();
                let serve = pool.methodref(SERVER, "serve", "(ILjava/lang/String;)V")?;
                let enter = Snippet::new().load(Kind::Int, 1).load(Kind::Reference, 2);
                let enter = enter.invokestatic(serve);
                Wrap { enter, before_return: plain(begins), ..Wrap::default() }
            }
            Special::Exit => {
                let name = if method.name() == "halt" { "programHalts" } else { "programExits" };
                let probe = self.probe(name, "(I)V")?;
                let enter = Snippet::new().load(Kind::Int, 0).invokestatic(probe);
                Wrap { enter, ..Wrap::default() }
            }
            Special::Before(name) => {
                let probe = self.probe(name, "()V")?;
                Wrap { enter: plain(probe), ..Wrap::default() }
            }
            Special::After(name) => {
                let probe = self.probe(name, "()V")?;
                Wrap { before_return: plain(probe), ..Wrap::default() }
            }
            Special::Result { probe, descriptor } => {
                let probe = self.probe(probe, descriptor)?;
                let code = Snippet::new().op(op::ALOAD_0).invokestatic(probe);
                Wrap { before_return: code, ..Wrap::default() }
            }
            Special::Finaliser => {
                let level = self.class.editor.pool().methodref(
                    "jdk/internal/misc/VM",
                    "initLevel",
                    "()I",
                )?;
                let code = Snippet::new().invokestatic(level).op(op::POP);
                Wrap { enter: code, ..Wrap::default() }
            }
            Special::FillsRandomly => {
                let random = self.probe("random", "([B)V")?;
                let argument = u16::from(!method.is_static());
                let code = Snippet::new().load(Kind::Reference, argument).invokestatic(random);
                Wrap { before_return: code, ..Wrap::default() }
            }
            Special::GivesRandom => {
                let random = self.probe("random", "([B)V")?;
                let code = Snippet::new().op(op::DUP).invokestatic(random);
                Wrap { before_return: code, ..Wrap::default() }
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
        let (suspend, resume) =
            (self.probe("suspendRecording", "()V")?, self.probe("resumeRecording", "()V")?);
        self.put_around(Snippet::new().invokestatic(suspend), Snippet::new().invokestatic(resume));
        Ok(())
    }

    fn initialiser(&mut self) -> Result<(), RewriteError> {
        let (begin, end) =
            (self.site(0, SiteKind::BeginInitialiser), self.site(0, SiteKind::EndInitialiser));
        let enter = self.call_probe(Snippet::new(), begin, "beginInitialiser", "(I)V")?;
        let before_return = self.call_probe(Snippet::new(), end, "endInitialiser", "(I)V")?;
        let handler = self.call_probe(Snippet::new(), end, "failInitialiser", "(I)V")?;
        self.class.editor.method(self.index).wrap(Wrap { enter, before_return, handler });
        self.edits += 1;
        Ok(())
    }

    fn marks(&mut self, begin: SiteKind, end: SiteKind) -> Result<(), RewriteError> {
        let (begin, end) = (self.site(0, begin), self.site(0, end));
        let enter = if self.method.is_static() || self.code.writes_local0(self.class.class.pool()) {
            self.call_probe(Snippet::new(), begin, "mark", "(I)V")?
        } else {
            let this = Snippet::new().op(op::ALOAD_0);
            self.call_probe(this, begin, "mark", "(Ljava/lang/Object;I)V")?
        };
        let out = self.call_probe(Snippet::new(), end, "mark", "(I)V")?;
        self.put_around(enter, out);
        Ok(())
    }

    fn put_around(&mut self, enter: Snippet, out: Snippet) {
        let wrap = Wrap { enter, before_return: out.clone(), handler: out };
        self.class.editor.method(self.index).wrap(wrap);
        self.edits += 1;
    }

    /// Whether one activation may access shared state or acquire locks at least twice: such a method may be an
    /// undeclared atomic block.
    fn touches_twice(&mut self, instrs: &[Instr<'a>]) -> bool {
        if self.method.access() & access::BRIDGE != 0 {
            return false;
        }
        let mut touching = 0;
        for instr in instrs {
            touching += usize::from(self.touches(instr));
        }
        touching >= 2 || (touching == 1 && self.code.has_loop())
    }

    fn touches(&mut self, instr: &Instr<'a>) -> bool {
        match self.class.touch(instr) {
            Touch::Nothing => false,
            Touch::Shared => true,
            Touch::Calls(callee) => self.class.touching()[callee],
        }
    }
}

/// The effect of an instruction on state that other threads may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Touch {
    Nothing,
    Shared,
    /// The effect of a method of the same class.
    Calls(usize),
}

impl<'a> ClassEdit<'_, 'a> {
    fn touch(&self, instr: &Instr<'a>) -> Touch {
        match instr.opcode {
            op::GETFIELD..=op::PUTFIELD | op::GETSTATIC | op::PUTSTATIC => {
                if self.field_of(instr).is_some() { Touch::Shared } else { Touch::Nothing }
            }
            op::MONITORENTER => Touch::Shared,
            op::INVOKEVIRTUAL | op::INVOKESTATIC | op::INVOKEINTERFACE | op::INVOKESPECIAL => {
                let called = instr.pool_index().map(|index| self.class.pool().member(index));
                let Some(Ok(called)) = called else { return Touch::Nothing };
                let is_plain = called.class.starts_with("java/lang/")
                    || called.class.starts_with("java/io/")
                    || &*called.name == "<init>";
                let shares = called.class.starts_with("java/lang/StringBu")
                    || &*called.class == "java/lang/invoke/VarHandle";
                if is_plain && !shares {
                    return Touch::Nothing;
                }
                let own = (*called.class == *self.class.name()).then(|| {
                    self.class.methods().iter().position(|method| {
                        method.name() == &*called.name && method.descriptor() == &*called.descriptor
                    })
                });
                // A method that a subclass may override counts by its effect in this class.
                own.flatten().map_or(Touch::Shared, Touch::Calls)
            }
            opcode if accesses::is_element(opcode) => Touch::Shared,
            _ => Touch::Nothing,
        }
    }

    /// By method: whether it accesses shared state, itself or through methods of its class.
    fn touching(&mut self) -> &[bool] {
        if self.touching.is_empty() {
            self.touching = self.find_touching();
        }
        &self.touching
    }

    fn find_touching(&self) -> Vec<bool> {
        let methods = self.class.methods();
        let mut touching: Vec<bool> =
            methods.iter().map(|method| method.access() & access::SYNCHRONIZED != 0).collect();
        let mut calls: Vec<(usize, usize)> = Vec::new();
        for (index, method) in methods.iter().enumerate() {
            let instrs = method.code().into_iter().flat_map(|code| code.instructions().flatten());
            for instr in instrs {
                match self.touch(&instr) {
                    Touch::Nothing => {}
                    Touch::Shared => touching[index] = true,
                    Touch::Calls(callee) => calls.push((index, callee)),
                }
            }
        }
        loop {
            let before = touching.iter().filter(|&&touches| touches).count();
            for &(caller, callee) in &calls {
                touching[caller] |= touching[callee];
            }
            if touching.iter().filter(|&&touches| touches).count() == before {
                return touching;
            }
        }
    }
}
