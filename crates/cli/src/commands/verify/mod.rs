//! `untorn verify`: can this violation still happen in the changed program?

pub mod args;
pub mod config;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use untorn_explore::{Focus, FocusActivity, Outcome};
use untorn_findings::check::why_unreached;
use untorn_findings::coverage::Demand;
use untorn_jvm::ProgramArguments;
use untorn_jvm::config::ScopeConfig;
use untorn_jvm::jvm_selection::JvmSelector;
use untorn_predict::candidates::BlockScope;
use untorn_report::model::{Evidence, Finding, Report, Setting};
use untorn_report::phrasing::{count, list, number, times};
use untorn_report::text::plain;
use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::{BATCH, Op, secrets};

use crate::commands::check;
use crate::commands::check::args::FailOn;
use crate::commands::check::config::Check;
use crate::config::source_roots;
use crate::console::Console;
use crate::exit::{CliError, Exit, Result};
use crate::front_ends;
use crate::{reports, trust};
use config::{ProgramChoice, Verify};

pub fn run(verify: &Verify) -> Result<Exit> {
    let report = reports::read_of_check(&verify.report)?;
    let evidence = reports::evidence(&report, &verify.report, verify.number, "verify")?;
    let is_this = |finding: &&Finding| finding.evidence.as_ref() == Some(evidence);
    let finding = report.findings.iter().find(is_this);
    if let Some(finding) = finding {
        front_ends::by_name(&finding.front_end, &verify.report)?;
    }
    if finding.is_some_and(Finding::is_deadlock) {
        return Err(CliError::input(format!(
            "{}: this is a deadlock, and only torn blocks are verified",
            verify.report.display()
        ))
        .way_out("`untorn check` on the changed program looks for the same circle again"));
    }
    if evidence.block.is_empty() {
        return Err(CliError::input(format!(
            "{}: it does not say by name what is torn",
            verify.report.display()
        ))
        .way_out("make a new report with `untorn check`"));
    }
    if matches!(verify.program, ProgramChoice::OfReport(_)) {
        may_run(verify, &report)?;
    }
    if same_folder(&verify.out, &verify.report) {
        return Err(CliError::input("the new report would replace the old one")
            .way_out("choose another folder with --out"));
    }
    let wanted = Focus { method: evidence.method().to_owned(), field: evidence.variable.clone() };
    let mut console = Console::new(verify.color, verify.volume);
    let mut explore = |only: &Focus| {
        let mut check = check_of(verify, &report, only);
        check::explore(&mut check, &mut console).map(|(outcome, _)| outcome)
    };
    let verified = verified(&wanted, &mut explore, &|| users_before(verify, evidence))?;
    verdict(&verified, evidence, &mut console)
}

/// Whether the command of the report may be run.
fn may_run(verify: &Verify, report: &Report) -> Result<()> {
    let facts = report.check.clone().unwrap_or_default();
    let file = &verify.report;
    if secrets::is_masked(&facts.command) {
        let what = "its command had secrets, which no report keeps";
        return Err(CliError::input(format!("{}: {what}", file.display())).way_out(
            "write the command behind the options: untorn verify REPORT NUMBER -- java …",
        ));
    }
    if verify.trust || reports::is_made_here(&facts) {
        return Ok(());
    }
    let asked = trust::Foreign {
        file,
        command: &facts.command,
        directory: facts.setting.directory.as_deref(),
        set: BTreeMap::new(),
        left_out: BTreeMap::new(),
        call: "untorn verify --trust",
    };
    asked.ask()
}

/// What was looked at, and what came of it.
enum Verified {
    /// The method itself.
    Method { outcome: Outcome },
    /// The method itself, with all of its variables: it does not access that of the finding any more.
    OtherVariables { outcome: Outcome },
    /// Methods that are new among those that access the variable: the code was renamed or moved.
    Followed { outcome: Outcome, into: Vec<String> },
    /// The method never ran, and nothing new accesses the variable.
    Nothing { runs: u32 },
}

/// Looks for the finding where it was; if the code has changed too much for that, where it is now.
fn verified(
    wanted: &Focus,
    explore: &mut dyn FnMut(&Focus) -> Result<Outcome>,
    users_before: &dyn Fn() -> BTreeSet<String>,
) -> Result<Verified> {
    let outcome = explore(wanted)?;
    let FocusActivity { activations, most_steps, users, .. } = &outcome.focus;
    if !outcome.violations.is_empty() || (*activations > 0 && *most_steps > 0) {
        return Ok(Verified::Method { outcome });
    }
    if *activations > 0 {
        // A counter became an AtomicInteger, a map a ConcurrentHashMap: another variable, perhaps torn as before.
        let any = Focus { field: String::new(), ..wanted.clone() };
        let again = explore(&any)?;
        return Ok(Verified::OtherVariables { outcome: again });
    }
    let into: Vec<String> = users.difference(&users_before()).cloned().collect();
    if into.is_empty() {
        return Ok(Verified::Nothing { runs: outcome.runs });
    }
    let anywhere = Focus { method: String::new(), ..wanted.clone() };
    Ok(Verified::Followed { outcome: explore(&anywhere)?, into })
}

