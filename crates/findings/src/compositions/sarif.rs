//! Everything as SARIF 2.1.0: a result a composition, the first call as its place.

use std::collections::BTreeMap;

use untorn_compositions::{CallSite, Finding, Report, Symptom};
use untorn_report::sarif::model::{
    ArtifactLocation, Driver, Location, Log, Message, PhysicalLocation, Region, Rule, Run,
    SarifResult, Tool, uri,
};
use untorn_report::text::plain;

/// Rules by symptom. The names are part of what other tools keep: they never change.
const RULES: [(Symptom, &str, &str); 3] = [
    (Symptom::Use, "composition-use", "The second of two atomic calls depends on the first"),
    (
        Symptom::Complementation,
        "composition-complementation",
        "Atomic calls that never run one without the other",
    ),
    (Symptom::Frequent, "composition-frequent", "Atomic calls that are often made together"),
];

/// The version of the rule by which fingerprints are made.
const FINGERPRINT: &str = "untornComposition/v1";

pub fn render(report: &Report) -> String {
    let rules = RULES.iter().map(|&(_, id, text)| Rule {
        id,
        name: None,
        short_description: Message::new(text),
        default_configuration: BTreeMap::from([("level", "note")]),
    });
    Log::new(Run {
        tool: Tool {
            driver: Driver {
                name: "untorn".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                rules: rules.collect(),
            },
        },
        invocations: Vec::new(),
        column_kind: "utf16CodeUnits",
        results: report.findings.iter().map(result).collect(),
    })
    .render()
}

fn result(finding: &Finding) -> SarifResult {
    let apis: Vec<&str> = finding.calls.iter().map(|call| call.api.as_str()).collect();
    let text = format!(
        "{}.{} calls {} on {}: each is one step, together they are not",
        finding.class,
        finding.method,
        apis.join(", then "),
        finding.receiver
    );
    let key =
        format!("{}.{} {} {}", finding.class, finding.method, finding.receiver, apis.join(" "));
    let rule_index = RULES.iter().position(|rule| rule.0 == finding.symptom).unwrap_or(0);
    let mut locations = finding.calls.iter().filter_map(|call| location(finding, call));
    let first = locations.next();
    SarifResult {
        rule_id: RULES[rule_index].1,
        rule_index,
        kind: None,
        level: "note",
        rank: Some(f64::from((finding.score * 5 + 40).clamp(0, 100))),
        message: Message::new(&text),
        locations: first.into_iter().collect(),
        related_locations: locations.collect(),
        code_flows: Vec::new(),
        partial_fingerprints: Some(BTreeMap::from([(FINGERPRINT, plain(&key))])),
    }
}

fn location(finding: &Finding, call: &CallSite) -> Option<Location> {
    let line = call.line.filter(|&line| line > 0);
    Some(Location {
        id: None,
        physical_location: Some(PhysicalLocation {
            artifact_location: ArtifactLocation {
                uri: uri(finding.source.as_deref()?),
                uri_base_id: Some("SRCROOT"),
            },
            region: line.map(|line| Region { start_line: line }),
        }),
        logical_locations: Vec::new(),
        message: Some(Message::new(&call.api)),
    })
}
