//! Which classes of a program are the user's: the folders of the class path, the archive that is run, and the package of
//! the main class or the test. Archives beside are libraries.

use std::fs::File;
use std::path::{Path, PathBuf};

use untorn_frontend::OwnCode;
use untorn_jvm_protocol::JUNIT_MAIN;

use crate::class_path::class_path;
use crate::program::WITH_VALUE;

/// Files and folders that are looked at, at most: the class path may be a whole home.
const MAX_ENTRIES: usize = 50_000;

/// Folders below each other, at most: links may lead in circles.
const MAX_DEPTH: usize = 40;

/// Where build tools put the classes of a project, if the command is one of them.
const BUILD_FOLDERS: [&str; 6] = [
    "target/classes",
    "target/test-classes",
    "build/classes/java/main",
    "build/classes/java/test",
    "build/classes/kotlin/main",
    "build/classes/kotlin/test",
];

/// Where an archive that contains its libraries has its own classes.
const OWN_FOLDERS: [&str; 2] = ["BOOT-INF/classes/", "WEB-INF/classes/"];

/// The classes of the project that a command runs; `is_indirect` if it is not `java` itself.
pub fn of_command(command: &[String], directory: Option<&Path>, is_indirect: bool) -> OwnCode {
    let mut own = OwnCode::default();
    let here = directory.unwrap_or(Path::new(""));
    let is_archive = command.iter().any(|word| word == "-jar");
    let entries = match is_indirect {
        true => BUILD_FOLDERS.iter().map(|folder| here.join(folder)).collect(),
        false => class_path(command, directory),
    };
    for entry in entries {
        if entry.is_dir() {
            add_folder(&entry, &mut own);
        } else if is_archive {
            add_archive(&entry, &mut own);
        }
    }
    if let Some(class) = named_class(command).filter(|_| !is_indirect) {
        own.add_package_of(class);
    }
    own
}

/// The test, or the main class.
fn named_class(command: &[String]) -> Option<&str> {
    let mut words = command.iter().skip(1).map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            JUNIT_MAIN => return words.next()?.split('#').next(),
            "-jar" => return None,
            "-m" | "--module" => return words.next()?.split_once('/').map(|(_, class)| class),
            option if WITH_VALUE.contains(&option) => drop(words.next()),
            option if option.starts_with(['-', '@']) => {}
            class => return Some(class),
        }
    }
    None
}

fn add_folder(root: &Path, own: &mut OwnCode) {
    let mut open: Vec<(PathBuf, usize)> = vec![(root.to_owned(), 0)];
    let mut left = MAX_ENTRIES;
    while let Some((folder, depth)) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else { return };
            left = rest;
            let path = entry.path();
            if path.is_dir() && depth < MAX_DEPTH {
                open.push((path, depth + 1));
            } else if let Ok(inside) = path.strip_prefix(root) {
                add_file(&inside.to_string_lossy(), own);
            }
        }
    }
}

fn add_archive(path: &Path, own: &mut OwnCode) {
    let Ok(file) = File::open(path) else { return };
    let Ok(archive) = zip::ZipArchive::new(file) else { return };
    let names: Vec<_> = archive.file_names().filter_map(Result::ok).collect();
    let is_used = |folder: &&&str| names.iter().any(|name| name.starts_with(**folder));
    let folder = OWN_FOLDERS.iter().find(is_used);
    for name in &names {
        let inside = folder.map_or(Some(&**name), |folder| name.strip_prefix(*folder));
        if let Some(inside) = inside {
            add_file(inside, own);
        }
    }
}

/// `com/acme/Account.class` is the class `com.acme.Account`.
fn add_file(inside: &str, own: &mut OwnCode) {
    if let Some(name) = inside.strip_suffix(".class") {
        own.add_class(&name.replace(['/', '\\'], "."));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// A folder with a class of the project, and an archive with one of a library.
    fn project(name: &str, inside: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("untorn-own-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("classes/com/acme")).expect("a folder");
        std::fs::write(folder.join("classes/com/acme/Account.class"), "").expect("a file");
        let file = File::create(folder.join("lib.jar")).expect("a file");
        let mut archive = zip::ZipWriter::new(file);
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        for name in [inside, "org/lib/Pool.class"] {
            archive.start_file(name, options).expect("an entry");
            archive.write_all(b"x").expect("its bytes");
        }
        archive.finish().expect("an archive");
        folder
    }

    #[test]
    fn folders_and_the_package_of_the_main_class_are_the_users() {
        let folder = project("folders", "org/other/Main.class");
        let command = words("java -Xmx1g -cp classes:lib.jar org.other.Main 10");
        let own = of_command(&command, Some(&folder), false);
        assert!(own.has("com.acme.Account$1") && own.has("org.other.Helper"));
        assert!(!own.has("org.lib.Pool"));
        let command = words("java -ea -cp lib.jar java.lang.UntornJUnit org.lib.PoolTest#takes");
        assert!(of_command(&command, Some(&folder), false).has("org.lib.Pool"));
        let _ = std::fs::remove_dir_all(folder);
    }

    #[test]
    fn the_archive_that_is_run_is_the_users() {
        let folder = project("archive", "com/acme/Main.class");
        let own = of_command(&words("java -jar lib.jar 10"), Some(&folder), false);
        assert!(
            own.has("com.acme.Main") && own.has("org.lib.Pool") && !own.has("com.acme.Account")
        );
        let _ = std::fs::remove_dir_all(folder);
        let folder = project("boot", "BOOT-INF/classes/com/acme/Main.class");
        let own = of_command(&words("java -jar lib.jar"), Some(&folder), false);
        assert!(own.has("com.acme.Main") && !own.has("org.lib.Pool"));
        let _ = std::fs::remove_dir_all(folder);
    }

    #[test]
    fn what_a_build_tool_runs_is_where_it_puts_classes() {
        let folder = project("tool", "org/other/Main.class");
        std::fs::create_dir_all(folder.join("target")).expect("a folder");
        std::fs::rename(folder.join("classes"), folder.join("target/classes")).expect("moved");
        let own = of_command(&words("mvn -o -q test"), Some(&folder), true);
        assert!(own.has("com.acme.Account") && !own.has("org.lib.Pool"));
        let _ = std::fs::remove_dir_all(folder);
    }
}
