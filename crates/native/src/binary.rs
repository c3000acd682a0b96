//! What an executable file was built by.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use object::read::elf::{ElfFile64, FileHeader};
use object::{Object, ObjectSymbol};
use untorn_native_protocol::LIBRARY;

/// What a file is to us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Build {
    /// Its accesses come to our runtime.
    Instrumented,
    /// Its accesses go to the runtime of the compiler.
    ThreadSanitizer,
    /// Its accesses cannot be seen.
    Plain,
    /// An executable that starts a Java virtual machine, which another front end looks into.
    Java,
    /// No executable of this system: a script, for instance.
    Other,
}

/// What a file was built by. What cannot be read is [`Build::Other`].
pub fn build_of(path: &Path) -> Build {
    if !is_elf(path) {
        return Build::Other;
    }
    let bytes = std::fs::read(path).unwrap_or_default();
    let Ok(elf) = ElfFile64::<object::Endianness>::parse(bytes.as_slice()) else {
        return Build::Other;
    };
    let needed = needed(&elf);
    if needed.iter().any(|library| library == LIBRARY) {
        return Build::Instrumented;
    }
    if needed.iter().any(|library| library.starts_with("libjli.") || library.starts_with("libjvm."))
    {
        return Build::Java;
    }
    let is_hook = |symbol: &str| symbol.starts_with("__tsan_func_entry");
    let names = elf.dynamic_symbols().chain(elf.symbols());
    let has_hooks = names.filter_map(|symbol| symbol.name().ok()).any(is_hook);
    if has_hooks { Build::ThreadSanitizer } else { Build::Plain }
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *b"\x7fELF"
}

/// The libraries that the loader finds by name.
fn needed(elf: &ElfFile64<'_>) -> Vec<String> {
    let (endian, data) = (elf.endian(), elf.data());
    let header = elf.elf_header();
    let entries = || {
        let sections = header.sections(endian, data).ok()?;
        let (entries, strings) = sections.dynamic(endian, data).ok()??;
        let strings = sections.strings(endian, data, strings).ok()?;
        let is_needed = |entry: &&object::elf::Dyn64<object::Endianness>| {
            entry.d_tag.get(endian) == object::elf::DT_NEEDED
        };
        let names = entries.iter().filter(is_needed).filter_map(|entry| {
            let offset = u32::try_from(entry.d_val.get(endian)).ok()?;
            Some(String::from_utf8_lossy(strings.get(offset).ok()?).into_owned())
        });
        Some(names.collect())
    };
    entries().unwrap_or_default()
}

/// The file that a command starts, found as a shell finds it, from that folder.
pub fn find_program(name: &str, directory: Option<&Path>) -> Option<PathBuf> {
    if name.contains('/') {
        let path = directory.map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
        return path.is_file().then_some(path);
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Whether a command is meant for this front end: an executable that we have instrumented, or one of the user's own that
/// should have been. Tools of the system may start anything.
pub fn is_native(command: &[String], directory: Option<&Path>) -> bool {
    let Some(path) = command.first().and_then(|name| find_program(name, directory)) else {
        return false;
    };
    match build_of(&path) {
        Build::Instrumented | Build::ThreadSanitizer => true,
        Build::Plain => !is_of_system(&path),
        Build::Java | Build::Other => false,
    }
}

fn is_of_system(path: &Path) -> bool {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folders = ["/bin", "/sbin", "/usr", "/opt", "/lib", "/snap", "/nix"];
    let is_java = path.file_name().is_some_and(|name| name == "java");
    is_java || folders.iter().any(|folder| path.starts_with(folder))
}
