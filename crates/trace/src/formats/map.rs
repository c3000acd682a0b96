//! Files mapped into memory.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a file for reading from its start to its end.
///
/// Hazard: if another process cuts the file short while it is mapped, reading after its new end
/// kills this one with `SIGBUS`. One that grows or is replaced by renaming does no harm.
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is read-only and private to this process. That no process writes to the file
    // meanwhile cannot be enforced; readers treat the bytes as untrusted and never read one twice
    // on the assumption that it stayed the same where that would matter for memory safety.
    let map = unsafe { Mmap::map(file)? };
    // Only a hint: without it, reading is slower and nothing else.
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(map)
}
