//! The JDK's own code is analysed without a crash.

use untorn_compositions::{ClassBytes, Options, Origin, analyze};

use crate::common;

/// The JDK as an application: the collections and what is around them.
#[test]
fn the_collections_themselves_are_analysed() {
    analyse("java/util/");
}

#[test]
fn soak_the_whole_jdk_is_analysed() {
    if untorn_testkit::is_soak() {
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
