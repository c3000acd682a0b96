//! The executable and the shared libraries, and where they lie.

use std::ffi::{CStr, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use untorn_runtime::sync::Lock;

/// An executable or a shared library in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Module {
    /// The last part of its path.
    pub(crate) name: &'static str,
    pub(crate) path: &'static Path,
    /// What its own addresses have to be moved by.
    pub(crate) base: usize,
    /// From its first to behind its last byte.
    start: usize,
    end: usize,
}

static MODULES: Lock<Vec<Module>> = Lock::new(Vec::new());

/// The module that an address is in.
pub(crate) fn of(address: usize) -> Option<Module> {
    let find = || {
        let modules = MODULES.lock();
        modules.iter().find(|module| (module.start..module.end).contains(&address)).cloned()
    };
    find().or_else(|| {
        refresh();
        find()
    })
}

/// The module that an address is in, and how far.
pub(crate) fn place_of(address: usize) -> Option<(&'static str, u64)> {
    of(address).map(|module| (module.name, (address - module.base) as u64))
}

/// Whether that memory belongs to a module: global variables.
pub(crate) fn is_static(address: usize) -> bool {
    MODULES.lock().iter().any(|module| (module.start..module.end).contains(&address))
}

/// Whether that is code of the runtime itself.
pub(crate) fn is_ours(place: usize) -> bool {
    place.wrapping_sub(OURS[0].load(Relaxed)) < OURS[1].load(Relaxed)
}

/// Where the runtime itself begins, and how long it is.
static OURS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Before the program begins.
pub(crate) fn find_ours() {
    let within: fn() = find_ours;
    if let Some(own) = of(within as usize) {
        OURS[0].store(own.start, Relaxed);
        OURS[1].store(own.end - own.start, Relaxed);
    }
}

/// Libraries whose accesses nobody sees, in words. Those of the languages themselves are meant to be like that.
pub(crate) fn uninstrumented() -> Vec<String> {
    const KNOWN: [&str; 14] = [
        "libc.so",
        "libm.so",
        "ld-linux",
        "libgcc_s.so",
        "libstdc++.so",
        "libpthread.so",
        "libdl.so",
        "librt.so",
        "linux-vdso",
        "libresolv.so",
        "libnss_",
        "libatomic.so",
        "libuntorn_native_runtime.so",
        "linux-gate",
    ];
    refresh();
    let modules = MODULES.lock();
    let libraries = modules.iter().skip(1).filter(|module| {
        !KNOWN.iter().any(|known| module.name.starts_with(known)) && !is_instrumented(module.path)
    });
    libraries.map(|module| format!("{}, which was not built by untorn cc", module.name)).collect()
}

/// Whether a module calls our hooks: its symbols name them.
fn is_instrumented(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    let hook = b"__tsan_func_entry";
    bytes.windows(hook.len()).any(|window| window == hook)
}

fn refresh() {
    let mut found: Vec<Module> = Vec::new();
    // SAFETY: the callback gets the pointer to the list, which lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut found).cast()) };
    let mut modules = MODULES.lock();
    for module in found {
        // Of those that are known the names are kept: they were leaked.
        if !modules.iter().any(|known| known.base == module.base && known.end == module.end) {
            modules.push(module);
        }
    }
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
    // SAFETY: the system passes a valid description, and our own list.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Module>>()) };
    let path = match (info.dlpi_name.is_null(), found.is_empty()) {
        (_, true) => std::fs::read_link("/proc/self/exe").unwrap_or_default(),
        (true, _) => return 0,
        (false, false) => {
            // SAFETY: the name of a module ends with a zero.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) };
            PathBuf::from(name.to_string_lossy().into_owned())
        }
    };
    // SAFETY: the headers lie in memory as long as the module does.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let base = info.dlpi_addr as usize;
    let (mut start, mut end) = (usize::MAX, 0);
    for header in loaded {
        let from = base + header.p_vaddr as usize;
        (start, end) = (start.min(from), end.max(from + header.p_memsz as usize));
    }
    if start < end {
        let path: &'static Path = Box::leak(path.into_boxed_path());
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("?");
        found.push(Module { name, path, base, start, end });
    }
    0
}
