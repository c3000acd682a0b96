//! Places of the program that mean the same in every run, and how plans name them.

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
        CodePosition::Module { .. } => Some(site.position.to_string()),
        _ if site.line > 0 => Some(format!("{}:{}", site.file, site.line)),
        _ => None,
    }
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
