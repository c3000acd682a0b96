//! Which classes are rewritten, and what is recorded of them.

use std::collections::BTreeMap;

use untorn_jvm_protocol::config::ScopeConfig;
use untorn_trace::glob::{Glob, matches};

/// How much of a class is recorded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Depth {
    /// Nothing: the class is left unchanged.
    Untouched,
    /// Only its initialiser, in which a thread must not be preempted, because others may need the class.
    Initialiser,
    /// Its monitors, waits and clock readings, because a thread may be preempted while it holds a monitor.
    Locks,
    /// Also its fields, arrays, branches.
    Accesses,
    /// Also its methods: it belongs to the application.
    Application,
}

/// Where a class comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The boot loader, that is the JDK.
    Boot,
    /// Some other loader.
    Elsewhere,
}

/// Classes of the JDK that hold state of the program: collections, string buffers, dates.
const COLLECTIONS: &[&str] = &[
    "java/util/Abstract*",
    "java/util/Array*",
    "java/util/BitSet*",
    "java/util/Calendar",
    "java/util/Collections*",
    "java/util/Date",
    "java/util/EnumMap*",
    "java/util/EnumSet",
    "java/util/GregorianCalendar",
    "java/util/Hash*",
    "java/util/IdentityHashMap*",
    "java/util/ImmutableCollections*",
    "java/util/JumboEnumSet*",
    "java/util/Linked*",
    "java/util/PriorityQueue*",
    "java/util/RegularEnumSet*",
    "java/util/Spliterators$*ArraySpliterator",
    "java/util/Stack",
    "java/util/StringJoiner",
    "java/util/Tree*",
    "java/util/Vector*",
    "java/util/WeakHashMap*",
    "java/lang/AbstractStringBuilder",
    "java/lang/StringBuffer",
    "java/lang/StringBuilder",
];

/// Never rewritten: the JVM calls them where Java code cannot run, or our own probes call them.
const UNTOUCHABLE: &[&str] = &[
    "java/lang/Untorn*",
    "java/lang/Object",
    "java/lang/System",
    "java/lang/Float",
    "java/lang/Double",
    "jdk/internal/misc/Unsafe",
];

/// Internal code of the JDK: its actions are not those of the program.
const MACHINERY: &[&str] = &[
    "java/lang/ref/*",
    "java/lang/Shutdown",
    "java/lang/invoke/*",
    "jdk/internal/misc/*",
    "jdk/internal/ref/*",
    "jdk/internal/vm/*",
    "jdk/internal/reflect/*",
    "sun/launcher/*",
];

/// Recorded at their call sites: recording their own accesses would record everything twice.
const RECORDED_BY_CALLERS: &[&str] =
    &["java/util/concurrent/atomic/*", "java/util/concurrent/locks/*"];

/// Test frameworks are not the code under test.
const TEST_FRAMEWORKS: &[&str] = &[
    "junit/framework/*",
    "junit/runner/*",
    "org/apache/maven/surefire/*",
    "org/apiguardian/*",
    "org/gradle/*",
    "org/hamcrest/*",
    "org/junit/*",
    "org/opentest4j/*",
    "worker/org/gradle/*",
];

/// Classes of these packages belong to the JDK even if another loader than the boot loader defines them.
const PLATFORM: &[&str] = &["java/*", "javax/*", "jdk/*", "sun/*", "com/sun/*"];

#[derive(Debug)]
pub struct Scope {
    instrument: Vec<Glob>,
    exclude: Vec<Glob>,
    atomic: Vec<Glob>,
    activations: Vec<Glob>,
    tracked_calls: BTreeMap<String, Vec<u32>>,
}

impl Scope {
    pub fn new(config: &ScopeConfig) -> Self {
        let patterns =
            |texts: &[String]| texts.iter().map(|text| Glob::new(text.replace('.', "/"))).collect();
        Self {
            instrument: patterns(&config.instrument),
            exclude: patterns(&config.exclude),
            atomic: patterns(&config.atomic),
            activations: patterns(&config.activations),
            tracked_calls: config.tracked_calls.clone(),
        }
    }

