//! Where an exploration begins: with the user's inputs, then with others, if there is anything to search.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use untorn_frontend::FrontEnd;

use super::inputs::explore_other_inputs;
use super::with_inputs::WithInputs;
use super::{Exploration, ExploreError, Options, Outcome, Progress};
use crate::strategy::Strategy;

/// The user's own inputs have this part of the time, if others are looked for.
const OWN_SHARE: f64 = 0.5;

/// Explores a program, with the user's inputs and with others that lead elsewhere.
///
/// # Errors
/// If the program cannot be run with the user's inputs, or a trace not be read.
pub fn explore(
    front_end: &mut dyn FrontEnd,
    options: Options,
    folder: &Path,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Outcome, ExploreError> {
    let given = options.inputs.or(&front_end.inputs());
    let searches = options.searches_inputs
        && matches!(options.strategy, Strategy::Loop)
        && options.only.is_none()
        && !options.judged_by_results
        && options.shard.count <= 1
        && !given.is_empty();
    let begin = Instant::now();
    let time = options.time;
    let own = match searches {
        true => Options { time: time.mul_f64(OWN_SHARE), ..options.clone() },
        false => options.clone(),
    };
    let mut outcome = explore_with(front_end, own, folder, stop, watch)?;
    if !searches {
        return Ok(outcome);
    }
    let end = begin.checked_add(time);
    explore_other_inputs(front_end, options, folder, stop, watch, end, &mut outcome)?;
    outcome.time = begin.elapsed();
    Ok(outcome)
}

/// Explores a program with the inputs of the options.
pub(super) fn explore_with(
    front_end: &mut dyn FrontEnd,
    options: Options,
    folder: &Path,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Outcome, ExploreError> {
    if options.inputs.is_empty() {
        return Exploration::new(front_end, options, folder, stop, watch).run();
    }
    let inputs = options.inputs.clone();
    let mut with_inputs = WithInputs { front_end, inputs };
    Exploration::new(&mut with_inputs, options, folder, stop, watch).run()
}
