//! Finds the source files that a report speaks of, and puts the lines in question into it, so that
//! the report needs nothing else.
//!
//! A wrong file is worse than none: names come from the program under test, so a file is taken only
//! if it is the only one below the roots that fits. Nothing outside of the roots is ever opened, but for the
//! archive of sources that belongs to the JDK of the command.

mod archive;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use untorn_trace::tables::convention;

use untorn_report::model::{Excerpt, Finding, Report};
use untorn_report::scene::{excerpts, split_place};

use archive::{Archive, Entry};

/// Maximal number of folder entries in a search; a longer search is given up.
const MAX_ENTRIES: usize = 200_000;
const MAX_DEPTH: usize = 16;
const MAX_BYTES: u64 = 4 << 20;

/// Folders that hold no sources of the program, or copies of them.
const PASSED_OVER: [&str; 4] = ["target", "node_modules", "untorn-out", "build"];

/// A line of a file, with the class it belongs to if known.
type Wanted<'a> = BTreeMap<(&'a str, &'a str), BTreeSet<u32>>;

/// Where the text of a file is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Shelf {
    Folder(PathBuf),
    /// An archive of the library, by index, and an entry of it.
    Archive(usize, usize),
}

/// A file that may be the one that is spoken of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Found {
    shelf: Shelf,
    /// What its name is compared with, and what to call it.
    path: PathBuf,
    shown: String,
    of_jdk: bool,
}

/// Folders and archives with sources. Results of searches are cached.
#[derive(Debug)]
pub struct Library {
    roots: Vec<PathBuf>,
    jdk: Option<PathBuf>,
    archives: Vec<Archive>,
    /// The archives have not been opened yet.
    closed: bool,
    searched: BTreeSet<String>,
    found: BTreeMap<String, Vec<Found>>,
    texts: BTreeMap<Shelf, Option<String>>,
}

impl Library {
    /// The JDK's archive is asked last, and only for classes whose package is known.
    pub fn new(roots: &[PathBuf], jdk: Option<PathBuf>) -> Self {
        Self {
            roots: roots.to_vec(),
            jdk,
            archives: Vec::new(),
            closed: true,
            searched: BTreeSet::new(),
            found: BTreeMap::new(),
            texts: BTreeMap::new(),
        }
    }

    /// Adds excerpts to everything in the report that has none yet.
    pub fn fill(&mut self, report: &mut Report) {
        let predicted = report.check.iter().flat_map(|check| &check.unreached);
        let predicted = predicted.flat_map(|prediction| &prediction.places);
        self.search(names(report.findings().flat_map(places).chain(predicted)));
        let traces = report.traces.iter_mut().flat_map(|trace| &mut trace.findings);
        for finding in traces.chain(&mut report.findings) {
            self.fill_one(finding);
        }
        for prediction in report.check.iter_mut().flat_map(|check| &mut check.unreached) {
            if prediction.sources.is_empty() {
                let mut wanted = Wanted::new();
                for place in &prediction.places {
                    want(&mut wanted, place, "");
                }
                prediction.sources = self.cut(&wanted);
            }
        }
    }

    /// The same for one finding.
    pub fn fill_one(&mut self, finding: &mut Finding) {
        if finding.sources.is_empty() {
            self.search(names(places(finding)));
            finding.sources = self.cut(&wanted_by(finding));
        }
    }

    fn search(&mut self, mut names: BTreeSet<String>) {
        names.retain(|name| !self.searched.contains(name));
        if names.is_empty() {
            return;
        }
        self.open_archives();
        let mut left = MAX_ENTRIES;
        let mut seen = BTreeSet::new();
        for root in self.roots.clone() {
            let real = root.canonicalize().unwrap_or_else(|_| root.clone());
            if seen.insert(real) && root.is_dir() {
                self.walk(&root, &root, &names, 0, &mut left);
            }
        }
        for (shelf, archive) in self.archives.iter().enumerate() {
            let of_jdk = self.jdk.as_deref() == Some(archive.path());
            for (place, Entry { name, .. }) in archive.entries.iter().enumerate() {
                let Some(last) = file_name(name).filter(|last| names.contains(*last)) else {
                    continue;
                };
                let found = Found {
                    shelf: Shelf::Archive(shelf, place),
                    path: PathBuf::from(name),
                    shown: name.clone(),
                    of_jdk,
                };
                self.found.entry(last.to_owned()).or_default().push(found);
            }
        }
        self.searched.append(&mut names);
    }

