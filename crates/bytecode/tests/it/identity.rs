//! Every class of the JDK comes back byte for byte: as it is, and through the whole way of
//! decoding, laying out and encoding each of its methods.

use untorn_bytecode::{ClassEditor, ClassFile};

#[test]
fn every_class_of_the_jdk_comes_back() {
    let image = crate::common::jdk_image();
    let mut classes = 0;
    for resource in image.classes() {
        let resource = resource.expect("the JDK's image is sound");
        let path = resource.path();
        let class = ClassFile::parse(resource.bytes).unwrap_or_else(|e| panic!("{path}: {e}"));
        let untouched = ClassEditor::new(&class).finish().expect("nothing is added");
        assert!(untouched.bytes == resource.bytes, "{path} differs without an edit");

        let mut editor = ClassEditor::new(&class);
        editor.relayout_all();
        let rewritten = editor.finish().expect("nothing is added");
        assert_eq!(rewritten.skipped, [], "{path}");
        assert!(rewritten.bytes == resource.bytes, "{path} differs when laid out anew");
        classes += 1;
    }
    assert!(classes > 5000, "only {classes} classes in the JDK");
}
