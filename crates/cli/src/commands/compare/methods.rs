//! The ways to look for violations, by name.

use untorn_explore::{Judge, Planning, Strategy};
use untorn_schedule::PolicyKind;

use super::args::StrategyName;
use crate::exit::{CliError, Result};

/// What a method is called in the table.
pub fn word(name: StrategyName) -> &'static str {
    match name {
        StrategyName::Random => "random",
        StrategyName::Pct => "PCT",
        StrategyName::Pos => "POS",
        StrategyName::Atomfuzzer => "AtomFuzzer",
        StrategyName::Adversarial => "adversarial",
        StrategyName::Surw => "SURW",
        StrategyName::Penelope => "PENELOPE mode",
        StrategyName::Planning => "planning mode",
        StrategyName::Velodrome => "Velodrome",
        StrategyName::Doublechecker => "DoubleChecker",
        StrategyName::Atomchase => "AtomChase",
    }
}

/// What one method does.
pub fn strategy(name: StrategyName) -> Strategy {
    let undirected = |policy, judge| Strategy::Undirected { policies: vec![policy], judge };
    match name {
        StrategyName::Random => undirected(PolicyKind::Random, Judge::Instances),
        StrategyName::Pct => undirected(PolicyKind::PCT, Judge::Instances),
        StrategyName::Pos => undirected(PolicyKind::Pos, Judge::Instances),
        StrategyName::Atomfuzzer => undirected(PolicyKind::AtomFuzzer, Judge::Instances),
        StrategyName::Adversarial => undirected(PolicyKind::Adversarial, Judge::Instances),
        StrategyName::Surw => undirected(PolicyKind::Surw, Judge::Instances),
        StrategyName::Penelope => Strategy::PlansOnce(Planning::Locks),
        StrategyName::Planning => Strategy::PlansOnce(Planning::Precise),
        StrategyName::Velodrome => undirected(PolicyKind::Random, Judge::Velodrome),
        StrategyName::Doublechecker => undirected(PolicyKind::Random, Judge::TwoPass),
        StrategyName::Atomchase => Strategy::Loop,
    }
}

/// What several names mean together: policies take turns; other methods stand alone.
pub fn together(names: &[StrategyName]) -> Result<Strategy> {
    match names {
        [] => return Ok(Strategy::Loop),
        [one] => return Ok(strategy(*one)),
        _ => {}
    }
    let mut all = Vec::new();
    for &name in names {
        match strategy(name) {
            Strategy::Undirected { policies, judge: Judge::Instances } => {
                all.extend(
                    policies.into_iter().filter(|policy| !all.contains(policy)).collect::<Vec<_>>(),
                );
            }
            _ => {
                return Err(CliError::input(format!(
                    "{} cannot be combined with other methods in --with",
                    word(name)
                ))
                .way_out(
                    "random, pct, pos, atomfuzzer, adversarial and surw can; `untorn compare` runs all",
                ));
            }
        }
    }
    Ok(Strategy::Undirected { policies: all, judge: Judge::Instances })
}
