//! The meaning of a site for the trace, determined when it first records something.

use rustc_hash::{FxHashMap, FxHashSet};
use untorn_native_protocol::NativeSetup;
use untorn_trace::formats::utr::ShapeMemo;
use untorn_trace::glob;
use untorn_trace::ids::{LabelId, SiteId};
use untorn_trace::tables::{CodePosition, LabelFacts, Site as TraceSite, SiteFacts, Tables};

use crate::modules;
use crate::sites::{Kind, Site};
use crate::symbols::{self, CodePlace};

#[derive(Clone, Copy, Debug)]
pub(super) struct Meaning {
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) site: SiteId,
    /// The function, or for an acquisition the critical section that begins there.
    pub(super) label: LabelId,
    /// A function that is meant to be atomic.
    pub(super) is_named: bool,
    /// Code of streams, which the library of the language locks by itself: its accesses are nobody's business.
    pub(super) is_stream: bool,
    /// Code that comes with the language: it is its caller's.
    pub(super) is_transparent: bool,
    /// Where its memo is.
    pub(super) memo: u32,
}

/// By site.
#[derive(Default)]
pub(super) struct Meanings {
    known: Vec<Option<Meaning>>,
    /// Of code that comes with the language, by the place in the user's code from which it was called.
    called: FxHashMap<(u32, usize), Meaning>,
    memos: Vec<ShapeMemo>,
    functions: FxHashSet<LabelId>,
}

impl Meanings {
    pub(super) fn get(&self, site: u32) -> Option<Meaning> {
        self.known.get(site as usize).copied().flatten()
    }

    fn new_memo(&mut self) -> u32 {
        self.memos.push(ShapeMemo::default());
        self.memos.len() as u32 - 1
    }

    pub(super) fn set(&mut self, meaning: Meaning) -> Meaning {
        let meaning = Meaning { memo: self.new_memo(), ..meaning };
        let index = meaning.number as usize;
        if index >= self.known.len() {
            self.known.resize(index + 1, None);
        }
        self.known[index] = Some(meaning);
        if meaning.kind == Kind::Enter {
            self.functions.insert(meaning.label);
        }
        meaning
    }

    pub(super) fn called_from(&self, site: u32, caller: usize) -> Option<Meaning> {
        self.called.get(&(site, caller)).copied()
    }

    pub(super) fn set_called(&mut self, caller: usize, meaning: Meaning) -> Meaning {
        let meaning = Meaning { memo: self.new_memo(), ..meaning };
        self.called.insert((meaning.number, caller), meaning);
        meaning
    }

    pub(super) fn memo(&mut self, meaning: &Meaning) -> &mut ShapeMemo {
        &mut self.memos[meaning.memo as usize]
    }

    /// Functions that were seen, and whether there are any.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.functions.len() as u64, u64::from(!self.known.is_empty()))
    }
}

pub(super) fn find(tables: &mut Tables, setup: &NativeSetup, site: Option<Site>) -> Meaning {
    let site = site.unwrap_or(Site {
        pc: 0,
        kind: Kind::Thread,
        order: untorn_trace::MemoryOrder::Unknown,
    });
    describe(tables, setup, site, symbols::place_of(site.pc))
}

/// The same site as the line of the user's code that called it.
pub(super) fn find_called(
    tables: &mut Tables,
    setup: &NativeSetup,
    (meaning, site): (Meaning, Option<Site>),
    caller: usize,
) -> Meaning {
    let place = symbols::place_of(caller);
    match site.filter(|_| !place.is_library) {
        Some(site) => {
            let found = describe(tables, setup, site, place);
            Meaning { number: meaning.number, is_transparent: true, ..found }
        }
        None => meaning,
    }
}

fn describe(tables: &mut Tables, setup: &NativeSetup, site: Site, place: CodePlace) -> Meaning {
    let excluded = |pattern: &String| {
        glob::matches(pattern, &place.function) || glob::matches(pattern, &place.file)
    };
    let is_library = place.is_library || setup.exclude.iter().any(excluded);
    // A function is what its machine code is: the place of its first instruction may be of another one.
    let function = match site.kind {
        Kind::Enter | Kind::Leave => &place.outermost,
        _ => &place.function,
    };
    let text = match site.kind {
        Kind::Acquire | Kind::AcquireShared => format!("{function} (lock)"),
        _ => function.clone(),
    };
    let label = tables.labels.intern(if text.is_empty() { "unknown function" } else { &text });
    let (class, method) = class_and_method(function);
    let facts = LabelFacts {
        class: tables.sites.intern_symbol(class),
        method: tables.sites.intern_symbol(method),
        is_library,
        is_entry: tables.label_facts(label).is_entry,
    };
    tables.set_label_facts(label, facts);
    let is_named = setup
        .atomic
        .iter()
        .any(|pattern| glob::matches(pattern, function) || glob::matches(pattern, method));
    let id = intern(tables, &site, &place, is_library);
    Meaning {
        number: 0,
        kind: site.kind,
        site: id,
        label,
        is_named,
        is_stream: place.is_library && is_stream(&place.file),
        // What has no debug information may be the user's.
        is_transparent: place.is_library && !place.file.is_empty(),
        memo: 0,
    }
}

/// Whether a header of C++ is about streams.
fn is_stream(file: &str) -> bool {
    const STREAMS: [&str; 11] = [
        "ostream",
        "istream",
        "iostream",
        "streambuf",
        "basic_ios",
        "ios_base",
        "ios",
        "locale",
        "fstream",
        "sstream",
        "stdio_sync_filebuf",
    ];
    let name = file.rsplit('/').next().unwrap_or(file);
    file.contains("/c++/") && STREAMS.iter().any(|stream| name.starts_with(stream))
}

fn intern(tables: &mut Tables, site: &Site, place: &CodePlace, is_library: bool) -> SiteId {
    let (class, method) = class_and_method(&place.function);
    let (module, offset) = modules::place_of(site.pc).unwrap_or(("?", site.pc as u64));
    tables.sites.intern(&TraceSite {
        file: &place.file,
        line: place.line,
        method,
        class,
        position: CodePosition::Module { module, offset },
        facts: SiteFacts { is_library, access_size: 0, order: site.order },
        inlined_into: None,
    })
}

/// `Bank::Account` and `pay` of `Bank::Account::pay`; colons between angle brackets do not count.
fn class_and_method(function: &str) -> (&str, &str) {
    let mut depth = 0_i32;
    let bytes = function.as_bytes();
    for at in (1..bytes.len()).rev() {
        match bytes[at] {
            b'>' => depth += 1,
            b'<' => depth -= 1,
            b':' if depth == 0 && bytes[at - 1] == b':' && at > 1 && at + 1 < bytes.len() => {
                return (&function[..at - 1], &function[at + 1..]);
            }
            _ => {}
        }
    }
    ("", function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_stands_behind_its_class() {
        assert_eq!(class_and_method("transfer"), ("", "transfer"));
        assert_eq!(class_and_method("Bank::Account::pay"), ("Bank::Account", "pay"));
        assert_eq!(class_and_method("<T as a::B>::go"), ("<T as a::B>", "go"));
        assert_eq!(class_and_method("std::vector<a::b>"), ("std", "vector<a::b>"));
        assert_eq!(class_and_method(""), ("", ""));
    }
}
