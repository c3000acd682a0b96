//! Runs that follow no plan: which policy makes the next one.
//!
//! **Paper:** Auer, Cesa-Bianchi, Fischer, *Finite-time analysis of the multiarmed bandit problem*, Machine Learning
//! 47, 2002: UCB1. Each policy is an arm; what its runs show that no run showed before is its reward.
//!
//! **What we changed, and why.** A policy that holds threads at marked places is left out while no run has such a
//! place.
//!
//! **Promise:** every policy is tried, and again from time to time; the choice depends on rewards only, never on time
//! or chance.

use untorn_schedule::{Marks, PolicyKind, RunSpec};

/// What a run showed that was not known before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Reward {
    Nothing,
    ConflictOrder,
    Candidate,
    Finding,
}

impl Reward {
    fn worth(self) -> f64 {
        match self {
            Self::Nothing => 0.0,
            Self::ConflictOrder => 0.4,
            Self::Candidate => 0.7,
            Self::Finding => 1.0,
        }
    }
}

/// A policy, by its position among all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arm(usize);

#[derive(Debug)]
struct Record {
    policy: PolicyKind,
    runs: u32,
    sum: f64,
}

#[derive(Debug)]
pub(super) struct Undirected {
    arms: Vec<Record>,
    /// Undirected runs made beside the initial ones; those of other parts of the work count.
    pub(super) made: u32,
    /// How many runs had been made when the last one was chosen.
    pub(super) last_at: u32,
}

impl Default for Undirected {
    fn default() -> Self {
        let policies = [
            PolicyKind::Pos,
            PolicyKind::Random,
            PolicyKind::PCT,
            PolicyKind::AtomFuzzer,
            PolicyKind::Adversarial,
            PolicyKind::Surw,
        ];
        let arms = policies.map(|policy| Record { policy, runs: 0, sum: 0.0 });
        Self { arms: arms.into(), made: 0, last_at: 0 }
    }
}

impl Undirected {
    /// The policy of the next run among those that can be used.
    pub(super) fn choose(&mut self, is_usable: impl Fn(PolicyKind) -> bool) -> (Arm, PolicyKind) {
        let all: u32 = self.arms.iter().map(|arm| arm.runs).sum();
        let bound = |arm: &Record| {
            let runs = f64::from(arm.runs);
            arm.sum / runs + (2.0 * f64::from(all.max(1)).ln() / runs).sqrt()
        };
        let usable = || (0..self.arms.len()).filter(|&at| is_usable(self.arms[at].policy));
        let fresh = usable().find(|&at| self.arms[at].runs == 0);
        // Of equals the first.
        let best = || {
            usable().rev().max_by(|&a, &b| bound(&self.arms[a]).total_cmp(&bound(&self.arms[b])))
        };
        let at = fresh.or_else(best).unwrap_or(0);
        self.arms[at].runs += 1;
        (Arm(at), self.arms[at].policy)
    }

    pub(super) fn reward(&mut self, Arm(at): Arm, reward: Reward) {
        self.arms[at].sum += reward.worth();
    }
}

/// What the policies that hold threads need to know, judging by the runs in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct HoldMarks {
    pub(super) atomfuzzer: Marks,
    pub(super) adversarial: Marks,
    /// Each run takes one of them.
    pub(super) surw: Vec<Marks>,
}

impl HoldMarks {
    pub(super) fn is_usable(&self, policy: PolicyKind) -> bool {
        match policy {
            PolicyKind::AtomFuzzer => !self.atomfuzzer.marks.is_empty(),
            PolicyKind::Adversarial => !self.adversarial.marks.is_empty(),
            PolicyKind::Surw => !self.surw.is_empty(),
            _ => true,
        }
    }

    /// The description of a run by a policy; `length` is that of an earlier run.
    pub(super) fn spec(&self, policy: PolicyKind, seed: u64, length: Option<u64>) -> RunSpec {
        match policy {
            PolicyKind::AtomFuzzer => RunSpec::marked(policy, seed, self.atomfuzzer.clone()),
            PolicyKind::Adversarial => RunSpec::marked(policy, seed, self.adversarial.clone()),
            PolicyKind::Surw if !self.surw.is_empty() => {
                let one = (seed % self.surw.len() as u64) as usize;
                RunSpec::marked(policy, seed, self.surw[one].clone())
            }
            PolicyKind::Pct { depth, length: default } => {
                let length = length.unwrap_or(default).max(1);
                RunSpec::policy(PolicyKind::Pct { depth, length }, seed)
            }
            _ => RunSpec::policy(policy, seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use untorn_schedule::AnnouncedEvents;

    use super::*;

    /// How often each policy is chosen if only this one shows anything new.
    fn chosen(good: PolicyKind, rounds: u32) -> Vec<(PolicyKind, u32)> {
        let mut undirected = Undirected::default();
        for _ in 0..rounds {
            let (arm, policy) = undirected.choose(|_| true);
            let reward = if policy == good { Reward::Candidate } else { Reward::Nothing };
            undirected.reward(arm, reward);
        }
        undirected.arms.iter().map(|arm| (arm.policy, arm.runs)).collect()
    }

    #[test]
    fn what_finds_more_runs_more_and_nothing_is_given_up() {
        for good in [PolicyKind::Pos, PolicyKind::PCT, PolicyKind::Adversarial] {
            let chosen = chosen(good, 500);
            let runs =
                |policy| chosen.iter().find(|(own, _)| *own == policy).map_or(0, |own| own.1);
            for (policy, often) in &chosen {
                assert!(*often >= 5, "{policy:?} {often}");
                assert!(*policy == good || runs(good) > 3 * often, "{chosen:?}");
            }
        }
    }

    #[test]
    fn a_policy_without_marks_is_left_out() {
        let marks = HoldMarks::default();
        let mut undirected = Undirected::default();
        for _ in 0..50 {
            let (_, policy) = undirected.choose(|policy| marks.is_usable(policy));
            assert_ne!(policy.announced_events(), AnnouncedEvents::Marks, "{policy}");
        }
    }
}
