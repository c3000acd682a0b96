//! Libraries are analysed with the application.

use untorn_compositions::{ClassBytes, Options, Origin, analyze};

use crate::common;

#[test]
fn a_composition_over_a_class_of_a_library_is_found() {
    let folder = common::compile("libraries");
    let class = |name: &str, origin: Origin| {
        let bytes = std::fs::read(folder.join(name)).expect("compiled");
        ClassBytes { origin, bytes }
    };
    let classes =
        [class("Context.class", Origin::Application), class("Net.class", Origin::Library)];
    let report = analyze(&classes, &common::jdk(), &Options::default());
    assert!(report.findings.iter().any(|finding| finding.method == "removeAttribute"));
}
