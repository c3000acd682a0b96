//! The JDK that a command runs on, and its sources.

use std::path::PathBuf;

use untorn_jvm_protocol::java_home::{home_of, is_java};

/// Where a command is found, as a shell would look for it.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|place| place.join(name)).find(|path| path.is_file())
}

/// Whether the command is `java` itself, so that its class path and its JDK are known.
pub fn is_direct(command: &[String]) -> bool {
    command.first().is_some_and(|word| is_java(word))
}

/// The home of the JDK whose `java` the command starts.
pub fn home(command: &[String]) -> Option<PathBuf> {
    home_of(&find_program(command.first().filter(|word| is_java(word))?)?)
}

/// `lib/src.zip` of the JDK whose `java` the command starts. Lines of another version would be wrong lines, so a
/// command that is not `java` itself has none.
pub fn sources(command: &[String]) -> Option<PathBuf> {
    let home = home(command)?;
    // JDK 8 keeps it beside the `jre` folder.
    [home.join("lib/src.zip"), home.join("src.zip"), home.parent()?.join("src.zip")]
        .into_iter()
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use std::env;

    use untorn_frontend::PrivateFolder;

    use super::*;

    #[test]
    fn it_belongs_to_the_java_of_the_command() {
        let folder = PrivateFolder::create_in(&env::temp_dir()).expect("writable");
        let root = folder.path();
        for folder in ["bin", "lib"] {
            std::fs::create_dir_all(root.join(folder)).expect("writable");
        }
        for file in ["bin/java", "bin/mvn", "lib/src.zip"] {
            std::fs::write(root.join(file), "").expect("writable");
        }
        let of = |name: &str| sources(&[root.join("bin").join(name).display().to_string()]);
        let expected = root.canonicalize().expect("it exists").join("lib/src.zip");
        assert_eq!(of("java"), Some(expected));
        assert_eq!(of("mvn"), None);
        assert_eq!(of("no/java"), None);
        assert_eq!(sources(&[]), None);
    }
}
