//! What the runtime must not use, because it belongs to the program under test.

use std::path::Path;

/// In a native program these go through functions of the C library that the runtime itself replaces.
const FORBIDDEN: [&str; 10] = [
    "Mutex",
    "RwLock",
    "Condvar",
    "OnceLock",
    "LazyLock",
    "mpsc",
    "thread::park",
    "thread::spawn",
    "Builder::new().name",
    "libc::syscall",
];

#[test]
fn the_runtime_uses_no_locks_and_starts_no_threads_of_the_standard_library() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut files) = (vec![folder], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(&path).expect("readable");
            // Unit tests start threads, and comments may name functions that are not used.
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (number, line) in code.lines().enumerate() {
                let line = line.split("//").next().unwrap_or_default();
                let found = FORBIDDEN.iter().find(|word| line.contains(*word));
                assert_eq!(found, None, "{}:{}", path.display(), number + 1);
            }
        }
    }
    assert!(files > 10, "{files} files are not all");
}
