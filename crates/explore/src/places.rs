//! Places of the program that mean the same in every run, and how plans name them.

use untorn_schedule::{AccessKind, Place, Spot};
use untorn_trace::{Event, Op, SiteId, Tables};

/// A place, as text that does not depend on the run: the instruction if the front end tells it,
/// else file and line.
pub(crate) fn key(tables: &Tables, site: SiteId) -> Option<String> {
    let site = tables.sites.get(site)?;
    if site.loc.contains('@') {
        Some(format!("{}.{}{}", site.class, site.method, site.loc))
    } else if site.line > 0 {
        Some(format!("{}:{}", site.file, site.line))
    } else {
        None
    }
}

/// The place of an event as a plan names it; `None` if a plan cannot.
pub(crate) fn planned(tables: &Tables, event: &Event) -> Option<Place> {
    let kind = match event.op {
        Op::Read { .. } => AccessKind::Read,
        Op::Write { .. } => AccessKind::Write,
        Op::Acquire { .. } => AccessKind::Acquire,
        Op::Release { .. } => AccessKind::Release,
        _ => return None,
    };
    let site = tables.sites.get(event.site)?;
    let (descriptor, pc) = site.loc.rsplit_once('@')?;
    let spot = Spot::MethodPc {
        class: site.class.to_owned(),
        method: site.method.to_owned(),
        descriptor: descriptor.to_owned(),
        pc: pc.parse().ok()?,
    };
    Some(Place { spot, kind: Some(kind) })
}

/// `Account#3.balance` without the number of the object, `Account.balance`: the same field of
/// another object is the same to who reads the code. An index of an array goes the same way.
pub(crate) fn field(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '#' => while chars.next_if(char::is_ascii_digit).is_some() {},
            '[' => {
                while chars.next_if(|&c| c != ']').is_some() {}
                out.push('[');
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_field_is_called_the_same_in_every_object() {
        assert_eq!(super::field("Account#17.balance"), "Account.balance");
        assert_eq!(super::field("Grid#2.rows[14]"), "Grid.rows[]");
        assert_eq!(super::field("Counter.count"), "Counter.count");
    }
}
