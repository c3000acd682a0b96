//! Calls that look meant to be one step: found in the class files of the program that is checked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use untorn_compositions::{Archives, Finding, Jdk, Options, Origin, Report, analyze};
use untorn_explore::{ComposedCall, Composition, Compositions, ResultKind};
use untorn_jvm::{class_path, jdk};
use untorn_report::phrasing::{count, number};

use super::config::Check;
use crate::commands::compose::{fault, why};
use crate::console::Console;
use crate::exit::{CliError, Result};

/// Below this score, what was found speaks against the composition: a lock is held, or the second call checks again.
const LEAST_SCORE: i32 = 0;

/// Reads the class files of the command. The compositions go into the options of the exploration and of the agent.
pub fn look_for(check: &mut Check, console: &mut Console) -> Result<()> {
    let program = &check.program;
    if !jdk::is_direct(&program.command) {
        return Err(CliError::input(
            "where a script or a build tool takes its classes from is not known",
        )
        .way_out("start the program with java itself, or leave --compositions out"));
    }
    let path = class_path(&program.command, program.directory.as_deref());
    let archives = read(&path)?;
    let home = jdk::home(&program.command).or_else(Jdk::home).ok_or_else(|| {
        CliError::input("no JDK was found, and without its classes little can be told")
            .way_out("set JAVA_HOME")
    })?;
    let jdk = Jdk::open(&home).map_err(|error| fault(&error))?;
    let report = analyze(&archives.classes, &jdk, &Options::default());
    let all: Vec<Composition> = report
        .findings
        .iter()
        .filter(|finding| finding.score >= LEAST_SCORE)
        .flat_map(compositions)
        .collect();
    console.say(&format!(
        "{} read: {} {} meant to be one step\n",
        count(report.statistics.classes, "class"),
        pairs(all.len()),
        if all.len() == 1 { "looks" } else { "look" },
    ))?;
    if all.is_empty() {
        // Tracked calls would be recorded for nothing, and look like activations.
        return Ok(());
    }
    check.scope.tracked_calls = tracked_calls(&report);
    check.options.compositions = Arc::new(Compositions::new(all));
    Ok(())
}

/// `3 pairs of calls`
pub fn pairs(number_of: usize) -> String {
    let pairs = if number_of == 1 { "pair" } else { "pairs" };
    format!("{} {pairs} of calls", number(number_of as u64))
}

fn read(path: &[PathBuf]) -> Result<Archives> {
    let mut archives = Archives::default();
    for entry in path {
        // The JVM passes over what does not exist, and so does this.
        if entry.exists() {
            archives.add(entry, Origin::Application).map_err(|error| fault(&error))?;
        }
    }
    if archives.classes.is_empty() {
        return Err(CliError::input(
            "the command names no class files to look for compositions in",
        )
        .way_out("give the class path with -cp, or leave --compositions out"));
    }
    Ok(archives)
}

/// Every two calls of a finding.
fn compositions(finding: &Finding) -> impl Iterator<Item = Composition> {
    let calls = &finding.calls;
    let pairs = (1..calls.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    pairs.map(move |(first, second)| {
        let call = |index: usize| ComposedCall {
            pc: calls[index].pc,
            api: calls[index].api.clone(),
            class: calls[index].class.clone(),
            result: ResultKind::of(&calls[index].descriptor),
        };
        Composition {
            client: format!("{}.{}", finding.class, finding.method),
            descriptor: finding.descriptor.clone(),
            calls: [call(first), call(second)],
            receiver: finding.receiver.clone(),
            why: why(finding),
        }
    })
}

/// Where the agent is to mark calls, by method.
fn tracked_calls(report: &Report) -> BTreeMap<String, Vec<u32>> {
    let mut calls: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for call in &report.set_calls {
        let method = format!("{}.{}{}", call.class, call.method, call.descriptor);
        calls.entry(method).or_default().push(call.pc);
    }
    calls
}
