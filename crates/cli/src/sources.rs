//! Finds the source files that a report speaks of, and puts the lines in question into it, so that
//! the report needs nothing else.
//!
//! A wrong file is worse than none: names come from the program under test, so a file is taken only
//! if it is the only one below the roots that fits. Nothing outside of the roots is ever opened.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use untorn_report::model::{Excerpt, Finding, Report};
use untorn_report::scene::{excerpts, split_place};

/// Entries of folders looked at; a search that would take longer than the report is given up.
const MOST_ENTRIES: usize = 200_000;
const MOST_DEPTH: usize = 16;
const MOST_BYTES: u64 = 4 << 20;

/// Folders that hold no sources of the program, or copies of them.
const PASSED_OVER: [&str; 4] = ["target", "node_modules", "untorn-out", "build"];

/// A line of a file, with the class it belongs to if known.
type Wanted<'a> = BTreeMap<(&'a str, &'a str), BTreeSet<u32>>;

/// Adds excerpts to everything in the report that has none yet.
pub fn fill(report: &mut Report, roots: &[PathBuf]) {
    let names = names(report);
    if names.is_empty() {
        return;
    }
    let files = Files::find(roots, &names);
    let mut read = BTreeMap::new();
    let traces = report.traces.iter_mut().flat_map(|trace| &mut trace.findings);
    for finding in traces.chain(&mut report.findings) {
        if finding.sources.is_empty() {
            finding.sources = files.cut(&wanted_by(finding), &mut read);
        }
    }
    for prediction in report.check.iter_mut().flat_map(|check| &mut check.unreached) {
        if prediction.sources.is_empty() {
            let mut wanted = Wanted::new();
            for place in &prediction.places {
                want(&mut wanted, place, "");
            }
            prediction.sources = files.cut(&wanted, &mut read);
        }
    }
}

/// The last components of all files that are spoken of.
fn names(report: &Report) -> BTreeSet<String> {
    let places = report.findings().flat_map(|finding| {
        let steps = finding.scene.iter().flat_map(|scene| &scene.steps);
        steps.map(|step| &step.operation.place).chain(finding.operations.iter().map(|op| &op.place))
    });
    let predicted = report.check.iter().flat_map(|check| &check.unreached);
    places
        .chain(predicted.flat_map(|prediction| &prediction.places))
        .filter_map(|place| file_name(split_place(place)?.0))
        .map(str::to_owned)
        .collect()
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
    // A step knows its class, which tells files of one name apart; an operation alone does not.
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

/// Files below the roots by their last component.
struct Files {
    /// The path, and what to call it.
    found: BTreeMap<String, Vec<(PathBuf, String)>>,
}

impl Files {
    fn find(roots: &[PathBuf], names: &BTreeSet<String>) -> Self {
        let mut files = Self { found: BTreeMap::new() };
        let mut left = MOST_ENTRIES;
        let mut seen = BTreeSet::new();
        for root in roots {
            let real = root.canonicalize().unwrap_or_else(|_| root.clone());
            if seen.insert(real) {
                files.walk(root, root, names, 0, &mut left);
            }
        }
        files
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
            if kind.is_dir() && depth < MOST_DEPTH {
                if !name.starts_with('.') && !PASSED_OVER.contains(&name) {
                    self.walk(root, &path, names, depth + 1, left);
                }
            } else if kind.is_file() && names.contains(name) {
                let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
                self.found.entry(name.to_owned()).or_default().push((path, shown));
            }
        }
    }

    /// The one file that fits, if there is exactly one.
    fn get(&self, file: &str, class: &str) -> Option<&(PathBuf, String)> {
        let all = self.found.get(file_name(file)?)?;
        let named = Path::new(file);
        let plain = named.components().all(|part| matches!(part, Component::Normal(_)));
        let mut fitting: Vec<_> =
            all.iter().filter(|(path, _)| plain && path.ends_with(named)).collect();
        if let Some((package, _)) = class.replace('/', ".").rsplit_once('.') {
            let inner = Path::new(&package.replace('.', "/")).join(file_name(file)?);
            fitting.retain(|(path, _)| path.ends_with(&inner));
        }
        match fitting.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    fn cut(
        &self,
        wanted: &Wanted<'_>,
        read: &mut BTreeMap<PathBuf, Option<String>>,
    ) -> Vec<Excerpt> {
        let mut lines: BTreeMap<(&str, &PathBuf, &String), Vec<u32>> = BTreeMap::new();
        for ((file, class), asked) in wanted {
            if let Some((path, shown)) = self.get(file, class) {
                lines.entry((file, path, shown)).or_default().extend(asked);
            }
        }
        let mut out = Vec::new();
        for ((file, path, shown), lines) in lines {
            let text = read.entry(path.clone()).or_insert_with(|| small_text(path));
            out.extend(text.iter().flat_map(|text| excerpts(file, shown, text, &lines)));
        }
        out
    }
}

fn small_text(path: &Path) -> Option<String> {
    let facts = path.metadata().ok()?;
    let bytes = (facts.len() <= MOST_BYTES).then(|| std::fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str, files: &[&str]) -> PathBuf {
        let root =
            std::env::temp_dir().join(format!("untorn-sources-{}-{name}", std::process::id()));
        for file in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("writable");
            std::fs::write(path, "one\ntwo\nthree\n").expect("writable");
        }
        root
    }

    fn found(root: &Path, file: &str, class: &str) -> Option<String> {
        let names = BTreeSet::from([file_name(file).unwrap_or_default().to_owned()]);
        let files = Files::find(&[root.to_owned()], &names);
        files.get(file, class).map(|(_, shown)| shown.clone())
    }

    #[test]
    fn one_file_is_taken_and_two_are_not() {
        let root = folder("two", &["a/Bank.java", "b/com/acme/Bank.java", "b/Other.java"]);
        assert_eq!(found(&root, "Other.java", "").as_deref(), Some("b/Other.java"));
        assert_eq!(found(&root, "Bank.java", ""), None, "which one?");
        let known = found(&root, "Bank.java", "com.acme.Bank");
        assert_eq!(known.as_deref(), Some("b/com/acme/Bank.java"));
        assert_eq!(found(&root, "Bank.java", "org.else.Bank"), None, "the package is another");
        let _ = std::fs::remove_dir_all(root);
    }

    #[test]
    fn nothing_outside_of_the_root_is_opened() {
        let root = folder("outside", &["secret.txt", "inside/Bank.java"]);
        let inside = root.join("inside");
        assert_eq!(found(&inside, "../secret.txt", ""), None);
        assert_eq!(found(&inside, "/etc/passwd", ""), None);
        std::os::unix::fs::symlink(root.join("secret.txt"), inside.join("link.txt")).expect("link");
        assert_eq!(found(&inside, "link.txt", ""), None, "a link may lead anywhere");
        let _ = std::fs::remove_dir_all(root);
    }
}
