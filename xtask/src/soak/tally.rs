//! What was counted, as a table.

use std::collections::BTreeMap;
use std::fmt;

use super::catalogue::Program;
use super::judge::{Fault, Verdict};

/// Counts of one program, or of all.
#[derive(Clone, Debug, Default)]
struct Counts {
    runs: u64,
    compared: u64,
    deadlocks: u64,
    disturbed: u64,
    outputs: u64,
    hangs: u64,
    crashes: u64,
    traces: u64,
    /// Exact replays, and all.
    replays: [u64; 2],
    /// Those of runs in which the watchdog acted, and of programs that declare that they may not replay.
    unsteady_replays: [u64; 2],
    /// Those of the others that differed.
    diverged: u64,
}

#[derive(Debug)]
pub struct Tally {
    programs: BTreeMap<String, Counts>,
    /// What is wrong before the first run.
    before: Vec<String>,
}

impl Tally {
    pub fn new(before: Vec<String>) -> Self {
        Self { programs: BTreeMap::new(), before }
    }

    /// Counts a run. The result is how many of its kind of failure there were before.
    pub fn count(&mut self, program: &Program, verdict: &Verdict) -> u64 {
        let counts = self.programs.entry(program.name.clone()).or_default();
        counts.runs += 1;
        counts.compared += u64::from(verdict.compared);
        counts.deadlocks += u64::from(verdict.deadlocked);
        counts.disturbed += u64::from(verdict.disturbed);
        let unsteady = verdict.disturbed || program.unsteady.is_some();
        if let Some(exact) = verdict.replay {
            let pair = if unsteady { &mut counts.unsteady_replays } else { &mut counts.replays };
            pair[0] += u64::from(exact);
            pair[1] += 1;
        }
        let mut before = 0;
        for fault in &verdict.faults {
            let count = match fault {
                Fault::Hang(_) => &mut counts.hangs,
                Fault::Crash(_) => &mut counts.crashes,
                Fault::Trace(_) => &mut counts.traces,
                Fault::Output(_) => &mut counts.outputs,
                // Counted in the column of replays; no failure.
                Fault::Replay(_) if unsteady => {
                    let [exact, all] = counts.unsteady_replays;
                    before = all - exact - 1;
                    continue;
                }
                Fault::Replay(_) => &mut counts.diverged,
            };
            before = *count;
            *count += 1;
        }
        before
    }

    pub fn failures(&self) -> u64 {
        let runs: u64 = self.programs.values().map(Counts::failures).sum();
        runs + self.before.len() as u64
    }
}

impl Counts {
    fn failures(&self) -> u64 {
        self.outputs + self.hangs + self.crashes + self.traces + self.diverged
    }

    fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.compared += other.compared;
        self.deadlocks += other.deadlocks;
        self.disturbed += other.disturbed;
        self.outputs += other.outputs;
        self.hangs += other.hangs;
        self.crashes += other.crashes;
        self.traces += other.traces;
        self.diverged += other.diverged;
        for at in 0..2 {
            self.replays[at] += other.replays[at];
            self.unsteady_replays[at] += other.unsteady_replays[at];
        }
    }

    fn row(&self, name: &str) -> String {
        let bad = |count: u64| if count == 0 { "0".to_owned() } else { format!("**{count}**") };
        let of = |[exact, all]: [u64; 2]| match all {
            0 => String::new(),
            _ => format!("{exact} of {all}"),
        };
        format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            self.runs,
            self.compared,
            self.deadlocks,
            bad(self.outputs),
            bad(self.hangs),
            bad(self.crashes),
            bad(self.traces),
            of(self.replays),
            self.disturbed,
            of(self.unsteady_replays),
        )
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| program | runs | compared | deadlocks | changed outputs | hangs | crashes | bad traces | replays exact \
             | watchdog helped | replays exact of these, and of unsteady programs |"
        )?;
        writeln!(f, "| --- |{}", " ---: |".repeat(10))?;
        let mut total = Counts::default();
        for (name, counts) in &self.programs {
            writeln!(f, "{}", counts.row(name))?;
            total.add(counts);
        }
        writeln!(f, "{}", total.row(&format!("all {}", self.programs.len())))?;
        for fault in &self.before {
            writeln!(f, "not run: {fault}")?;
        }
        Ok(())
    }
}
