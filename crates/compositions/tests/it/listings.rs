//! The paper's listings, and what locks do to them: the programs of `examples/java/compose` declare in
//! their head what must be found.

use std::path::Path;

use untorn_compositions::{Archives, Finding, Options, Origin, Report, Symptom, analyze};

use crate::common;

/// What a comment of a program expects of two calls in a method.
#[derive(Debug)]
struct Expectation {
    kind: String,
    client: String,
    first: String,
    second: String,
    file: String,
}

fn expectations() -> Vec<Expectation> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(common::listings()).expect("the folder exists") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|end| end != "java") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a readable program");
        let before = found.len();
        for line in text.lines().filter_map(|line| line.strip_prefix("// expect: ")) {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let [kind, client, first, second] = <[String; 4]>::try_from(words)
                .unwrap_or_else(|words| panic!("{}: {words:?}", path.display()));
            let file = path.display().to_string();
            found.push(Expectation { kind, client, first, second, file });
        }
        assert!(found.len() > before, "{} expects nothing", path.display());
    }
    found
}

/// Whether a finding is about these calls of this method.
fn is_about(finding: &Finding, expected: &Expectation) -> bool {
    let at = |wanted: &str| {
        finding
            .calls
            .iter()
            .position(|call| call.api == wanted || call.api.ends_with(&format!(".{wanted}")))
    };
    let same = expected.first == expected.second;
    format!("{}.{}", finding.class, finding.method) == expected.client
        && match (at(&expected.first), at(&expected.second)) {
            (Some(first), Some(second)) => first < second || same,
            _ => false,
        }
}

fn report(classes: &Path) -> Report {
    let mut archives = Archives::default();
    archives.add(classes, Origin::Application).expect("compiled classes");
    let options = Options { by_use: true, by_complementation: true, by_muvi: true };
    let report = analyze(&archives.classes, &common::jdk(), &options);
    assert_eq!(report.skipped, untorn_compositions::Skipped::default());
    report
}

fn findings(classes: &Path) -> Vec<Finding> {
    report(classes).findings
}

#[test]
fn each_listing_is_judged_as_it_says() {
    let all = findings(&common::compile("listings"));
    for expected in expectations() {
        let about = all.iter().filter(|finding| is_about(finding, &expected));
        let about: Vec<&Finding> = about.collect();
        let has = |symptom| about.iter().any(|finding| finding.symptom == symptom);
        let (by_use, by_comp) = (has(Symptom::Use), has(Symptom::Complementation));
        let holds = match expected.kind.as_str() {
            "use" => about.iter().any(|found| found.symptom == Symptom::Use && found.score >= 0),
            "comp" => by_comp,
            "muvi" => has(Symptom::Frequent),
            "none" => !by_use && !by_comp,
            "no-use" => !by_use,
            "no-comp" => !by_comp,
            // Listed, but after what is worth reading.
            "weak" => by_use && about.iter().all(|found| found.score <= 3),
            other => panic!("{}: an unknown expectation {other}", expected.file),
        };
        assert!(holds, "{expected:?}, but there is {about:#?}");
    }
}

#[test]
fn a_dependence_is_told_step_by_step() {
    let all = findings(&common::compile("steps"));
    let found = all
        .iter()
        .find(|finding| finding.class == "BayesLearner" && finding.symptom == Symptom::Use)
        .expect("the edge that is there twice");
    let steps: Vec<String> = found
        .steps
        .iter()
        .map(|step| format!("{:?} {} {}", step.kind, step.what, step.line.unwrap_or(0)))
        .collect();
    let expected = [
        "Data a branch 45",
        "Control a value that is set 46",
        "Data a branch 49",
        "Control applyOp() 50",
    ];
    assert_eq!(steps, expected);
    assert_eq!(found.receiver, "this.net");
    assert_eq!(found.set, ["Net.edges", "Net.changes"]);
    assert_eq!(found.source.as_deref(), Some("Bayes.java"));
}

#[test]
fn what_is_counted_adds_up() {
    let facts = report(&common::compile("counted")).statistics;
    // `Class.forName` and `Method.invoke` of `Dispatch`.
    assert_eq!((facts.reflective, facts.wide), (2, 0));
    // `get` and `compareAndSet` of `Counters`.
    assert_eq!(facts.compares, 1);
    assert!(facts.guarded > 0 && facts.jdk_classes > 1000);
    assert!(facts.compositions <= facts.by_use + facts.by_complementation);
    assert!(facts.compositions >= facts.by_use.max(facts.by_complementation));
    // What both find is the same, counted from either side.
    assert_eq!(facts.compositions - facts.missed_by_muvi, facts.by_muvi - facts.only_muvi);
    assert_eq!(facts.by_use - facts.use_missed_by_muvi, facts.by_muvi - facts.only_muvi_not_use);
    let by_comp = facts.by_complementation - facts.comp_missed_by_muvi;
    assert_eq!(by_comp, facts.by_muvi - facts.only_muvi_not_comp);
}
