//! The code positions at which a plan or a policy has to be asked.

use std::sync::{PoisonError, RwLock};

use rustc_hash::FxHashMap;
use untorn_schedule::{Access, AccessKind, CodePoint, PlanPoint, PlanSite};
use untorn_trace::event as trace;

use crate::sites::{CodeSite, MethodInfo, Reached, SiteInfo, SiteKind};

/// Facts of a code position at which threads ask the scheduler.
#[derive(Clone, Debug, Default)]
pub(crate) struct AskedSite {
    /// The plan's points, or the marks, that match it.
    pub(crate) named: Vec<PlanSite>,
    /// The variable that is accessed here, if the policy needs it.
    pub(crate) access: Option<Access>,
}

/// The points of a plan or the marks, and the sites that were found to match them.
#[derive(Debug, Default)]
pub struct PlanSites {
    points: Vec<PlanPoint>,
    /// Threads ask before every access and every acquisition.
    everything: bool,
    found: RwLock<FxHashMap<CodeSite, AskedSite>>,
    /// Variables that may be the same have the same number.
    variables: RwLock<FxHashMap<String, u32>>,
}

impl PlanSites {
    pub fn new(points: Vec<PlanPoint>, everything: bool) -> Self {
        Self { points, everything, ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && !self.everything
    }

    /// Determines whether threads ask at this site, and remembers it.
    pub(crate) fn find(&self, site: CodeSite, method: &MethodInfo, info: &SiteInfo) -> bool {
        let named = self.points.iter().enumerate();
        let named = named.filter(|(_, point)| is_at(point, method, info));
        let named: Vec<_> = named.map(|(index, _)| PlanSite(index as u32)).collect();
        let access = if self.everything { self.access(&info.what) } else { None };
        let any = !named.is_empty() || access.is_some();
        if any {
            let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
            found.insert(site, AskedSite { named, access });
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

    pub(crate) fn at(&self, site: CodeSite) -> AskedSite {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        found.get(&site).cloned().unwrap_or_default()
    }

    /// Points that match no class so far: a plan that names them cannot be followed.
    pub fn missing(&self) -> Vec<String> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        let seen = |index: usize| {
            found.values().flat_map(|asked| &asked.named).any(|site| site.0 as usize == index)
        };
        let points = self.points.iter().enumerate();
        points.filter(|(index, _)| !seen(*index)).map(|(_, point)| point.to_string()).collect()
    }
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
