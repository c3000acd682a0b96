//! A front end whose runs all have the same inputs: those of an exploration, with which the rest has nothing to do.

use std::path::{Path, PathBuf};
use std::time::Instant;

use untorn_frontend::{FrontEnd, FrontEndError, OwnCode, PlainRun, RunResult};
use untorn_schedule::{Inputs, RunSpec};

/// A program whose runs all have these inputs.
pub(super) struct WithInputs<'a> {
    pub(super) front_end: &'a mut dyn FrontEnd,
    pub(super) inputs: Inputs,
}

impl WithInputs<'_> {
    fn given(&self, spec: &RunSpec) -> RunSpec {
        RunSpec { inputs: spec.inputs.or(&self.inputs), ..spec.clone() }
    }
}

impl FrontEnd for WithInputs<'_> {
    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.front_end.run(&self.given(spec), trace)
    }

    fn run_fresh(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.front_end.run_fresh(&self.given(spec), trace)
    }

    fn use_fresh_only(&mut self, why: &str) {
        self.front_end.use_fresh_only(why);
    }

    fn replay(&mut self, recorded: &Path, again: &Path) -> Result<RunResult, FrontEndError> {
        self.front_end.replay(recorded, again)
    }

    fn run_plain(&mut self, inputs: &Inputs) -> Option<PlainRun> {
        self.front_end.run_plain(&inputs.or(&self.inputs))
    }

    fn own_code(&self) -> OwnCode {
        self.front_end.own_code()
    }

    fn is_test(&self) -> bool {
        self.front_end.is_test()
    }

    fn end_by(&mut self, moment: Option<Instant>) {
        self.front_end.end_by(moment);
    }

    fn run_all(&mut self, calls: &[(RunSpec, PathBuf)]) -> Vec<Result<RunResult, FrontEndError>> {
        let calls: Vec<_> =
            calls.iter().map(|(spec, trace)| (self.given(spec), trace.clone())).collect();
        self.front_end.run_all(&calls)
    }

    fn set_options(&mut self, options: &serde_json::Value) -> Result<(), FrontEndError> {
        self.front_end.set_options(options)
    }

    fn inputs(&self) -> Inputs {
        self.inputs.or(&self.front_end.inputs())
    }

    fn notes(&self) -> Vec<String> {
        self.front_end.notes()
    }
}
