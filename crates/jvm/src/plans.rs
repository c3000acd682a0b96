//! Which places of the code a plan names.

use std::sync::{PoisonError, RwLock};

use rustc_hash::FxHashMap;
use untorn_schedule::{AccessKind, Place, Plan, PlanSite, Spot};

use crate::sites::{CodeSite, MethodInfo, SiteInfo, What};

/// The places of a plan, and the places in the code that were found to be them.
#[derive(Debug, Default)]
pub struct PlanSites {
    places: Vec<Place>,
    found: RwLock<FxHashMap<CodeSite, Vec<PlanSite>>>,
}

impl PlanSites {
    pub fn new(plan: &Plan) -> Self {
        Self { places: plan.places().into_iter().cloned().collect(), ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Looks whether the plan names this place, and remembers it.
    pub(crate) fn find(&self, site: CodeSite, method: &MethodInfo, info: &SiteInfo) -> bool {
        let named = self.places.iter().enumerate();
        let named = named.filter(|(_, place)| is_at(place, method, info));
        let named: Vec<_> = named.map(|(index, _)| PlanSite(index as u32)).collect();
        let any = !named.is_empty();
        if any {
            let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
            found.insert(site, named);
        }
        any
    }

    pub(crate) fn at(&self, site: CodeSite) -> Vec<PlanSite> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        found.get(&site).cloned().unwrap_or_default()
    }

    /// Places that no class so far has: a plan that names them cannot be followed.
    pub fn missing(&self) -> Vec<String> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        let seen = |index: usize| found.values().flatten().any(|site| site.0 as usize == index);
        let places = self.places.iter().enumerate();
        places.filter(|(index, _)| !seen(*index)).map(|(_, place)| place.to_string()).collect()
    }
}

fn is_at(place: &Place, method: &MethodInfo, info: &SiteInfo) -> bool {
    let class_is = |class: &str| {
        let full = method.class.replace('/', ".");
        full == class || full.rsplit('.').next() == Some(class)
    };
    let there = match &place.spot {
        Spot::FileLine { file, line } => method.file == *file && info.line == *line,
        Spot::MethodLine { class, method: name, line } => {
            class_is(class) && method.name == *name && info.line == *line
        }
        Spot::MethodPc { class, method: name, descriptor, pc } => {
            class_is(class)
                && method.name == *name
                && method.descriptor == *descriptor
                && info.pc == *pc
        }
    };
    there && place.kind.is_none_or(|kind| kind_of(&info.what) == Some(kind))
}

fn kind_of(what: &What) -> Option<AccessKind> {
    match what {
        What::Field { write, .. } | What::Global { write, .. } | What::Element { write, .. } => {
            Some(if *write { AccessKind::Write } else { AccessKind::Read })
        }
        What::Enter { .. } => Some(AccessKind::Acquire),
        What::Exit { .. } => Some(AccessKind::Release),
        _ => None,
    }
}
