//! Streams out of archives get no identity.
//!
//! The JVM loads classes of its own accord: its compiler wants those that the signature of a hot method names, and
//! when a method is hot differs from run to run. Class loaders read archives, and an archive keeps its open streams
//! in a hash set; there each stream would get an identity, which shifts those of all objects after it. So these
//! classes, which nobody outside of the JDK can name, get a hash code of their own. It is the same for all streams:
//! what it costs is a walk over the open streams of one archive.

use untorn_bytecode::{Body, access, op};

use super::{ClassEdit, RewriteError};

const STREAMS: &[&str] = &[
    "java/util/zip/ZipFile$ZipFileInputStream",
    "java/util/zip/ZipFile$ZipFileInflaterInputStream",
];
const HASH_CODE: (&str, &str) = ("hashCode", "()I");

impl ClassEdit<'_, '_> {
    /// Does so if the class is one of those.
    pub(super) fn level_streams(&mut self) -> Result<(), RewriteError> {
        let is_named = STREAMS.contains(&self.class.name());
        let mut methods = self.class.methods().iter();
        if !is_named || methods.any(|one| (one.name(), one.descriptor()) == HASH_CODE) {
            return Ok(());
        }
        let body = Body { code: &[op::ICONST_0, op::IRETURN], max_stack: 1, max_locals: 1 };
        self.editor.add_method(access::PUBLIC, HASH_CODE.0, HASH_CODE.1, body)?;
        self.touched = true;
        Ok(())
    }
}
