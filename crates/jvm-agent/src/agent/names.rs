//! What the agent's Java half names of the JDK and what has another name in older releases: methods, and the annotation
//! that keeps our frames out of stack traces.

use std::borrow::Cow;

/// The first release with the new name, the new name, and the old one. Neither name may stand for anything else in the
/// classes of the Java half.
const RENAMED: &[(u32, &str, &str)] = &[
    (12, "getReferenceVolatile", "getObjectVolatile"),
    (14, "Ljdk/internal/vm/annotation/Hidden;", "Ljava/lang/invoke/LambdaForm$Hidden;"),
];

/// A class of the Java half as a release needs it.
pub(super) fn as_of(release: Option<u32>, class: &[u8]) -> Cow<'_, [u8]> {
    let mut class = Cow::Borrowed(class);
    for (since, new, old) in RENAMED {
        if release.is_some_and(|release| release < *since) {
            class = Cow::Owned(replaced(&class, &constant(new), &constant(old)));
        }
    }
    class
}

/// A text as the constant pool of a class file holds it. Nothing in a class file is found by its distance from anything
/// else, so that one may be replaced by another that is shorter or longer.
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
            assert!(!users.is_empty(), "nobody calls {new}: this table is out of date");
            for class in users {
                let older = as_of(Some(11), class);
                assert!(has(&older, old) && !has(&older, new));
                assert!(ClassFile::parse(&older).is_ok());
                assert!(matches!(as_of(Some(17), class), Cow::Borrowed(_)));
                assert!(matches!(as_of(None, class), Cow::Borrowed(_)));
            }
        }
    }
}