/// The methods of the program that accessed the variable in the run of the finding.
fn users_before(verify: &Verify, evidence: &Evidence) -> BTreeSet<String> {
    let folder = verify.report.parent().unwrap_or(Path::new(""));
    let trace = folder.join(Path::new(&evidence.trace).file_name().unwrap_or_default());
    let fields: Vec<&str> = evidence.variable.split(" and ").collect();
    let mut users = BTreeSet::new();
    let Ok(mut source) = open(&Input::new(&trace), &OpenOptions::default()) else { return users };
    let mut batch = Vec::with_capacity(BATCH);
    while source.read(&mut batch).is_ok() && !batch.is_empty() {
        let tables = source.tables();
        for event in &batch {
            let (Op::Read { var, .. } | Op::Write { var, .. }) = event.op else { continue };
            let site = tables.sites.get(event.site).unwrap_or_default();
            if !site.facts.is_library && fields.contains(&tables.member_name(var).as_str()) {
                users.insert(format!("{}.{}", site.class, site.method));
            }
        }
    }
    users
}

fn same_folder(out: &Path, report: &Path) -> bool {
    let folder = |path: &Path| std::fs::canonicalize(path).ok();
    let own = report.parent().map_or(PathBuf::from("."), |parent| match parent.as_os_str().len() {
        0 => PathBuf::from("."),
        _ => parent.to_owned(),
    });
    folder(out).is_some_and(|out| Some(out) == folder(&own))
}

/// The same check as that of the report, for one violation only.
fn check_of(verify: &Verify, report: &Report, only: &Focus) -> Check {
    let facts = report.check.clone().unwrap_or_default();
    let Setting {
        instrument,
        exclude,
        atomic,
        declared,
        all_methods,
        compositions,
        directory,
        main,
        test,
        seal: _,
    } = facts.setting;
    let program = match &verify.program {
        ProgramChoice::Named(program) => program.clone(),
        ProgramChoice::OfReport(own) => {
            let which =
                JvmSelector { main: own.main.clone().or(main), test: own.test.clone().or(test) };
            ProgramArguments {
                command: facts.command,
                which,
                directory: directory.map(PathBuf::from),
                variables: verify.variables.clone(),
            }
        }
    };
    let options = untorn_explore::Options {
        sources: if declared { BlockScope::Declared } else { BlockScope::All },
        all_methods,
        only: Some(only.clone()),
        ..verify.options.clone()
    };
    Check {
        options,
        out: verify.out.clone(),
        sources: source_roots(Vec::new()),
        scope: ScopeConfig {
            instrument,
            exclude,
            atomic,
            activations: vec![only.method.clone()],
            ..ScopeConfig::default()
        },
        compositions,
        run_time: None,
        stop: verify.stop.clone(),
        fail_on: FailOn::Any,
        demand: Demand::default(),
        allow_inconclusive: true,
        fresh: false,
        color: verify.color,
        volume: verify.volume,
        program,
        linearizable: None,
    }
}

fn verdict(verified: &Verified, evidence: &Evidence, console: &mut Console) -> Result<Exit> {
    let block = plain(&evidence.block);
    let variable = plain(&evidence.variable);
    let (outcome, place) = match verified {
        Verified::Nothing { runs } => {
            let runs = count((*runs).into(), "run");
            return Err(CliError::run(format!(
                "{block} did not occur in {runs}: nothing was verified"
            ))
            .way_out("is it not executed any more? `untorn check` looks at everything"));
        }
        Verified::Method { outcome } | Verified::OtherVariables { outcome } => {
            (outcome, String::new())
        }
        Verified::Followed { outcome, into } => {
            let into: Vec<String> = into.iter().map(|name| plain(name)).collect();
            (outcome, format!(" ({variable} is accessed by {} now)", list(&into, 3)))
        }
    };
    let effort = format!(
        "{} ({} directed), {}, {} ruled out",
        count(outcome.runs.into(), "run"),
        number(outcome.directed.into()),
        count(outcome.candidates, "candidate"),
        number(outcome.infeasible),
    );
    if let Some(found) = outcome.violations.first() {
        let now = match plain(&found.key.block) {
            same if same == block => String::new(),
            other => format!(" as {other}"),
        };
        console.put(&format!("{block} can STILL be torn{now}{place}: {effort}\n"))?;
        return Ok(Exit::Findings);
    }
    let ended = if outcome.interrupted { "; interrupted before the end" } else { "" };
    let activity = &outcome.focus;
    let ran =
        format!("ran {} in {}", times(activity.activations), count(activity.runs.into(), "run"));
    console.put(&match verified {
        Verified::Method { .. } if activity.most_steps == 1 => format!(
            "{block} was not torn any more: it {ran} and makes one step on {variable} now, so it cannot be torn \
             there{ended}\n"
        ),
        Verified::OtherVariables { .. } => format!(
            "{block} was not torn any more: it {ran} and does not access {variable} any more; {effort}{ended}\n"
        ),
        Verified::Followed { .. } => {
            format!("{block} was not torn any more{place}: {effort}{ended}\n")
        }
        _ => format!("{block} was not torn any more: it {ran}; {effort}{ended}\n"),
    })?;
    for (key, why) in outcome.unreached.iter().take(4) {
        let (field, why) = (plain(&key.field), why_unreached(why));
        console.say(&format!("  predicted, and not reached: {field}: {}\n", plain(&why)))?;
    }
    Ok(Exit::Clean)
}
