//! Every class of the JDK is read without a crash.

use untorn_bytecode::ClassFile;
use untorn_codemodel::BodyError;
use untorn_codemodel::body::build;
use untorn_codemodel::dependence::Dependence;

use crate::common::{self, NoNames};

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