    /// The code positions at which a method (`com/acme/Cart`, `remove`, `(I)V`) makes tracked calls.
    pub fn tracked_calls(&self, class: &str, method: &str, descriptor: &str) -> &[u32] {
        if self.tracked_calls.is_empty() {
            return &[];
        }
        self.tracked_calls.get(&format!("{class}.{method}{descriptor}")).map_or(&[], Vec::as_slice)
    }

    pub fn has_tracked_calls(&self) -> bool {
        !self.tracked_calls.is_empty()
    }

    /// How much of the class `name` (`com/acme/Account`) is recorded.
    pub fn depth(&self, name: &str, origin: Origin) -> Depth {
        if any(UNTOUCHABLE, name) {
            return Depth::Untouched;
        }
        if any(MACHINERY, name) {
            return Depth::Initialiser;
        }
        if self.exclude.iter().any(|pattern| pattern.matches(name))
            || any(RECORDED_BY_CALLERS, name)
        {
            return Depth::Locks;
        }
        let wanted = self.instrument.iter().any(|pattern| pattern.matches(name));
        match origin {
            Origin::Elsewhere if wanted && !any(PLATFORM, name) => Depth::Application,
            Origin::Elsewhere if !any(PLATFORM, name) && !any(TEST_FRAMEWORKS, name) => {
                Depth::Application
            }
            _ if wanted || any(COLLECTIONS, name) => Depth::Accesses,
            _ => Depth::Locks,
        }
    }

    /// Whether the user lists this method as atomic.
    pub fn is_atomic(&self, class: &str, method: &str) -> bool {
        is_listed(&self.atomic, class, method)
    }

    /// Whether the activations of this method are recorded, even if it takes only one step.
    pub fn has_activations(&self, class: &str, method: &str) -> bool {
        is_listed(&self.activations, class, method)
    }
}

fn is_listed(patterns: &[Glob], class: &str, method: &str) -> bool {
    if patterns.is_empty() {
        return false;
    }
    let name = format!("{class}/{method}");
    patterns.iter().any(|pattern| pattern.matches(&name))
}

/// Whether a class (`java/util/Map`) belongs to the JDK, by its name.
pub fn is_platform(class: &str) -> bool {
    any(PLATFORM, class)
}

fn any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_application_is_recorded_in_full_and_the_jdk_by_its_locks() {
        let scope = Scope::new(&ScopeConfig {
            exclude: vec!["com.acme.gen.*".to_owned()],
            instrument: vec!["java.util.concurrent.*".to_owned(), "org.hamcrest.*".to_owned()],
            atomic: vec!["com.acme.Bank.transfer".to_owned()],
            ..ScopeConfig::default()
        });
        let depth = |name| scope.depth(name, Origin::Elsewhere);
        assert_eq!(depth("com/acme/Bank"), Depth::Application);
        assert_eq!(depth("com/acme/gen/Parser"), Depth::Locks);
        assert_eq!(depth("org/junit/runner/JUnitCore"), Depth::Locks);
        assert_eq!(depth("org/hamcrest/Matcher"), Depth::Application);
        assert_eq!(scope.depth("java/util/HashMap", Origin::Boot), Depth::Accesses);
        assert_eq!(scope.depth("java/util/concurrent/Phaser", Origin::Boot), Depth::Accesses);
        assert_eq!(scope.depth("java/io/PrintStream", Origin::Boot), Depth::Locks);
        assert_eq!(scope.depth("java/lang/Object", Origin::Boot), Depth::Untouched);
        assert!(scope.is_atomic("com/acme/Bank", "transfer"));
        assert!(!scope.is_atomic("com/acme/Bank", "transferAll"));
    }
}
