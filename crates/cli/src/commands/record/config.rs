//! What `untorn record` is to do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use untorn_frontend::StopCondition;
use untorn_jvm::ProgramArguments;
use untorn_jvm::config::ScopeConfig;
use untorn_schedule::{Marks, Plan, PolicyKind, RunSpec, Steering};

use super::args::{PolicyName, RecordArgs};
use crate::config::{scope, stop_condition};
use crate::exit::{CliError, Result};
use crate::program::program;

/// What `untorn record` is to do.
#[derive(Debug)]
pub struct Record {
    pub out: PathBuf,
    pub spec: RunSpec,
    pub scope: ScopeConfig,
    pub watchdog: Duration,
    pub pin: bool,
    pub quiet: bool,
    pub program: ProgramArguments,
    /// When a run is ended that does not end by itself.
    pub stop: StopCondition,
}

impl Record {
    pub fn new(args: RecordArgs) -> Result<Self> {
        let program = program(args.program)?;
        let stop = stop_condition(args.stop)?;
        if args.quantum == 0 {
            return Err(CliError::input("--quantum 0 would let no thread run"));
        }
        let policy = match args.policy {
            PolicyName::RunToBlock => PolicyKind::RunToBlock,
            PolicyName::Random => PolicyKind::Random,
            PolicyName::Pct => PolicyKind::PCT,
            PolicyName::Pos => PolicyKind::Pos,
            PolicyName::Atomfuzzer => PolicyKind::AtomFuzzer,
            PolicyName::Adversarial => PolicyKind::Adversarial,
        };
        let marks = marks(args.policy, args.marks.as_deref())?;
        let plan = args.plan.as_deref().map(read_plan).transpose()?;
        let steering = match (plan, marks) {
            // While a plan is followed, the policy is not asked.
            (Some(plan), _) => Steering::Plan { plan, policy },
            (None, Some(marks)) => Steering::Marks { policy, marks },
            (None, None) => Steering::Policy(policy),
        };
        Ok(Self {
            out: args.output,
            spec: RunSpec {
                steering,
                seed: args.seed,
                quantum: args.quantum,
                ..RunSpec::default()
            },
            scope: scope(args.scope),
            watchdog: Duration::from_millis(args.patience),
            pin: !args.no_pin,
            quiet: args.quiet,
            program,
            stop,
        })
    }
}

/// Where the policy is to hold threads, judging by an earlier trace.
fn marks(policy: PolicyName, trace: Option<&Path>) -> Result<Option<Marks>> {
    let find = match policy {
        PolicyName::Atomfuzzer => untorn_explore::marks::second_acquisitions,
        PolicyName::Adversarial => untorn_explore::marks::suspicious,
        _ if trace.is_some() => {
            return Err(CliError::input("--marks goes with --policy atomfuzzer or adversarial"));
        }
        _ => return Ok(None),
    };
    let Some(trace) = trace else {
        return Err(CliError::input("this policy has to know the program from an earlier run")
            .way_out("record it once as it is, then add --marks run.utr and another --output"));
    };
    let marks = untorn_explore::marks::of_trace(trace, find)
        .map_err(|error| CliError::input(error.to_string()))?;
    if marks.marks.is_empty() {
        return Err(CliError::input(format!(
            "{} has no place at which this policy would hold a thread",
            trace.display()
        )));
    }
    Ok(Some(marks))
}

fn read_plan(path: &Path) -> Result<Plan> {
    let fail = |error: String| CliError::input(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let plan: Plan =
        text.parse().map_err(|error: untorn_schedule::PlanError| fail(error.to_string()))?;
    if plan.steps.is_empty() {
        return Err(fail("the plan has no steps".to_owned()));
    }
    Ok(plan)
}
