//! What the tests share.

use untorn_codemodel::Jdk;
use untorn_codemodel::body::Linker;
use untorn_codemodel::ids::{ClassId, FieldId, RefId};
use untorn_testkit::java;

/// Tests that need a JDK must not pass without it.
pub fn jdk() -> Jdk {
    Jdk::open(&java::home()).unwrap_or_else(|error| panic!("{error}"))
}

/// For bodies of which no names are asked for.
pub struct NoNames;

impl Linker for NoNames {
    fn class(&mut self, _: &str) -> ClassId {
        ClassId(0)
    }

    fn field(&mut self, _: &str, _: &str, _: &str) -> FieldId {
        FieldId(0)
    }

    fn method(&mut self, _: &str, _: &str, _: &str) -> RefId {
        RefId(0)
    }
}
