//! Texts, each kept once.

use rustc_hash::FxHashMap;

use crate::ids::Sym;

/// All names and descriptors of the classes that were read.
#[derive(Debug, Default)]
pub struct Names {
    texts: Vec<Box<str>>,
    known: FxHashMap<Box<str>, Sym>,
}

impl Names {
    pub fn intern(&mut self, text: &str) -> Sym {
        if let Some(&sym) = self.known.get(text) {
            return sym;
        }
        let sym = Sym::new(self.texts.len());
        self.texts.push(text.into());
        self.known.insert(text.into(), sym);
        sym
    }

    pub fn find(&self, text: &str) -> Option<Sym> {
        self.known.get(text).copied()
    }

    pub fn text(&self, sym: Sym) -> &str {
        &self.texts[sym.at()]
    }
}
