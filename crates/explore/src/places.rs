//! Places of the program that mean the same in every run, and how plans name them.

use rustc_hash::FxHashMap;
use untorn_schedule::{AccessKind, CodePoint, PlanPoint};
use untorn_trace::{CodePosition, Event, Op, SiteId, Tables};

/// A place, as text that does not depend on the run: the instruction if the front end tells it,
/// else file and line.
pub(crate) fn key(tables: &Tables, site: SiteId) -> Option<String> {
    let site = tables.sites.get(site)?;
    match site.position {
        CodePosition::Bytecode { offset: Some(_), .. } => {
            Some(format!("{}.{}{}", site.class, site.method, site.position))
        }
        // Code of a library counts as the line that called it, and may be called from several.
        CodePosition::Module { .. } => {
            Some(format!("{} {}:{}", site.position, site.file, site.line))
        }
        _ if site.line > 0 => Some(format!("{}:{}", site.file, site.line)),
        _ => None,
    }
}

/// For each site, the first one of the same instruction: of a library, that is a site for each line that called it, and a
/// plan cannot tell them apart.
pub(crate) fn instructions(tables: &Tables) -> Vec<SiteId> {
    let mut first: FxHashMap<String, SiteId> = FxHashMap::default();
    let own = |id: SiteId| match tables.sites.get(id).map(|site| site.position) {
        Some(position @ CodePosition::Module { .. }) => {
            *first.entry(position.to_string()).or_insert(id)
        }
        _ => id,
    };
    (0..tables.sites.len()).map(SiteId::from_index).map(own).collect()
}

/// The place of an event as a plan names it; `None` if a plan cannot.
pub(crate) fn planned(tables: &Tables, event: &Event) -> Option<PlanPoint> {
    let kind = match event.op {
        Op::Read { .. } => AccessKind::Read,
        Op::Write { .. } => AccessKind::Write,
        Op::Acquire { .. } => AccessKind::Acquire,
        Op::Release { .. } => AccessKind::Release,
        _ => return None,
    };
    let site = tables.sites.get(event.site)?;
    let code_point = match site.position {
        CodePosition::Bytecode { descriptor, offset: Some(pc) } => CodePoint::MethodPc {
            class: site.class.to_owned(),
            method: site.method.to_owned(),
            descriptor: descriptor.to_owned(),
            pc,
        },
        CodePosition::Module { module, offset } => {
            CodePoint::ModuleOffset { module: module.to_owned(), offset }
        }
        _ => return None,
    };
    Some(PlanPoint { code_point, kind: Some(kind) })
}
