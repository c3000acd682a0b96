//! What is done once for each program: a plain run, and a recorded one that shows how many events it has and where
//! `atomfuzzer` and `adversarial` may hold threads. And the choice among programs and policies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use untorn_testkit::rng::Rng;

use super::catalogue::{self, Output, Program};
use super::judge;
use super::options::Options;
use crate::process::{self, FinishedProcess};

/// A way of scheduling. Costs are rough, and only to choose by: that of the others is measured.
#[derive(Debug)]
pub struct Policy {
    pub name: &'static str,
    pub needs_marks: bool,
    /// Nanoseconds for an event.
    event: u64,
}

pub const RANDOM: Policy = Policy { name: "random", needs_marks: false, event: 300 };

const POLICIES: [Policy; 6] = [
    Policy { name: "run-to-block", needs_marks: false, event: 200 },
    RANDOM,
    Policy { name: "pct", needs_marks: false, event: 300 },
    Policy { name: "pos", needs_marks: false, event: 10_000 },
    Policy { name: "atomfuzzer", needs_marks: true, event: 1000 },
    Policy { name: "adversarial", needs_marks: true, event: 1000 },
];

/// Starting a JVM with the agent and ending it.
const START: Duration = Duration::from_millis(500);

/// What would take longer is left out, and named.
const TOO_LONG: Duration = Duration::from_secs(30);

/// The limit of the first runs.
const LIMIT: Duration = Duration::from_secs(300);

/// A program that is ready to be run.
#[derive(Debug)]
pub struct ReadyProgram {
    pub program: Program,
    /// What a plain run printed.
    pub plain: Vec<u8>,
    /// A trace of it.
    pub marks: PathBuf,
    /// How long it took to record that.
    recorded: Duration,
    events: u64,
}

/// A program with a policy.
#[derive(Debug)]
pub struct Choice {
    /// The program's place among all.
    pub program: usize,
    pub policy: &'static Policy,
    /// About how long a run takes.
    pub cost: Duration,
    weight: u64,
}

pub struct Programs {
    pub all: Vec<ReadyProgram>,
    /// What cannot be run, and why.
    pub faults: Vec<String>,
    choices: Vec<Choice>,
    left_out: Vec<String>,
    weight: u64,
}

impl Programs {
    pub fn prepare(
        options: &Options,
        untorn: &Path,
        folder: &Path,
        interrupted: &AtomicBool,
    ) -> Result<Self> {
        let mut programs = catalogue::programs(folder)?;
        programs.retain(|program| {
            options.only.as_ref().is_none_or(|only| program.name.contains(only.as_str()))
        });
        let work = |job: u32, program: Program| {
            if interrupted.load(Ordering::Relaxed) {
                return Err("interrupted".to_owned());
            }
            let name = program.name.clone();
            prepare(program, untorn, &folder.join(format!("job-{job}")))
                .map_err(|error| format!("{name}: {error:#}"))
        };
        let (mut all, mut faults) = (Vec::new(), Vec::new());
        for prepared in shared_out(options.jobs, programs, work) {
            match prepared {
                Ok(prepared) => all.push(prepared),
                Err(fault) => faults.push(fault),
            }
        }
        Self::weighed(all, faults)
    }

    fn weighed(all: Vec<ReadyProgram>, faults: Vec<String>) -> Result<Self> {
        let (mut choices, mut left_out) = (Vec::new(), Vec::new());
        for (program, prepared) in all.iter().enumerate() {
            for policy in &POLICIES {
                let cost = cost(policy, prepared.events);
                if cost > TOO_LONG {
                    left_out.push(format!("{} {}", prepared.program.name, policy.name));
                    continue;
                }
                choices.push(Choice { program, policy, cost, weight: weight(cost) });
            }
        }
        let weight: u64 = choices.iter().map(|choice| choice.weight).sum();
        if weight == 0 {
            bail!("there is nothing to run: {}", faults.join("; "));
        }
        Ok(Self { all, faults, choices, left_out, weight })
    }

    /// A program and a policy, the dearer the rarer.
    pub fn choose(&self, random: &mut Rng) -> &Choice {
        let mut left = random.bits() % self.weight;
        let found = self.choices.iter().find(|choice| {
            let here = left < choice.weight;
            left = left.wrapping_sub(choice.weight);
            here
        });
        found.unwrap_or(&self.choices[0])
    }

    /// What will be run, and how long it may take.
    pub fn describe(&self, options: &Options) -> String {
        let mean: f64 =
            self.choices.iter().map(|choice| self.share(choice) * self.time(choice)).sum();
        let runs = options.runs as f64 * (1.0 + 1.0 / options.replay_every as f64);
        let mut words = format!(
            "{} programs, {} pairs with a policy; about {:.0} minutes",
            self.all.len(),
            self.choices.len(),
            (mean * runs / f64::from(options.jobs) / 60.0).ceil(),
        );
        if !self.left_out.is_empty() {
            words +=
                &format!("\nleft out, because they take too long: {}", self.left_out.join(", "));
        }
        words
    }

