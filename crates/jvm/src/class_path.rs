//! Where a Java command takes its classes from.

use std::path::{Path, PathBuf};

/// The entries of the class path of a command, in order, with `lib/*` spelled out.
pub fn class_path(command: &[String], directory: Option<&Path>) -> Vec<PathBuf> {
    let text = from_options(command).or_else(|| std::env::var("CLASSPATH").ok());
    let text = text.unwrap_or_else(|| ".".to_owned());
    let here = directory.unwrap_or(Path::new(""));
    let entries = std::env::split_paths(&text).filter(|entry| !entry.as_os_str().is_empty());
    entries.flat_map(|entry| spelled_out(&here.join(entry))).collect()
}

/// The class path in the options of the command.
fn from_options(command: &[String]) -> Option<String> {
    let mut found = None;
    let mut words = command.iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-cp" | "-classpath" | "--class-path" => found = words.next().cloned(),
            // Whatever else names a class path does not count then.
            "-jar" => return words.next().cloned(),
            "-m" | "--module" | "-p" | "--module-path" | "--add-opens" | "--add-exports"
            | "--add-modules" | "--add-reads" => drop(words.next()),
            _ => match word.strip_prefix("--class-path=") {
                Some(path) => found = Some(path.to_owned()),
                None if word.starts_with('-') => {}
                // The main class: what follows is for the program.
                None => break,
            },
        }
    }
    found
}

/// `lib/*` stands for the jars of a folder.
fn spelled_out(entry: &Path) -> Vec<PathBuf> {
    if entry.file_name().is_none_or(|name| name != "*") {
        return vec![entry.to_owned()];
    }
    let folder = entry.parent().unwrap_or(Path::new("."));
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_jar =
        |path: &PathBuf| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("jar"));
    let mut jars: Vec<PathBuf> = all.filter(is_jar).collect();
    jars.sort();
    jars
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> Vec<PathBuf> {
        let command: Vec<String> = words.split(' ').map(str::to_owned).collect();
        class_path(&command, Some(Path::new("/home")))
    }

    #[test]
    fn the_options_of_the_jvm_tell_where_classes_are() {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(of("java -cp a:b.jar Main -cp c"), paths(&["/home/a", "/home/b.jar"]));
        assert_eq!(of("java -Xmx1g --class-path=/x Main"), paths(&["/x"]));
        assert_eq!(of("java -cp a -jar app.jar -cp b"), paths(&["/home/app.jar"]));
        assert_eq!(of("java --add-opens x/y=z -classpath a Main"), paths(&["/home/a"]));
    }
}
