//! Everything as JSON. The format is described in docs/compose.md.

use serde_json::{Value, json};
use untorn_compositions::{Finding, Kind, Report};

/// Raised when a reader of the old format would misunderstand the new.
const VERSION: u32 = 1;

pub fn render(report: &Report, names: &str) -> String {
    let facts = &report.statistics;
    let findings: Vec<Value> = report.findings.iter().map(finding).collect();
    let skipped: Vec<Value> = report
        .skipped
        .methods
        .iter()
        .map(|(reason, count)| json!({ "reason": reason.to_string(), "methods": count }))
        .collect();
    let whole = json!({
        "untorn": env!("CARGO_PKG_VERSION"),
        "kind": "compositions",
        "version": VERSION,
        "application": names,
        "statistics": {
            "classes": facts.classes,
            "methods": facts.methods,
            "jdk_classes": facts.jdk_classes,
            "sets": facts.sets,
            "largest_set": facts.largest_set,
            "library_classes": facts.library_classes,
            "apis": facts.apis,
            "client_classes": facts.client_classes,
            "compositions": facts.compositions,
            "use": facts.by_use,
            "comp": facts.by_complementation,
            "muvi": facts.by_muvi,
            "missed_by_muvi": facts.missed_by_muvi,
            "only_muvi": facts.only_muvi,
            "use_missed_by_muvi": facts.use_missed_by_muvi,
            "only_muvi_not_use": facts.only_muvi_not_use,
            "comp_missed_by_muvi": facts.comp_missed_by_muvi,
            "only_muvi_not_comp": facts.only_muvi_not_comp,
            "guarded": facts.guarded,
            "brackets": facts.brackets,
            "compares": facts.compares,
            "reflective": facts.reflective,
            "wide": facts.wide,
        },
        "skipped": {
            "entries": report.skipped.entries,
            "classes": report.skipped.classes,
            "duplicates": report.skipped.duplicates,
            "methods": skipped,
        },
        "findings": findings,
    });
    // A value of these parts can always be written.
    serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n"
}

fn finding(finding: &Finding) -> Value {
    let calls = finding.calls.iter().map(|call| {
        json!({ "api": call.api, "line": call.line, "reads": call.reads, "writes": call.writes })
    });
    let steps = finding
        .steps
        .iter()
        .map(|step| json!({ "kind": kind(step.kind), "line": step.line, "what": step.what }));
    let reasons = finding
        .reasons
        .iter()
        .map(|reason| json!({ "points": reason.points(), "why": reason.words() }));
    json!({
        "symptom": finding.symptom.name(),
        "class": finding.class,
        "method": finding.method,
        "source": finding.source,
        "receiver": finding.receiver,
        "set": finding.set,
        "calls": calls.collect::<Vec<_>>(),
        "steps": steps.collect::<Vec<_>>(),
        "reasons": reasons.collect::<Vec<_>>(),
        "score": finding.score,
    })
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Data => "data",
        Kind::Control => "control",
        Kind::Heap => "heap",
        Kind::Exception => "exception",
    }
}
