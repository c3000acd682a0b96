//! Which code belongs to the project that is run, and not to a library.

use std::collections::BTreeSet;

/// The classes of a project. Empty if nobody knows: then all code may be its own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OwnCode {
    classes: BTreeSet<String>,
    packages: BTreeSet<String>,
}

impl OwnCode {
    /// A class of the project.
    pub fn add_class(&mut self, name: &str) {
        self.classes.insert(outermost(name).to_owned());
    }

    /// A class of the project with all that is in its package or below.
    pub fn add_package_of(&mut self, class: &str) {
        match class.rsplit_once('.') {
            Some((package, _)) => drop(self.packages.insert(package.to_owned())),
            None => self.add_class(class),
        }
    }

    /// Whether a class belongs to the project. Classes inside of others, and those made at run time for them, do as well.
    pub fn has(&self, class: &str) -> bool {
        if self.classes.is_empty() && self.packages.is_empty() {
            return true;
        }
        let inside = class.match_indices('.').map(|(dot, _)| &class[..dot]);
        self.classes.contains(outermost(class))
            || inside.into_iter().any(|package| self.packages.contains(package))
    }
}

/// `com.acme.Bank` of `com.acme.Bank$Account`.
fn outermost(class: &str) -> &str {
    match class.char_indices().skip(1).find(|&(_, letter)| letter == '$') {
        Some((end, _)) => &class[..end],
        None => class,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_inside_of_others_belong_to_the_same_project() {
        let mut own = OwnCode::default();
        assert!(own.has("org.lib.Pool"), "nobody knows");
        own.add_class("com.acme.Bank");
        own.add_package_of("com.acme.web.Main");
        own.add_package_of("Main");
        for class in ["com.acme.Bank", "com.acme.Bank$1", "com.acme.web.Main", "com.acme.web.a.B"] {
            assert!(own.has(class), "{class}");
        }
        for class in ["org.lib.Pool", "com.acme.Other", "com.acme.webs.A", "Other"] {
            assert!(!own.has(class), "{class}");
        }
        assert!(own.has("Main$Task"));
    }
}