    fn share(&self, choice: &Choice) -> f64 {
        choice.weight as f64 / self.weight as f64
    }

    /// Seconds of a run, from the one that was measured.
    fn time(&self, choice: &Choice) -> f64 {
        let prepared = &self.all[choice.program];
        let more = choice.cost.saturating_sub(cost(&POLICIES[0], prepared.events));
        (prepared.recorded + more).as_secs_f64()
    }
}

/// Lets several threads do the work. Results are in the order of the items: choices are made by it.
fn shared_out<T: Send, R: Send>(
    jobs: u32,
    items: Vec<T>,
    work: impl Fn(u32, T) -> R + Sync,
) -> Vec<R> {
    let queue = Mutex::new(items.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for job in 0..jobs {
            let (next, work, done) = (&next, &work, &done);
            scope.spawn(move || {
                while let Some((at, item)) = next() {
                    let result = work(job, item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn cost(policy: &Policy, events: u64) -> Duration {
    START + Duration::from_nanos(policy.event.saturating_mul(events))
}

/// Rounded, so that a few events more or less do not change what is chosen.
fn weight(cost: Duration) -> u64 {
    let milliseconds = u64::try_from(cost.as_millis()).unwrap_or(u64::MAX);
    (1 << 30) / milliseconds.next_power_of_two().max(1)
}

/// The first runs of a program: it must behave as declared without the recorder.
fn prepare(program: Program, untorn: &Path, folder: &Path) -> Result<ReadyProgram> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let mut plain = Command::new(&program.command[0]);
    plain.args(&program.command[1..]).current_dir(folder);
    let plain = process::run(&mut plain, LIMIT)?;
    is_as_declared(&program, &plain)?;
    let marks = folder.parent().context("a folder of the soak")?.join("marks");
    fs::create_dir_all(&marks)?;
    let marks = marks.join(program.name.replace('/', "-")).with_extension("utr");
    let mut command = Command::new(untorn);
    command.args(["record", "-o"]).arg(&marks).arg("--").args(&program.command).current_dir(folder);
    let recorded = process::run(&mut command, LIMIT)?;
    let events = judge::events(&marks).with_context(|| recorded.stderr_text())?;
    Ok(ReadyProgram { program, plain: plain.stdout, marks, recorded: recorded.elapsed, events })
}

fn is_as_declared(program: &Program, plain: &FinishedProcess) -> Result<()> {
    // Without the recorder it hangs where it can.
    if plain.hung && program.may_deadlock {
        return Ok(());
    }
    let good = match &program.output {
        Output::OneOf(outputs) => outputs.contains(&plain.stdout),
        Output::AsPlain => true,
        Output::Any => return Ok(()),
    };
    if !good || plain.hung || plain.status.code() != Some(program.exit) {
        let said = String::from_utf8_lossy(&plain.stdout).into_owned();
        bail!("without the recorder: {}, output {said:?}", plain.status);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(events: &[u64]) -> Programs {
        let prepared = |&events: &u64| ReadyProgram {
            program: Program {
                name: format!("of {events} events"),
                command: Vec::new(),
                output: Output::Any,
                exit: 0,
                may_deadlock: false,
                unsteady: None,
            },
            plain: Vec::new(),
            marks: PathBuf::new(),
            recorded: START,
            events,
        };
        Programs::weighed(events.iter().map(prepared).collect(), Vec::new()).expect("some")
    }

    #[test]
    fn the_dearer_the_rarer_and_every_policy_comes() {
        let programs = programs(&[1000, 20_000_000]);
        let mut times = [[0; POLICIES.len()]; 2];
        let mut random = Rng::new(1);
        for _ in 0..20_000 {
            let choice = programs.choose(&mut random);
            let policy = POLICIES.iter().position(|policy| policy.name == choice.policy.name);
            times[choice.program][policy.expect("one of them")] += 1;
        }
        assert!(times[0].iter().all(|&count| count > 2000), "{times:?}");
        assert!(times[1][0] > 100 && times[1][0] * 5 < times[0][0], "{times:?}");
        assert_eq!(times[1][3], 0, "pos would take minutes: {times:?}");
        assert!(programs.left_out.contains(&"of 20000000 events pos".to_owned()));
    }

    #[test]
    fn a_few_events_do_not_change_what_is_chosen() {
        let (one, other) = (programs(&[1000, 300_000]), programs(&[1003, 299_998]));
        let (mut a, mut b) = (Rng::new(7), Rng::new(7));
        for _ in 0..1000 {
            let (x, y) = (one.choose(&mut a), other.choose(&mut b));
            assert_eq!((x.program, x.policy.name), (y.program, y.policy.name));
        }
    }
}
