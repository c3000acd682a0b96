//! The memory into which the probes log what threads compute: a file that is mapped, so that the log is whole however the
//! JVM ends.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use untorn_jvm_protocol::path_log::{HEADER, MAX_LOG, create_log};

use crate::jni::Jni;

/// Room for the last record, beyond what may be written.
const SPARE: u64 = 1 << 16;

/// Bytes of the table of texts: a bit for each of the objects that the probe knows.
const TEXTS: usize = 1 << 19;

#[derive(Debug)]
pub(crate) struct PathMemory {
    log: usize,
    texts: usize,
}

impl PathMemory {
    pub(crate) fn map(folder: &Path) -> io::Result<Self> {
        let file = create_log(folder)?;
        let shared = libc::MAP_SHARED | libc::MAP_NORESERVE;
        let log = mapped(MAX_LOG as usize, shared, file.as_raw_fd())?;
        let texts = mapped(TEXTS, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        Ok(Self { log, texts })
    }

    /// From now on the probes log.
    pub(crate) fn set_up(&self, jni: Jni) -> Option<()> {
        let class = jni.find_class(c"java/lang/UntornPath")?;
        let set = |name, address: usize| {
            let field = jni.static_field(class, name, c"J")?;
            jni.set_long(class, field, address as i64);
            Some(())
        };
        set(c"base", self.log)?;
        set(c"texts", self.texts)?;
        set(c"end", self.log + (MAX_LOG - SPARE) as usize)?;
        set(c"pos", self.log + HEADER as usize)
    }
}

/// New memory, which is never given back.
fn mapped(length: usize, flags: i32, file: i32) -> io::Result<usize> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping touches nothing that exists.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, file, 0) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address.addr()) }
}