    fn open_archives(&mut self) {
        if std::mem::take(&mut self.closed) {
            let files = self.roots.iter().filter(|root| root.is_file()).chain(&self.jdk);
            self.archives = files.filter_map(|path| Archive::open(path)).collect();
        }
    }

    fn walk(
        &mut self,
        root: &Path,
        folder: &Path,
        names: &BTreeSet<String>,
        depth: usize,
        left: &mut usize,
    ) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let mut entries: Vec<_> = entries.flatten().collect();
        // The order of a folder differs from machine to machine; the report must not.
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let Some(rest) = left.checked_sub(1) else { return };
            *left = rest;
            let (name, path) = (entry.file_name(), entry.path());
            let Some(name) = name.to_str() else { continue };
            // A link may lead out of the root, or in a circle.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < MAX_DEPTH {
                if !name.starts_with('.') && !PASSED_OVER.contains(&name) {
                    self.walk(root, &path, names, depth + 1, left);
                }
            } else if kind.is_file() && names.contains(name) {
                let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
                let found =
                    Found { shelf: Shelf::Folder(path.clone()), path, shown, of_jdk: false };
                self.found.entry(name.to_owned()).or_default().push(found);
            }
        }
    }

    /// The one file that fits, if there is exactly one.
    fn get(&self, file: &str, class: &str) -> Option<&Found> {
        let all = self.found.get(file_name(file)?)?;
        let named = Path::new(file);
        let plain = named.components().all(|part| matches!(part, Component::Normal(_)));
        let mut fitting: Vec<&Found> =
            all.iter().filter(|found| plain && found.path.ends_with(named)).collect();
        match convention::package(&class.replace('/', ".")) {
            Some(package) => {
                let inner = Path::new(&package.replace('.', "/")).join(file_name(file)?);
                fitting.retain(|found| found.path.ends_with(&inner));
            }
            None => fitting.retain(|found| !found.of_jdk),
        }
        // A copy of a JDK class among the sources goes before the JDK's own.
        if fitting.iter().any(|found| !found.of_jdk) {
            fitting.retain(|found| !found.of_jdk);
        }
        match fitting.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    fn cut(&mut self, wanted: &Wanted<'_>) -> Vec<Excerpt> {
        let mut lines: BTreeMap<(&str, Found), Vec<u32>> = BTreeMap::new();
        for ((file, class), asked) in wanted {
            if let Some(found) = self.get(file, class) {
                lines.entry((file, found.clone())).or_default().extend(asked);
            }
        }
        let mut out = Vec::new();
        for ((file, found), lines) in lines {
            let text = self.text(&found.shelf);
            out.extend(text.iter().flat_map(|text| excerpts(file, &found.shown, text, &lines)));
        }
        out
    }

    fn text(&mut self, shelf: &Shelf) -> Option<&String> {
        let archives = &mut self.archives;
        let read = || match shelf {
            Shelf::Folder(path) => small_text(path),
            Shelf::Archive(index, place) => {
                archives.get_mut(*index).and_then(|archive| archive.text(*place, MAX_BYTES))
            }
        };
        self.texts.entry(shelf.clone()).or_insert_with(read).as_ref()
    }
}

fn small_text(path: &Path) -> Option<String> {
    let facts = path.metadata().ok()?;
    let bytes = (facts.len() <= MAX_BYTES).then(|| std::fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last components of the files that are spoken of.
fn names<'a>(places: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
    let names = places.into_iter().filter_map(|place| file_name(split_place(place)?.0));
    names.map(str::to_owned).collect()
}

fn places(finding: &Finding) -> impl Iterator<Item = &String> {
    let steps = finding.scene.iter().flat_map(|scene| &scene.steps);
    let steps = steps.chain(&finding.waiting).map(|step| &step.operation.place);
    steps.chain(finding.operations.iter().map(|op| &op.place))
}

fn file_name(file: &str) -> Option<&str> {
    Path::new(file).file_name().and_then(OsStr::to_str)
}

fn want<'a>(wanted: &mut Wanted<'a>, place: &'a str, class: &'a str) {
    if let Some((file, line)) = split_place(place) {
        wanted.entry((file, class)).or_default().insert(line);
    }
}

