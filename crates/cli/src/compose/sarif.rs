//! Everything as SARIF 2.1.0: a result a composition, the first call as its place.

use serde_json::{Value, json};
use untorn_compositions::{CallSite, Finding, Report, Symptom};
use untorn_report::text::plain;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

pub fn render(report: &Report) -> String {
    let rule = |symptom: Symptom, text: &str| {
        json!({
            "id": rule(symptom),
            "shortDescription": { "text": text },
            "defaultConfiguration": { "level": "note" },
        })
    };
    let rules = [
        rule(Symptom::Use, "The second of two atomic calls depends on the first"),
        rule(Symptom::Complementation, "Atomic calls that never run one without the other"),
        rule(Symptom::Frequent, "Atomic calls that are often made together"),
    ];
    let whole = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "untorn",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "utf16CodeUnits",
            "results": report.findings.iter().map(result).collect::<Vec<_>>(),
        }],
    });
    // A value of these parts can always be written.
    serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n"
}

const fn rule(symptom: Symptom) -> &'static str {
    match symptom {
        Symptom::Use => "composition-use",
        Symptom::Complementation => "composition-complementation",
        Symptom::Frequent => "composition-frequent",
    }
}

fn result(finding: &Finding) -> Value {
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
    let index = match finding.symptom {
        Symptom::Use => 0,
        Symptom::Complementation => 1,
        Symptom::Frequent => 2,
    };
    let related = finding.calls.iter().skip(1).filter_map(|call| location(finding, call));
    json!({
        "ruleId": rule(finding.symptom),
        "ruleIndex": index,
        "level": "note",
        "rank": f64::from((finding.score * 5 + 40).clamp(0, 100)),
        "message": { "text": message(&text) },
        "locations": finding.calls.first().and_then(|call| location(finding, call)).into_iter().collect::<Vec<_>>(),
        "relatedLocations": related.collect::<Vec<_>>(),
        "partialFingerprints": { "untornComposition/v1": plain(&key) },
    })
}

/// Brackets would be links in a message.
fn message(text: &str) -> String {
    plain(text).replace('[', "\\[").replace(']', "\\]")
}

fn location(finding: &Finding, call: &CallSite) -> Option<Value> {
    let uri = plain(finding.source.as_deref()?).replace(' ', "%20");
    let mut physical = json!({ "artifactLocation": { "uri": uri, "uriBaseId": "SRCROOT" } });
    if let Some(line) = call.line.filter(|&line| line > 0) {
        physical["region"] = json!({ "startLine": line });
    }
    Some(json!({ "physicalLocation": physical, "message": { "text": message(&call.api) } }))
}
