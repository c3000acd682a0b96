//! The code positions at which a plan or a policy has to be asked.

use std::sync::{PoisonError, RwLock};

use rustc_hash::FxHashMap;
use untorn_schedule::{Access, AccessKind, CodePoint, PlanPoint, PointIndex};
use untorn_trace::event as trace;

use crate::ask_bits::AskBits;
use crate::sites::{CodeSite, MethodInfo, Reached, SiteInfo, SiteKind, Sites};

/// Facts of a code position at which threads ask the scheduler.
#[derive(Clone, Debug, Default)]
pub(crate) struct AskedSite {
    /// The plan's points, or the marks, that match it.
    pub(crate) named: Vec<PointIndex>,
    /// The variable that is accessed here, if the policy needs it.
    pub(crate) access: Option<Access>,
}

/// What a run wants to be asked about.
#[derive(Debug, Default)]
struct Wanted {
    points: Vec<PlanPoint>,
    /// Threads ask before every access and every acquisition.
    everything: bool,
}

/// The points of a plan or of marks, and the points in the code that were found to be them.
#[derive(Debug, Default)]
pub struct PlanSites {
    wanted: RwLock<Wanted>,
    found: RwLock<FxHashMap<CodeSite, AskedSite>>,
    /// Variables that may be the same have the same number.
    variables: RwLock<FxHashMap<String, u32>>,
    /// In a JVM that makes many runs every place has a probe, because the next run may want to be asked there.
    any_run: Option<AnyRun>,
}

/// What a JVM that makes many runs needs.
#[derive(Debug)]
struct AnyRun {
    bits: AskBits,
    /// Places in the code by their file and by the short name of their class.
    index: RwLock<FxHashMap<String, Vec<CodeSite>>>,
}

impl PlanSites {
    pub fn new(points: Vec<PlanPoint>, everything: bool) -> Self {
        Self { wanted: RwLock::new(Wanted { points, everything }), ..Self::default() }
    }

    /// For a JVM that makes many runs; `None` if there is no memory.
    pub(crate) fn of_any_run() -> Option<Self> {
        let any_run = AnyRun { bits: AskBits::new()?, index: RwLock::default() };
        Some(Self { any_run: Some(any_run), ..Self::default() })
    }

    pub fn is_empty(&self) -> bool {
        let wanted = self.wanted.read().unwrap_or_else(PoisonError::into_inner);
        wanted.points.is_empty() && !wanted.everything && self.any_run.is_none()
    }

    /// Where the probes find out whether they ask, in a JVM that makes many runs.
    pub(crate) fn bits(&self) -> Option<&AskBits> {
        self.any_run.as_ref().map(|any| &any.bits)
    }

    /// Another run begins, which wants to be asked elsewhere.
    pub(crate) fn renew(&self, points: Vec<PlanPoint>, everything: bool, sites: &Sites) {
        let Some(AnyRun { bits, index }) = &self.any_run else { return };
        let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
        found.drain().for_each(|(site, _)| bits.set(site, false));
        drop(found);
        let index = index.read().unwrap_or_else(PoisonError::into_inner);
        let near: Vec<CodeSite> = points
            .iter()
            .filter_map(|point| index.get(key_of(point)?))
            .flatten()
            .copied()
            .collect();
        *self.wanted.write().unwrap_or_else(PoisonError::into_inner) =
            Wanted { points, everything };
        drop(index);
        for site in near {
            if let Some((method, info)) = sites.find(site) {
                self.look(site, method, info, false);
            }
        }
    }

    /// Looks whether threads ask at this place, and remembers it. True if it needs a probe.
    pub(crate) fn find(&self, site: CodeSite, method: &MethodInfo, info: &SiteInfo) -> bool {
        let Some(any) = &self.any_run else { return self.look(site, method, info, true) };
        let mut index = any.index.write().unwrap_or_else(PoisonError::into_inner);
        for key in [method.file.as_str(), short(&method.class, '/')] {
            match index.get_mut(key) {
                Some(sites) => sites.push(site),
                None => drop(index.insert(key.to_owned(), vec![site])),
            }
        }
        drop(index);
        self.look(site, method, info, false);
        true
    }

    fn look(&self, site: CodeSite, method: &MethodInfo, info: &SiteInfo, accesses: bool) -> bool {
        let wanted = self.wanted.read().unwrap_or_else(PoisonError::into_inner);
        let named = wanted.points.iter().enumerate();
        let named = named.filter(|(_, point)| is_at(point, method, info));
        let named: Vec<_> = named.map(|(index, _)| PointIndex(index as u32)).collect();
        let access = if wanted.everything { self.access(&info.what) } else { None };
        let any = !named.is_empty() || (accesses && access.is_some());
        if any {
            let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
            found.insert(site, AskedSite { named, access });
            drop(found);
            if let Some(bits) = self.bits() {
                bits.set(site, true);
            }
        }
        any
    }

