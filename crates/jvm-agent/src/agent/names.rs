//! Names of the JDK that differ in older releases and that the agent's Java half uses: methods, and the annotation
//! that hides our frames from stack traces.

use std::borrow::Cow;

/// The first release with the new name, the new name, and the old one. Neither name may occur with another meaning in
/// the classes of the Java half.
const RENAMED: &[(u32, &str, &str)] = &[
    (12, "getReferenceVolatile", "getObjectVolatile"),
    (14, "Ljdk/internal/vm/annotation/Hidden;", "Ljava/lang/invoke/LambdaForm$Hidden;"),
];

/// A class of the Java half, adapted to a release.
pub(super) fn for_release(release: Option<u32>, class: &[u8]) -> Cow<'_, [u8]> {
    let mut class = Cow::Borrowed(class);
    for (since, new, old) in RENAMED {
        if release.is_some_and(|release| release < *since) {
            class = Cow::Owned(replaced(&class, &constant(new), &constant(old)));
        }
    }
    class
}

/// A text as the constant pool of a class file holds it. Class files contain no offsets across the pool, so a text
/// may be replaced by a shorter or longer one.
fn constant(text: &str) -> Vec<u8> {
    let [high, low] = (text.len() as u16).to_be_bytes();
    [&[1, high, low], text.as_bytes()].concat()
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    match bytes.windows(from.len()).position(|window| window == from) {
        Some(at) => [&bytes[..at], to, &bytes[at + from.len()..]].concat(),
        None => bytes.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use untorn_bytecode::ClassFile;

    use super::*;
    use crate::agent::JAVA_HALF;

    fn has(class: &[u8], name: &str) -> bool {
        let name = constant(name);
        class.windows(name.len()).any(|window| window == name)
    }

    #[test]
    fn an_older_release_gets_the_older_names() {
        for (_, new, old) in RENAMED {
            let users: Vec<&[u8]> =
                JAVA_HALF.iter().map(|(_, bytes)| *bytes).filter(|class| has(class, new)).collect();
            assert!(!users.is_empty(), "{new} is not called: this table is out of date");
            for class in users {
                let older = for_release(Some(11), class);
                assert!(has(&older, old) && !has(&older, new));
                assert!(ClassFile::parse(&older).is_ok());
                assert!(matches!(for_release(Some(17), class), Cow::Borrowed(_)));
                assert!(matches!(for_release(None, class), Cow::Borrowed(_)));
            }
        }
    }
}
