//! Rewrites a class so that it records its actions: which probe goes where.
//!
//! Probes of accesses come after the access, probes of monitors before the entry and after the exit, see
//! `UntornProbe`. Code that cannot be rewritten is left unchanged, counted and named, never broken.

mod access;
pub(crate) use access::value_kind;
mod archives;
mod cache;
mod calls;
mod lambdas;
mod library;
mod methods;
mod monitors;
mod paths;
mod references;
mod tracked_calls;
mod unseen;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use untorn_bytecode::{
    ClassEditor, ClassError, ClassFile, Code, Instr, Method, PoolFull, SkipReason, Snippet, op,
};

use untorn_jvm_protocol::path_log::SiteWriter;

use self::cache::Cache;
use self::paths::PathSites;
use crate::classes::Classes;
use crate::explicit_monitors::ExplicitMonitors;
use crate::plans::PlanSites;
use crate::scope::{Depth, Origin, Scope};
use crate::sites::{CodeSite, MethodId, MethodInfo, NamedFields, SiteInfo, SiteKind, Sites};

/// The class of the probes.
pub const PROBE: &str = "java/lang/UntornProbe";

/// The most stack that a probe needs above that of the method: an array, an index, a value of two slots and a site,
/// with copies of array, index and value below.
const STACK: u16 = 9;

/// The inputs of every rewriting, and the tables that it extends.
#[derive(Debug)]
pub struct Rewriter {
    pub scope: Scope,
    pub sites: RwLock<Sites>,
    pub named_fields: NamedFields,
    pub classes: RwLock<Classes>,
    pub plan: PlanSites,
    pub tally: Mutex<Tally>,
    /// In a JVM that makes many runs.
    cache: Cache,
    /// Where the sites of a path log are written, if this run has one.
    path_sites: Option<Mutex<SiteWriter>>,
}

/// A class with its probes.
#[derive(Clone, Debug)]
pub struct Instrumented {
    pub bytes: Vec<u8>,
    /// The methods that are not `synchronized` any more.
    pub monitors: ExplicitMonitors,
}

/// Whether a class has probes already.
pub(crate) fn has_probes(class: &[u8]) -> bool {
    const PREFIX: &[u8] = b"java/lang/Untorn";
    class.windows(PREFIX.len()).any(|window| window == PREFIX)
}

/// Statistics of what was rewritten and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Classes and methods of the application that are recorded in full.
    pub application_classes: u64,
    pub application_methods: u64,
    /// Classes of the JDK whose accesses are recorded.
    pub library_classes: u64,
    /// Classes of which only the monitors are recorded.
    pub lock_classes: u64,
    /// Classes and methods that are left unchanged, each with its reason; the first few by name.
    pub skipped_classes: u64,
    pub skipped_methods: u64,
    pub skipped: Vec<String>,
    /// Features used by the application that are not recorded.
    pub unseen: BTreeSet<String>,
}

impl Tally {
    const NAMED: usize = 20;

    /// The form in which the trace stores it.
    pub fn coverage(&self) -> untorn_trace::Coverage {
        untorn_trace::Coverage {
            application_classes: self.application_classes,
            application_methods: self.application_methods,
            library_classes: self.library_classes,
            lock_classes: self.lock_classes,
            skipped_classes: self.skipped_classes,
            skipped_methods: self.skipped_methods,
            skipped: self.skipped.clone(),
            unseen: self.unseen.iter().cloned().collect(),
        }
    }

    fn skip(&mut self, what: String) {
        if self.skipped.len() < Self::NAMED {
            self.skipped.push(what);
        }
    }
}