    /// The variable that is accessed at a site, as far as the code determines it: the field, but not of which object.
    fn access(&self, what: &SiteKind) -> Option<Access> {
        let write = kind_of(what)? != AccessKind::Read;
        let name = match what {
            // The class that declares the field is not known yet.
            SiteKind::Field { field, .. } | SiteKind::Global { field, .. } => {
                format!("{} {}", field.name, field.descriptor)
            }
            SiteKind::Element { element, .. } => format!("{element}[]"),
            SiteKind::Reached { what, .. } => match what {
                Reached::Field(field) => format!("{} {}", field.name, field.descriptor),
                Reached::Element { element, .. } => format!("{element}[]"),
                Reached::NamedField => "named".to_owned(),
            },
            SiteKind::Enter { .. } | SiteKind::Lock { .. } => "monitor".to_owned(),
            _ => return None,
        };
        let mut variables = self.variables.write().unwrap_or_else(PoisonError::into_inner);
        let new = variables.len() as u32;
        Some(Access { what: *variables.entry(name).or_insert(new), write })
    }

    pub(crate) fn at(&self, site: CodeSite, sites: &RwLock<Sites>) -> Option<AskedSite> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(asked) = found.get(&site) {
            return Some(asked.clone());
        }
        drop(found);
        // Only in a JVM that makes many runs do threads ask where nothing was found beforehand.
        self.any_run.as_ref()?;
        let sites = sites.read().unwrap_or_else(PoisonError::into_inner);
        let (method, info) = sites.find(site)?;
        self.look(site, method, info, true);
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        found.get(&site).cloned()
    }

    /// Points that match no class so far: a plan that names them cannot be followed.
    pub fn missing(&self) -> Vec<String> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        let seen = |index: usize| {
            found.values().flat_map(|asked| &asked.named).any(|site| site.0 as usize == index)
        };
        let wanted = self.wanted.read().unwrap_or_else(PoisonError::into_inner);
        let points = wanted.points.iter().enumerate();
        points.filter(|(index, _)| !seen(*index)).map(|(_, point)| point.to_string()).collect()
    }
}

/// What the index has a place under.
fn key_of(point: &PlanPoint) -> Option<&str> {
    match &point.code_point {
        CodePoint::FileLine { file, .. } => Some(file),
        CodePoint::MethodLine { class, .. } | CodePoint::MethodPc { class, .. } => {
            Some(short(class, '.'))
        }
        CodePoint::ModuleOffset { .. } => None,
    }
}

fn short(class: &str, separator: char) -> &str {
    class.rsplit(separator).next().unwrap_or(class)
}

fn is_at(point: &PlanPoint, method: &MethodInfo, info: &SiteInfo) -> bool {
    let class_is = |class: &str| {
        let full = method.class.replace('/', ".");
        full == class || full.rsplit('.').next() == Some(class)
    };
    let there = match &point.code_point {
        CodePoint::FileLine { file, line } => method.file == *file && info.line == *line,
        CodePoint::MethodLine { class, method: name, line } => {
            class_is(class) && method.name == *name && info.line == *line
        }
        CodePoint::MethodPc { class, method: name, descriptor, pc } => {
            class_is(class)
                && method.name == *name
                && method.descriptor == *descriptor
                && info.pc == *pc
        }
        // Native code has no position in a class.
        CodePoint::ModuleOffset { .. } => false,
    };
    there && point.kind.is_none_or(|kind| is_of_kind(&info.what, kind))
}

/// Threads ask once for both halves of an update, before its read.
fn is_of_kind(what: &SiteKind, kind: AccessKind) -> bool {
    let whole = matches!(what, SiteKind::Reached { access: trace::Access::Update, .. });
    kind_of(what) == Some(kind) || (whole && kind == AccessKind::Write)
}

fn kind_of(what: &SiteKind) -> Option<AccessKind> {
    match what {
        SiteKind::Field { write, .. }
        | SiteKind::Global { write, .. }
        | SiteKind::Element { write, .. } => {
            Some(if *write { AccessKind::Write } else { AccessKind::Read })
        }
        SiteKind::Reached { write, .. } => {
            Some(if *write { AccessKind::Write } else { AccessKind::Read })
        }
        SiteKind::Enter { .. } | SiteKind::Lock { .. } => Some(AccessKind::Acquire),
        SiteKind::Exit { .. } | SiteKind::Unlock { .. } => Some(AccessKind::Release),
        _ => None,
    }
}
