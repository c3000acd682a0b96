//! JUnit XML, as CI systems read it: a violation is a failed test case, a prediction that was not
//! reached a skipped one. A report without findings has one case that passed, because a file
//! without cases reads as "nothing ran".

use crate::coverage;
use crate::failure::Failure;
use crate::model::{FindingKind, Report};
use crate::story::{Status, Story, stories};
use crate::text::xml;

pub fn render(report: &Report) -> String {
    let all = stories(report);
    let confirmed = all.iter().filter(|story| story.status == Status::Confirmed).count();
    let failures = confirmed + report.failures.len();
    let cases = all.len() + report.failures.len();
    let time = report.check.as_ref().map_or(0, |check| check.milliseconds) as f64 / 1000.0;
    let has_gaps = report.check.as_ref().is_some_and(|check| !check.gaps.is_empty());
    let skipped = all.len() - confirmed + usize::from(cases == 0 && has_gaps);
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{time:.3}\"",
        cases.max(1)
    );
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"untorn\" {counts}>\n"
    );
    if cases == 0 {
        out.push_str(&nothing_found(report));
    }
    for story in &all {
        out.push_str(&case(story));
    }
    out.extend(report.failures.iter().map(failed_case));
    out + "  </testsuite>\n</testsuites>\n"
}

/// The only case of a report without findings. If too little was looked at, it did not pass but was skipped.
fn nothing_found(report: &Report) -> String {
    let case = "    <testcase classname=\"untorn\" name=\"no torn block was found\" time=\"0\"";
    let gaps = report.check.as_ref().map_or(&[][..], |check| &check.gaps);
    match coverage::why(gaps) {
        why if why.is_empty() => format!("{case}/>\n"),
        why => format!(
            "{case}>\n      <skipped message=\"inconclusive: {}\"/>\n    </testcase>\n",
            xml(&why)
        ),
    }
}

/// A way in which runs failed.
fn failed_case(failure: &Failure) -> String {
    // Messages differ from run to run: the place is a better name.
    let what = failure.places.first().unwrap_or(&failure.headline);
    let lines: Vec<String> = failure.sentences().iter().map(|line| xml(line)).collect();
    format!(
        "    <testcase classname=\"untorn\" name=\"no run fails ({})\" time=\"0\">\n      <failure type=\"Failed run\" \
         message=\"{}\">{}</failure>\n    </testcase>\n",
        xml(what),
        xml(&failure.headline),
        lines.join("\n")
    )
}

fn case(story: &Story) -> String {
    let class = if story.class.is_empty() { "untorn" } else { &story.class };
    // CI systems follow a case by its name: it must not change when another finding comes before it.
    let pair = if story.pattern.len() == 4 { 2 } else { 1 };
    let names: Vec<&str> = story.variables.iter().take(pair).map(|v| v.name.as_str()).collect();
    let of = if names.is_empty() {
        String::new()
    } else {
        format!(" of {}", crate::phrasing::list(&names, pair))
    };
    let name = match story.fault {
        FindingKind::Torn => {
            format!("{} is atomic ({}{of})", story.block, story.kind.to_lowercase())
        }
        FindingKind::Deadlock => {
            let mut blocks: Vec<&str> = story.nodes.iter().map(|n| n.block.as_str()).collect();
            blocks.dedup();
            if blocks.is_empty() {
                blocks.push("the program");
            }
            format!("{} does not deadlock", crate::phrasing::list(&blocks, 4))
        }
    };
    let head =
        format!("    <testcase classname=\"{}\" name=\"{}\" time=\"0\">\n", xml(class), xml(&name));
    let body = match story.status {
        Status::Confirmed => {
            let mut text: Vec<String> = vec![story.dek.clone(), String::new()];
            for row in story.rows.iter().filter(|row| row.step.is_some()) {
                text.push(format!(
                    "{:>3}  {}  {}",
                    row.step.unwrap_or_default(),
                    row.text,
                    row.place
                ));
            }
            text.push(String::new());
            text.extend(story.proof.iter().cloned());
            if !story.replay.command.is_empty() {
                text.push(format!("replay: {}", story.replay.command));
            }
            let lines: Vec<String> = text.iter().map(|line| xml(line.trim_end())).collect();
            format!(
                "      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                xml(story.kind),
                xml(&story.title()),
                lines.join("\n")
            )
        }
        Status::Predicted | Status::Undecided => {
            let why =
                story.notice.as_ref().map_or(story.gist.as_str(), |notice| notice.text.as_str());
            format!("      <skipped message=\"{}\"/>\n", xml(why))
        }
    };
    format!("{head}{body}    </testcase>\n")
}
