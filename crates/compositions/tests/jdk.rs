//! Every class of the JDK is read, and its own code is analysed, without a crash.

mod common;

use untorn_bytecode::ClassFile;
use untorn_compositions::archive::ClassBytes;
use untorn_compositions::body::{Linker, build};
use untorn_compositions::dependence::Dependence;
use untorn_compositions::ids::{ClassId, FieldId, RefId};
use untorn_compositions::{BodyError, Options, Origin, analyze};

struct NoNames;

impl Linker for NoNames {
    fn class(&mut self, _: &str) -> ClassId {
        ClassId(0)
    }

    fn field(&mut self, _: &str, _: &str, _: &str) -> FieldId {
        FieldId(0)
    }

    fn method(&mut self, _: &str, _: &str, _: &str) -> RefId {
        RefId(0)
    }
}

#[test]
fn every_method_has_a_body_and_dependences() {
    let jdk = common::jdk();
    let (mut bodies, mut subroutines) = (0, 0);
    for name in jdk.names() {
        let class = ClassFile::parse(jdk.bytes(name).expect("it is there")).expect("well-formed");
        for method in class.methods().iter().filter(|method| method.code().is_some()) {
            match build(&class, method, &mut NoNames) {
                Ok(body) => {
                    let dependence = Dependence::new(&body);
                    assert!(
                        body.ids().all(|at| dependence.branches(at).len() <= body.instrs.len())
                    );
                    bodies += 1;
                }
                Err(BodyError::Subroutine) => subroutines += 1,
                Err(error) => panic!("{name}.{}: {error}", method.name()),
            }
        }
    }
    assert!(bodies > 100_000, "{bodies} bodies");
    // Compilers have not written them for twenty years.
    assert!(subroutines < 10, "{subroutines} with subroutines");
}

/// The JDK as an application: the collections and what is around them.
#[test]
fn the_collections_themselves_are_analysed() {
    analyse("java/util/");
}

#[test]
fn soak_the_whole_jdk_is_analysed() {
    if common::soak() {
        analyse("");
    }
}

fn analyse(prefix: &str) {
    let jdk = common::jdk();
    let mut names: Vec<&str> = jdk.names().filter(|name| name.starts_with(prefix)).collect();
    names.sort_unstable();
    let class = |name: &&str| ClassBytes {
        origin: Origin::Application,
        bytes: jdk.bytes(name).expect("it is there").to_vec(),
    };
    let files: Vec<ClassBytes> = names.iter().map(class).collect();
    let options = Options { by_muvi: true, ..Options::default() };
    let report = analyze(&files, &jdk, &options);
    assert!(report.statistics.methods > 1000);
    assert!(!report.findings.is_empty());
    assert!(report.findings.is_sorted_by_key(|finding| -finding.score));
}
