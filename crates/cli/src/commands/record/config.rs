//! What `untorn record` is to do.

use std::path::{Path, PathBuf};

use untorn_jvm::config::ScopeConfig;

use super::args::{PolicyName, RecordArgs};
use crate::config::scope;
use crate::exit::{Failure, Result};
use crate::program::Program;

/// What `untorn record` is to do.
#[derive(Debug)]
pub struct Record {
    pub out: PathBuf,
    pub policy: String,
    pub seed: u64,
    pub quantum: u64,
    /// The text of a plan that was found to be one.
    pub plan: Option<String>,
    /// Where a policy that holds threads is to hold them, as text.
    pub marks: Option<String>,
    pub scope: ScopeConfig,
    pub patience_ms: u64,
    pub pin: bool,
    pub quiet: bool,
    pub program: Program,
}

impl Record {
    pub fn new(args: RecordArgs) -> Result<Self> {
        let program = Program::new(args.program)?;
        if args.quantum == 0 {
            return Err(Failure::input("--quantum 0 would let no thread run"));
        }
        let policy = match args.policy {
            PolicyName::RunToBlock => "run-to-block",
            PolicyName::Random => "random",
            PolicyName::Pct => "pct",
            PolicyName::Pos => "pos",
            PolicyName::Atomfuzzer => "atomfuzzer",
            PolicyName::Adversarial => "adversarial",
        };
        let marks = marks(args.policy, args.marks.as_deref())?;
        Ok(Self {
            out: args.output,
            policy: policy.to_owned(),
            seed: args.seed,
            quantum: args.quantum,
            plan: args.plan.as_deref().map(read_plan).transpose()?,
            marks,
            scope: scope(args.scope),
            patience_ms: args.patience,
            pin: !args.no_pin,
            quiet: args.quiet,
            program,
        })
    }
}

/// Where the policy is to hold threads, judging by an earlier trace.
fn marks(policy: PolicyName, trace: Option<&Path>) -> Result<Option<String>> {
    let find = match policy {
        PolicyName::Atomfuzzer => untorn_explore::marks::second_acquisitions,
        PolicyName::Adversarial => untorn_explore::marks::suspicious,
        _ if trace.is_some() => {
            return Err(Failure::input("--marks goes with --policy atomfuzzer or adversarial"));
        }
        _ => return Ok(None),
    };
    let Some(trace) = trace else {
        return Err(Failure::input("this policy has to know the program from an earlier run")
            .way_out("record it once as it is, then add --marks run.utr and another --output"));
    };
    let marks = untorn_explore::marks::of_trace(trace, find)
        .map_err(|error| Failure::input(error.to_string()))?;
    if marks.marks.is_empty() {
        return Err(Failure::input(format!(
            "{} has no place at which this policy would hold a thread",
            trace.display()
        )));
    }
    Ok(Some(marks.to_string()))
}

fn read_plan(path: &Path) -> Result<String> {
    let fail = |error: String| Failure::input(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let plan: untorn_schedule::Plan =
        text.parse().map_err(|error: untorn_schedule::PlanError| fail(error.to_string()))?;
    if plan.steps.is_empty() {
        return Err(fail("the plan has no steps".to_owned()));
    }
    Ok(text)
}
