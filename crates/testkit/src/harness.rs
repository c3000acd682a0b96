//! Runs a property over many random traces and reports a failure as small as it can be made.

use std::ops::Range;

use untorn_trace::Event;

use crate::random::{Knobs, TraceGen};
use crate::rings::RingGen;
use crate::show::show;
use crate::shrink::shrink_well_formed;

/// Checks a property on the random trace of every seed.
///
/// # Panics
/// On the first trace for which `property` gives an error. The message holds the seed, the error
/// and the trace, shrunk as far as it stays well-formed and keeps failing.
pub fn for_random_traces(
    knobs: &Knobs,
    seeds: Range<u64>,
    mut property: impl FnMut(&[Event]) -> Result<(), String>,
) {
    let mut traces = TraceGen::new(knobs.clone());
    for seed in seeds {
        let events = traces.generate(seed);
        if let Err(error) = property(events) {
            fail(&format!("seed {seed} of {knobs:?}"), events, &error, property);
        }
    }
}

/// Checks a property on the ring of every seed: see [`RingGen`].
///
/// # Panics
/// As [`for_random_traces`].
pub fn for_rings(seeds: Range<u64>, mut property: impl FnMut(&[Event]) -> Result<(), String>) {
    let mut rings = RingGen::new();
    for seed in seeds {
        let events = rings.generate(seed);
        if let Err(error) = property(events) {
            fail(&format!("seed {seed} of the rings"), events, &error, property);
        }
    }
}

fn fail(
    seed: &str,
    events: &[Event],
    error: &str,
    mut property: impl FnMut(&[Event]) -> Result<(), String>,
) -> ! {
    let small = shrink_well_formed(events, |candidate| property(candidate).is_err());
    let small_error = property(&small).err().unwrap_or_else(|| "it comes and goes".to_owned());
    panic!(
        "{seed}: {error}\nshrunk to {} of {} events: {small_error}\n{}",
        small.len(),
        events.len(),
        show(&small),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::first_violation;

    #[test]
    fn a_failure_names_its_seed_and_shows_a_small_trace() {
        let claim = |events: &[Event]| match first_violation(events) {
            Some(at) => Err(format!("not serializable at {at}")),
            None => Ok(()),
        };
        let run = || for_random_traces(&Knobs::small(), 0..1000, claim);
        let panic = std::panic::catch_unwind(run).expect_err("some trace is not serializable");
        let message = panic.downcast_ref::<String>().expect("a formatted message");
        assert!(message.starts_with("seed "), "{message}");
        let lines = message.lines().filter(|line| line.starts_with('T')).count();
        assert!((3..=5).contains(&lines), "a cycle needs no more events: {message}");
    }
}
