//! Whose code a candidate is in.

use untorn_frontend::OwnCode;
use untorn_trace::SiteId;
use untorn_trace::glob::Glob;

use crate::run::{Run, Suspect};

/// Whose code it is. What is smaller is looked at first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Provenance {
    Project,
    Library,
    /// The language's own library.
    Platform,
}

/// A class with code of a candidate.
struct CandidateClass<'r> {
    name: &'r str,
    is_platform: bool,
}

impl Provenance {
    /// That of the block, or of its accesses if these are more the user's.
    pub(crate) fn of(run: &Run, suspect: &Suspect, own: &OwnCode) -> Self {
        let of_class = |class: CandidateClass<'_>| match class.is_platform {
            true => Self::Platform,
            false if own.has(class.name) => Self::Project,
            false => Self::Library,
        };
        classes(run, suspect).map(of_class).min().unwrap_or(Self::Project)
    }
}

/// The classes of the block and of its accesses.
fn classes<'r>(run: &'r Run, suspect: &Suspect) -> impl Iterator<Item = CandidateClass<'r>> {
    let block = run.history.block(suspect.block);
    let is_platform = run.tables.label_facts(block.label).is_library;
    let of_block = run.tables.label_method(block.label);
    let of_block = of_block.map(|(name, _)| CandidateClass { name, is_platform });
    let goal = suspect.goals.first().map_or(&[][..], |goal| &goal.events);
    let own = goal.iter().map(|&at| run.history.event(at));
    let sites: Vec<SiteId> =
        own.filter(|event| event.thread == block.thread).map(|event| event.site).collect();
    let of_site = |site: SiteId| {
        let site = run.tables.sites.get(site).filter(|site| !site.class.is_empty())?;
        Some(CandidateClass { name: site.class, is_platform: site.facts.is_library })
    };
    of_block.into_iter().chain(sites.into_iter().filter_map(of_site))
}

/// The code in which candidates are looked for; all, if there are no patterns.
#[derive(Debug)]
pub(crate) struct CodeScope(Vec<Glob>);

impl CodeScope {
    /// Patterns of classes, or of methods with their classes.
    pub(crate) fn new(patterns: &[String]) -> Self {
        Self(patterns.iter().map(Glob::new).collect())
    }

    pub(crate) fn has(&self, run: &Run, suspect: &Suspect) -> bool {
        let fits = |name: &str| self.0.iter().any(|pattern| pattern.matches(name));
        self.0.is_empty()
            || fits(&suspect.key.method)
            || classes(run, suspect).any(|class| fits(class.name))
    }
}
