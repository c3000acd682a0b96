//! Explores a simulated program and says in short what was found.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use untorn_explore::{AtomicityViolation, Exploration, ExploreError, Options, Outcome};
use untorn_predict::Origin;
use untorn_testkit::simulated::Simulated;

/// A folder of its own, removed in the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("explore-{}-{number}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a folder for traces");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left-overs in a folder for temporary files do no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs that are enough for any program of the tests.
pub fn options() -> Options {
    Options { minimise: 0, ..Options::default() }
}

pub fn program(text: &str) -> Simulated {
    Simulated::new(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Explores with these options; the traces stay as long as the folder.
pub fn explore_in(
    folder: &Folder,
    front_end: &mut Simulated,
    options: Options,
) -> Result<Outcome, ExploreError> {
    let stop = AtomicBool::new(false);
    Exploration::new(front_end, options, &folder.0, &stop, &mut |_| {}).run()
}

pub fn explore_with(text: &str, options: Options) -> Outcome {
    let folder = Folder::new();
    explore_in(&folder, &mut program(text), options).expect("the program runs")
}

pub fn explore(text: &str) -> Outcome {
    explore_with(text, options())
}

/// Explores as it is, and as if every run were a long one. Both find the same.
fn explore_both(text: &str) -> Outcome {
    let outcome = explore(text);
    let projected = explore_with(text, Options { max_whole: 0, ..options() });
    assert_eq!(all(&outcome), all(&projected), "with projections\n{text}");
    outcome
}

/// `declared Account.withdraw balance RWW`
pub fn words(finding: &AtomicityViolation) -> String {
    let key = &finding.key;
    let origin = if key.origin == Origin::Declared { "declared" } else { "inferred" };
    format!("{origin} {} {} {}", key.block, key.field, key.shape.letters())
}

/// All findings, in alphabetical order.
pub fn found(text: &str) -> Vec<String> {
    all(&explore_both(text))
}

pub fn all(outcome: &Outcome) -> Vec<String> {
    let mut all: Vec<String> = outcome.violations.iter().map(words).collect();
    all.sort();
    all
}

/// A program of two threads: `A` does the first lines, `B` the second; main starts both and waits for them.
pub fn two(variables: &str, a: &str, b: &str) -> String {
    two_then(variables, a, b, "")
}

/// The same, and main does something in the end.
pub fn two_then(variables: &str, a: &str, b: &str, end: &str) -> String {
    format!(
        "{variables}\nthread main\nfork A\nfork B\njoin A\njoin B\n{end}\nthread A\n{a}\nthread B\n{b}\n"
    )
}

/// Declares tests: a name, a program, and what is found in it.
macro_rules! finds {
    ($($name:ident: $program:expr => [$($finding:expr),* $(,)?];)*) => {$(
        #[test]
        fn $name() {
            let expected: &[&str] = &[$($finding),*];
            assert_eq!($crate::harness::found(&$program), expected);
        }
    )*};
}

pub(crate) use finds;