/// Reasons why a class is left unchanged.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    #[error(transparent)]
    Class(#[from] ClassError),
    #[error("its constant pool has no room for probes")]
    PoolFull(#[from] PoolFull),
}

impl Rewriter {
    pub fn new(scope: Scope, plan: PlanSites) -> Self {
        Self {
            scope,
            sites: RwLock::default(),
            named_fields: NamedFields::default(),
            classes: RwLock::default(),
            plan,
            tally: Mutex::default(),
            cache: Cache::default(),
            path_sites: None,
        }
    }

    /// The class with its probes; `None` if it needs none or cannot have them.
    pub fn rewrite(&self, bytes: &[u8], depth: Depth) -> Option<Instrumented> {
        self.rewrite_as(bytes, depth, None)
    }

    /// The same for a loaded class that another agent redefines without its probes. The modifiers of its methods stay
    /// what they are for the JVM: these methods, and no others, get explicit monitors.
    pub fn rewrite_redefined(
        &self,
        name: &str,
        bytes: &[u8],
        origin: Origin,
        monitors: &ExplicitMonitors,
    ) -> Option<Vec<u8>> {
        // A class that was loaded before there was an agent cannot be rewritten now: its methods may be running.
        if !self.classes.read().unwrap_or_else(PoisonError::into_inner).knows(name) {
            return None;
        }
        // It was counted when it was loaded.
        let counted = self.tally().clone();
        let rewritten = self.rewrite_as(bytes, self.scope.depth(name, origin), Some(monitors));
        *self.tally() = counted;
        Some(rewritten?.bytes)
    }

    fn rewrite_as(
        &self,
        bytes: &[u8],
        depth: Depth,
        monitors: Option<&ExplicitMonitors>,
    ) -> Option<Instrumented> {
        let class = match ClassFile::parse(bytes) {
            Ok(class) => class,
            Err(error) => {
                self.skip_class("a class that cannot be read", &error.into());
                return None;
            }
        };
        let mut classes = self.classes.write().unwrap_or_else(PoisonError::into_inner);
        classes.add(&class, depth >= Depth::Accesses);
        drop(classes);
        if depth == Depth::Untouched {
            return None;
        }
        match self.edit(&class, bytes, depth, monitors) {
            Ok(rewritten) => rewritten,
            Err(error) => {
                self.skip_class(class.name(), &error);
                None
            }
        }
    }

    /// From now on code of the application logs what it computes.
    pub(crate) fn log_paths(&mut self, sites: SiteWriter) {
        self.path_sites = Some(Mutex::new(sites));
    }

    fn edit(
        &self,
        class: &ClassFile<'_>,
        bytes: &[u8],
        depth: Depth,
        monitors: Option<&ExplicitMonitors>,
    ) -> Result<Option<Instrumented>, RewriteError> {
        let mut edit = ClassEdit::new(self, class, depth);
        edit.may_have_monitors = monitors;
        let path_sites = self.path_sites.as_ref().filter(|_| depth == Depth::Application);
        let mut path_sites =
            path_sites.map(|sites| sites.lock().unwrap_or_else(PoisonError::into_inner));
        edit.paths = path_sites.as_ref().map(|sites| PathSites::from(sites.next_site()));
        edit.hold_referents()?;
        edit.add_stream_hash()?;
        for index in 0..class.methods().len() {
            edit.method(index)?;
        }
        if !edit.touched {
            // A class of the application without shared accesses is counted as well.
            if depth == Depth::Application {
                self.count(class, depth, 0, &[]);
            }
            return Ok(None);
        }
        let (methods, mut monitors) = (edit.methods, std::mem::take(&mut edit.monitors));
        if let (Some(writer), Some(paths)) = (&mut path_sites, edit.paths.take()) {
            // Without its sites the log cannot be read, which its reader says.
            let _ = writer.add(bytes, paths.sites);
        }
        let rewritten = edit.editor.finish()?;
        self.count(class, depth, methods, &rewritten.skipped);
        for (index, _) in &rewritten.skipped {
            monitors.remove(&class.methods()[*index]);
        }
        Ok(Some(Instrumented { bytes: rewritten.bytes, monitors }))
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(
        &self,
        class: &ClassFile<'_>,
        depth: Depth,
        methods: u64,
        skipped: &[(usize, SkipReason)],
    ) {
        let mut tally = self.tally();
        let rewritten = methods.saturating_sub(skipped.len() as u64);
        match depth {
            Depth::Application => {
                tally.application_classes += 1;
                tally.application_methods += rewritten;
            }
            Depth::Accesses => tally.library_classes += 1,
            Depth::Locks => tally.lock_classes += 1,
            Depth::Untouched | Depth::Initialiser => {}
        }
        tally.skipped_methods += skipped.len() as u64;
        for (index, reason) in skipped {
            let method = class.methods().get(*index).map_or("?", Method::name);
            tally.skip(format!("{}.{method}: {reason}", class.name().replace('/', ".")));
        }
    }

    fn skip_class(&self, name: &str, error: &RewriteError) {
        let mut tally = self.tally();
        tally.skipped_classes += 1;
        tally.skip(format!("{}: {error}", name.replace('/', ".")));
    }
}

/// A class being edited.
struct ClassEdit<'r, 'a> {
    rewriter: &'r Rewriter,
    class: &'a ClassFile<'a>,
    editor: ClassEditor<'a>,
    depth: Depth,
    file: String,
    /// Something was changed, in that many methods.
    touched: bool,
    methods: u64,
    /// By method, cached: whether it accesses shared state.
    touching: Vec<bool>,
    paths: Option<PathSites>,
    /// The methods that got explicit monitors, and the only ones that may.
    monitors: ExplicitMonitors,
    may_have_monitors: Option<&'r ExplicitMonitors>,
}

impl<'r, 'a> ClassEdit<'r, 'a> {
    fn new(rewriter: &'r Rewriter, class: &'a ClassFile<'a>, depth: Depth) -> Self {
        let file = class.source_file().unwrap_or_default().into_owned();
        let editor = ClassEditor::new(class);
        Self {
            rewriter,
            class,
            editor,
            depth,
            file,
            touched: false,
            methods: 0,
            touching: Vec::new(),
            paths: None,
            monitors: ExplicitMonitors::default(),
            may_have_monitors: None,
        }
    }

    /// Whether the JVM's compiler may replace the method by an intrinsic (`Arrays.copyOf`): its probes would stop
    /// recording at a moment that differs between runs. The options that the launcher passes disable the intrinsics
    /// of string builders, and methods with a monitor are no intrinsics any more once the monitor is made explicit.
    fn may_vanish(&self, method: &Method<'_>) -> bool {
        let is_text = self.class.name().starts_with("java/lang/String");
        self.depth <= Depth::Accesses && !is_text && method.is_intrinsic(self.class.pool())
    }

    fn method(&mut self, index: usize) -> Result<(), RewriteError> {
        let method = &self.class.methods()[index];
        if self.depth == Depth::Application {
            unseen::note_native(&mut self.rewriter.tally(), self.class.name(), method);
        }
        let Some(code) = method.code() else { return Ok(()) };
        // The JVM treats an empty finaliser as none; with code in it, every object would have to be finalised.
        if method.name() == "finalize" && code.bytes().len() <= 1 {
            return Ok(());
        }
        if self.may_vanish(method) {
            return Ok(());
        }
        // A method whose code cannot be decoded is rejected by the JVM.
        let Ok(instrs) = code.instructions().collect::<Result<Vec<_>, _>>() else { return Ok(()) };
        let id = {
            let mut sites = self.rewriter.sites.write().unwrap_or_else(PoisonError::into_inner);
            sites.add_method(MethodInfo {
                class: self.class.name().to_owned(),
                name: method.name().to_owned(),
                descriptor: method.descriptor().to_owned(),
                file: self.file.clone(),
                is_static: method.is_static(),
                is_library: self.depth < Depth::Application,
            })
        };
        let mut edit = MethodPass {
            class: self,
            index,
            id,
            method,
            code,
            scratch: None,
            spilled: None,
            edits: 0,
            made: Vec::new(),
        };
        edit.path_begins(&instrs)?;
        edit.wraps(&instrs)?;
        edit.lambda_maker(&instrs)?;
        if edit.class.depth >= Depth::Locks {
            edit.instructions(&instrs)?;
        }
        if edit.edits > 0 {
            self.editor.method(index).grow_stack(STACK);
            self.touched = true;
            self.methods += 1;
        }
        Ok(())
    }
}

/// One method being edited.
struct MethodPass<'c, 'r, 'a> {
    class: &'c mut ClassEdit<'r, 'a>,
    index: usize,
    id: MethodId,
    method: &'a Method<'a>,
    code: &'a Code<'a>,
    /// Local variables for values that cannot stay on the stack.
    scratch: Option<u16>,
    /// The same for the operands of calls.
    spilled: Option<u16>,
    /// How many changes were made.
    edits: usize,
    /// Whether the objects under construction, the outermost first, are on the stack twice.
    made: Vec<bool>,
}

impl<'a> MethodPass<'_, '_, 'a> {
    fn instructions(&mut self, instrs: &[Instr<'a>]) -> Result<(), RewriteError> {
        // An object must not be used before its constructor has called another one.
        let initialised = self.method.initialised_from(self.class.class).unwrap_or(0);
        // Where the last branch stands.
        let mut decision = None;
        for instr in instrs {
            let unit = self.tracked_call_begins(instr)?;
            // Beside the access: at the next probe the thread may lose the token.
            self.path_after(instr, initialised)?;
            match instr.opcode {
                op::MONITORENTER | op::MONITOREXIT => self.monitor(instr)?,
                op::INVOKEVIRTUAL | op::INVOKESTATIC | op::INVOKEINTERFACE => self.call(instr)?,
                _ if self.class.depth < Depth::Accesses => self.spin(instr)?,
                op::INVOKESPECIAL => self.copy_of_object(instr)?,
                op::GETFIELD | op::PUTFIELD if instr.pc >= initialised => self.field(instr)?,
                op::GETSTATIC | op::PUTSTATIC => self.global(instr)?,
                opcode if access::is_element(opcode) => self.element(instr)?,
                opcode if access::is_decision(opcode) => {
                    decision = Some(instr.pc);
                    self.branch(instr)?;
                }
                // A loop without a branch of its own: its thread would never let others run.
                op::GOTO | op::GOTO_W
                    if instr.target().is_some_and(|to| to <= instr.pc && decision < Some(to)) =>
                {
                    self.branch(instr)?;
                }
                _ => {}
            }
            // After every other probe of the call.
            if let Some(unit) = unit {
                self.tracked_call_ends(instr, unit)?;
            }
        }
        Ok(())
    }

    /// Threads also spin inside of java.util.concurrent, and must be preempted there.
    fn spin(&mut self, instr: &Instr<'a>) -> Result<(), RewriteError> {
        let goes_back = instr.target().is_some_and(|target| target <= instr.pc);
        if goes_back && self.class.class.name().starts_with("java/util/concurrent/") {
            self.branch(instr)?;
        }
        Ok(())
    }

    fn branch(&mut self, instr: &Instr<'a>) -> Result<(), RewriteError> {
        let probe = self.probe("branch", "()V")?;
        self.before(instr.pc, Snippet::new().invokestatic(probe));
        Ok(())
    }

    /// The method reference of a probe.
    fn probe(&mut self, name: &str, descriptor: &str) -> Result<u16, RewriteError> {
        Ok(self.class.editor.pool().methodref(PROBE, name, descriptor)?)
    }

    fn site(&mut self, pc: u32, what: SiteKind) -> CodeSite {
        let line = self.code.line_of(pc).map_or(0, u32::from);
        let mut sites = self.class.rewriter.sites.write().unwrap_or_else(PoisonError::into_inner);
        sites.add(SiteInfo { method: self.id, pc, line, what })
    }

    /// A call of a probe whose last argument is the site.
    fn call_probe(
        &mut self,
        code: Snippet,
        site: CodeSite,
        name: &str,
        descriptor: &str,
    ) -> Result<Snippet, RewriteError> {
        let probe = self.probe(name, descriptor)?;
        let code = code.int(site.0.cast_signed(), self.class.editor.pool())?;
        Ok(code.invokestatic(probe))
    }

    fn before(&mut self, pc: u32, code: Snippet) {
        self.class.editor.method(self.index).before(pc, code);
        self.edits += 1;
    }

    fn after(&mut self, pc: u32, code: Snippet) {
        self.class.editor.method(self.index).after(pc, code);
        self.edits += 1;
    }

    fn replace(&mut self, pc: u32, code: Snippet) {
        self.class.editor.method(self.index).replace(pc, code);
        self.edits += 1;
    }

    /// Two slots of local variables that the method does not use.
    fn scratch(&mut self) -> u16 {
        let (editor, index) = (&mut self.class.editor, self.index);
        *self.scratch.get_or_insert_with(|| editor.method(index).scratch_local(2))
    }

    /// If the plan names this access, the thread calls the scheduler before it.
    fn planned(&mut self, pc: u32, site: CodeSite) -> Result<(), RewriteError> {
        let code = self.ask(site)?;
        if !code.is_empty() {
            self.before(pc, code);
        }
        Ok(())
    }

    /// The code of that call; empty for a site that the plan does not name.
    fn ask(&mut self, site: CodeSite) -> Result<Snippet, RewriteError> {
        let rewriter = self.class.rewriter;
        if rewriter.plan.is_empty() {
            return Ok(Snippet::new());
        }
        let sites = rewriter.sites.read().unwrap_or_else(PoisonError::into_inner);
        let named = sites.get(site).is_some_and(|info| {
            let method = sites.method(info.method);
            method.is_some_and(|method| rewriter.plan.find(site, method, info))
        });
        drop(sites);
        let code = Snippet::new();
        // A place that only the next run may name has a probe that looks whether it is named.
        let probe = if rewriter.plan.bits().is_some() { "asked" } else { "planned" };
        if named { self.call_probe(code, site, probe, "(I)V") } else { Ok(code) }
    }
}