fn wanted_by(finding: &Finding) -> Wanted<'_> {
    let mut wanted = Wanted::new();
    // A step knows its class, which distinguishes files of one name; an operation alone does not.
    for step in &finding.waiting {
        want(&mut wanted, &step.operation.place, &step.class);
    }
    match &finding.scene {
        Some(scene) => {
            for step in &scene.steps {
                want(&mut wanted, &step.operation.place, &step.class);
            }
        }
        None => {
            for operation in &finding.operations {
                want(&mut wanted, &operation.place, "");
            }
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use untorn_frontend::PrivateFolder;

    use super::*;

    fn folder(files: &[&str]) -> PrivateFolder {
        let root = PrivateFolder::create_in(&std::env::temp_dir()).expect("writable");
        for file in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("writable");
            std::fs::write(path, "one\ntwo\nthree\n").expect("writable");
        }
        root
    }

    fn found(root: &Path, file: &str, class: &str) -> Option<String> {
        let names = BTreeSet::from([file_name(file).unwrap_or_default().to_owned()]);
        let mut library = Library::new(&[root.to_owned()], None);
        library.search(names);
        library.get(file, class).map(|found| found.shown.clone())
    }

    #[test]
    fn one_file_is_taken_and_two_are_not() {
        let root = folder(&["a/Bank.java", "b/com/acme/Bank.java", "b/Other.java"]);
        assert_eq!(found(root.path(), "Other.java", "").as_deref(), Some("b/Other.java"));
        assert_eq!(found(root.path(), "Bank.java", ""), None, "which one?");
        let known = found(root.path(), "Bank.java", "com.acme.Bank");
        assert_eq!(known.as_deref(), Some("b/com/acme/Bank.java"));
        assert_eq!(
            found(root.path(), "Bank.java", "org.else.Bank"),
            None,
            "the package is another"
        );
    }

    #[test]
    fn nothing_outside_of_the_root_is_opened() {
        let root = folder(&["secret.txt", "inside/Bank.java"]);
        let inside = root.path().join("inside");
        assert_eq!(found(&inside, "../secret.txt", ""), None);
        assert_eq!(found(&inside, "/etc/passwd", ""), None);
        std::os::unix::fs::symlink(root.path().join("secret.txt"), inside.join("link.txt"))
            .expect("link");
        assert_eq!(found(&inside, "link.txt", ""), None, "a link may lead anywhere");
    }

    /// The JDK's archive is for classes of packages, and a copy in the roots goes before it.
    #[test]
    fn archives_are_searched_as_folders_are() {
        let root = folder(&["copy/java/util/Stack.java"]);
        let (jdk, jar) = (root.path().join("src.zip"), root.path().join("lib-sources.jar"));
        let text = "one\ntwo\n";
        archive::tests::archive(
            &jdk,
            &[("java.base/java/util/Vector.java", text), ("java.base/java/util/Stack.java", text)],
        );
        archive::tests::archive(
            &jar,
            &[("com/acme/Pool.java", text), ("com/acme/Bank.java", text)],
        );
        let mut library = Library::new(&[root.path().join("copy"), jar], Some(jdk));
        library.search(["Vector.java", "Stack.java", "Pool.java"].map(str::to_owned).into());
        let shown =
            |file: &str, class: &str| library.get(file, class).map(|found| found.shown.clone());
        let vector = shown("Vector.java", "java.util.Vector");
        assert_eq!(vector.as_deref(), Some("java.base/java/util/Vector.java"));
        assert_eq!(shown("Vector.java", ""), None, "any package may have such a file");
        assert_eq!(shown("Vector.java", "Vector"), None, "another class of that name");
        let stack = shown("Stack.java", "java.util.Stack");
        assert_eq!(stack.as_deref(), Some("java/util/Stack.java"));
        assert_eq!(shown("Pool.java", "").as_deref(), Some("com/acme/Pool.java"));
        let wanted = Wanted::from([(("Pool.java", "com.acme.Pool"), BTreeSet::from([2]))]);
        assert_eq!(library.cut(&wanted)[0].lines, ["one", "two"]);
    }
}
