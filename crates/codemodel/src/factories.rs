//! Factory methods of the JDK, of which the class of the result is known exactly.
//!
//! Their declared results are interfaces, such as `Map` for `Collections.synchronizedMap`.

use crate::ids::RefId;
use crate::program::Program;

/// The factory's class and name, and the class of its results.
const FACTORIES: &[(&str, &str, &str)] = &[
    ("java/util/Collections", "synchronizedMap", "java/util/Collections$SynchronizedMap"),
    ("java/util/Collections", "synchronizedSortedMap", "java/util/Collections$SynchronizedMap"),
    ("java/util/Collections", "synchronizedNavigableMap", "java/util/Collections$SynchronizedMap"),
    ("java/util/Collections", "synchronizedList", "java/util/Collections$SynchronizedCollection"),
    ("java/util/Collections", "synchronizedSet", "java/util/Collections$SynchronizedCollection"),
    (
        "java/util/Collections",
        "synchronizedSortedSet",
        "java/util/Collections$SynchronizedCollection",
    ),
    (
        "java/util/Collections",
        "synchronizedCollection",
        "java/util/Collections$SynchronizedCollection",
    ),
    (
        "java/util/concurrent/ConcurrentHashMap",
        "newKeySet",
        "java/util/concurrent/ConcurrentHashMap$KeySetView",
    ),
];

/// The class of what a factory method returns, if it is one of the table.
pub fn made_by(program: &Program, called: RefId) -> Option<&'static str> {
    let called = program.method_ref(called);
    let (class, name) = (program.class_name(called.class), program.text(called.name));
    FACTORIES.iter().find(|row| row.0 == class && row.1 == name).map(|row| row.2)
}

/// All classes that the table names as results.
pub fn results() -> impl Iterator<Item = &'static str> {
    FACTORIES.iter().map(|row| row.2)
}
