//! Streams out of archives get no identity hash code.
//!
//! The JVM loads classes at unpredictable times: its compiler needs those in the signature of a hot method, and when
//! a method becomes hot differs between runs. Class loaders read archives, and an archive keeps its open streams in a
//! hash set; there each stream would get an identity, which shifts those of all later objects. So these classes,
//! which are private to the JDK, get a `hashCode` method. It returns the same for all streams; the cost is a linear
//! search through the open streams of one archive.

use untorn_bytecode::{Body, access, op};

use super::{ClassEdit, RewriteError};

const STREAMS: &[&str] = &[
    "java/util/zip/ZipFile$ZipFileInputStream",
    "java/util/zip/ZipFile$ZipFileInflaterInputStream",
];
const HASH_CODE: (&str, &str) = ("hashCode", "()I");

impl ClassEdit<'_, '_> {
    /// Adds the method if the class is one of those.
    pub(super) fn add_stream_hash(&mut self) -> Result<(), RewriteError> {
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
