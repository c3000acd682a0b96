//! What addresses are called: functions and lines of code, global variables and their parts.
//!
//! A module is read when something in it is first asked for. What has no debug information has at most the names of
//! its functions.

mod globals;
mod lines;

use std::fs;

use addr2line::Context;
use gimli::{Dwarf, EndianSlice, LittleEndian};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use untorn_runtime::sync::Lock;
use untorn_trace::ValueKind;

use crate::modules::{self, Module};
use globals::Globals;

pub(crate) use lines::CodePlace;

/// Debug information that lives as long as the process.
type Bytes = EndianSlice<'static, LittleEndian>;

/// What is known of one module.
struct Symbols {
    module: Module,
    lines: Option<Context<Bytes>>,
    globals: Globals,
    /// Functions and variables by address: where each begins and ends in the module, and its name.
    names: Vec<(u64, u64, &'static str)>,
}

// SAFETY: one thread at a time uses it, behind the lock below; nothing in it belongs to a thread.
unsafe impl Send for Symbols {}

static SYMBOLS: Lock<Vec<Symbols>> = Lock::new(Vec::new());

/// A part of a global variable that has a type of its own, or what an address is without one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    /// `accounts[3].balance`
    pub(crate) name: String,
    /// The same for every element of an array: `accounts[].balance`.
    pub(crate) member: String,
    /// Where the part begins, and how long it is; 0 if that is not known.
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) is_element: bool,
    pub(crate) values: Values,
}

/// How the values of a variable are to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Values {
    pub(crate) kind: ValueKind,
    pub(crate) signed: bool,
}

impl Default for Values {
    /// Most numbers in C are signed.
    fn default() -> Self {
        Self { kind: ValueKind::Int, signed: true }
    }
}

fn with<T>(address: usize, body: impl FnOnce(&Symbols, u64) -> Option<T>) -> Option<T> {
    let module = modules::of(address)?;
    let mut all = SYMBOLS.lock();
    let known = all.iter().position(|symbols| symbols.module == module);
    let index = known.unwrap_or_else(|| {
        all.push(Symbols::read(&module));
        all.len() - 1
    });
    body(&all[index], (address - module.base) as u64)
}

/// The function at an address, by its symbol.
pub(crate) fn function_at(address: usize) -> Option<String> {
    with(address, |symbols, at| symbols.name(at).map(|(name, _)| demangled(name)))
}

/// The place of the instruction before a return address.
pub(crate) fn place_of(pc: usize) -> CodePlace {
    let found = with(pc, |symbols, at| {
        let place = symbols.lines.as_ref().and_then(|lines| lines::find(lines, at - 1));
        place.or_else(|| {
            let (name, _) = symbols.name(at - 1)?;
            Some(CodePlace::of_function(demangled(name)))
        })
    });
    found.unwrap_or_default()
}

/// The global variable, or the part of one, at these bytes.
pub(crate) fn global_at(address: usize) -> Option<Named> {
    with(address, |symbols, at| {
        let named = symbols.globals.find(at);
        let named = named.or_else(|| {
            let (name, from) = symbols.name(at)?;
            let name = demangled(name);
            let offset = at - from;
            let suffix = if offset == 0 { String::new() } else { format!("+{offset}") };
            Some(Named {
                name: format!("{name}{suffix}"),
                member: format!("{name}{suffix}"),
                address: at as usize,
                size: 0,
                is_element: false,
                values: Values::default(),
            })
        })?;
        Some(Named { address: named.address + symbols.module.base, ..named })
    })
}

/// Words for an address, for messages.
pub(crate) fn name_of_memory(address: usize) -> String {
    match global_at(address).filter(|_| modules::is_static(address)) {
        Some(named) => named.name,
        None => format!("at {address:#x}"),
    }
}

fn demangled(name: &str) -> String {
    // Else a function of C that is called `w` would be `wchar_t`.
    if !["_Z", "_R", "__Z"].iter().any(|prefix| name.starts_with(prefix)) {
        return name.to_owned();
    }
    addr2line::demangle_auto(name.into(), None).into_owned()
}

impl Symbols {
    fn read(module: &Module) -> Self {
        let nothing = Self {
            module: module.clone(),
            lines: None,
            globals: Globals::default(),
            names: Vec::new(),
        };
        // A module that is gone, as one that was replaced while the program runs, has no names.
        let Ok(bytes) = fs::read(module.path) else { return nothing };
        let bytes: &'static [u8] = bytes.leak();
        let Ok(file) = object::File::parse(bytes) else { return nothing };
        let mut names: Vec<(u64, u64, &'static str)> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data))
            .filter(|symbol| symbol.is_definition())
            .filter_map(|symbol| {
                let (from, size) = (symbol.address(), symbol.size().max(1));
                Some((from, from + size, symbol.name().ok()?))
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        let section = |id: gimli::SectionId| -> Result<Bytes, gimli::Error> {
            let data = file.section_by_name(id.name()).and_then(|section| section.data().ok());
            Ok(EndianSlice::new(data.unwrap_or_default(), LittleEndian))
        };
        let dwarf = || Dwarf::load(section).ok();
        Self {
            lines: dwarf().and_then(|dwarf| Context::from_dwarf(dwarf).ok()),
            globals: dwarf().map(Globals::read).unwrap_or_default(),
            names,
            ..nothing
        }
    }

    /// The symbol that an address is in, and where that begins.
    fn name(&self, at: u64) -> Option<(&'static str, u64)> {
        let behind = self.names.partition_point(|&(from, ..)| from <= at);
        let before = self.names[..behind].iter().rev().take(8);
        before.into_iter().find(|(_, to, _)| at < *to).map(|&(from, _, name)| (name, from))
    }
}

/// What a lock or its like at an address is called: the largest part of a variable that begins there, or the variable
/// it is in.
pub(crate) fn global_object(address: usize) -> Option<String> {
    with(address, |symbols, at| {
        let named = symbols.globals.object(at);
        named.or_else(|| symbols.name(at).map(|(name, _)| demangled(name)))
    })
}
