//! Many runs of many programs under the recorder, each by a random policy with a random seed: every one must end, must
//! not
//! crash, must print what the program may print, and must leave a well-formed trace; each N-th must replay.
//!
//! All choices come from one seed and the number of the run, so they are the same whatever order the runs end in. They
//! depend on what programs there are and on how many events each has, rounded to powers of two, not on times.
#![allow(clippy::print_stderr, reason = "a run of hours needs a progress display")]

mod catalogue;
mod judge;
mod options;
mod prepare;
mod tally;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use untorn_testkit::rng::Rng;

use self::judge::Fault;
use self::options::Options;
use self::prepare::{Choice, Policy, Programs, RANDOM, ReadyProgram};
use self::tally::Tally;
use crate::process::{self, FinishedProcess};

/// Failures of one kind of one program that are kept with everything they left.
const KEPT: u64 = 5;

struct Soak {
    options: Options,
    untorn: PathBuf,
    folder: PathBuf,
    programs: Programs,
    tally: Mutex<Tally>,
    begin: Instant,
    /// How many runs have begun, and how many have ended.
    begun: AtomicU64,
    done: AtomicU64,
    interrupted: Arc<AtomicBool>,
}

pub fn run(words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?;
    let folder = crate::work_folder("soak")?;
    let untorn = crate::release::untorn()?;
    println!(
        "{} runs, --seed {} --jobs {} --replay-every {}",
        options.runs, options.seed, options.jobs, options.replay_every
    );
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    // Runs are in separate process groups, so only this process gets the signal.
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))?;
    let programs = Programs::prepare(&options, &untorn, &folder, &interrupted)?;
    println!("{}", programs.describe(&options));
    let soak = Soak {
        tally: Mutex::new(Tally::new(programs.faults.clone())),
        begin: Instant::now(),
        begun: AtomicU64::new(0),
        done: AtomicU64::new(0),
        interrupted,
        options,
        untorn,
        folder,
        programs,
    };
    soak.run_all()?;
    soak.report()
}

impl Soak {
    fn run_all(&self) -> Result<()> {
        let worker = |job: u32| -> Result<()> {
            let folder = self.folder.join(format!("job-{job}"));
            while !self.interrupted.load(Ordering::Relaxed) {
                let number = self.begun.fetch_add(1, Ordering::Relaxed);
                if number >= self.options.runs {
                    break;
                }
                let _ = fs::remove_dir_all(&folder);
                fs::create_dir_all(&folder)?;
                self.one(number, &folder)?;
                self.show(self.done.fetch_add(1, Ordering::Relaxed) + 1);
            }
            Ok(())
        };
        let ended: Vec<Result<()>> = std::thread::scope(|scope| {
            let jobs: Vec<_> =
                (0..self.options.jobs).map(|job| scope.spawn(move || worker(job))).collect();
            jobs.into_iter()
                .map(|job| job.join().unwrap_or_else(|_| bail!("a job of the soak failed")))
                .collect()
        });
        ended.into_iter().collect()
    }

    /// The run with that number: recorded, judged, perhaps replayed, and counted.
    fn one(&self, number: u64, folder: &Path) -> Result<()> {
        let mut random =
            Rng::new(self.options.seed ^ (number + 1).wrapping_mul(0xd134_2543_de82_ef95));
        let choice = self.programs.choose(&mut random);
        let prepared = &self.programs.all[choice.program];
        let recorded = self.record(choice, random.below(u32::MAX), folder)?;
        let mut verdict = judge::recorded(prepared, &recorded, folder);
        let whole = verdict.faults.is_empty();
        if whole && number.is_multiple_of(self.options.replay_every) {
            let again = self.replay(choice, folder)?;
            judge::replayed(&mut verdict, &recorded, &again, folder);
            fs::write(folder.join("replay.stderr"), &again.stderr)?;
        }
        let program = &prepared.program;
        let kept = self.tally().count(program, &verdict);
        for fault in &verdict.faults {
            eprintln!("soak: run {number}, {}: {fault}", program.name);
        }
        if let Some(fault) = verdict.faults.first()
            && kept < KEPT
        {
            self.keep(number, prepared, fault, folder)?;
        }
        Ok(())
    }

    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the run. A policy that holds threads is of no use where nothing is suspicious, and reports it; there the
    /// plain random one steps in.
    fn record(&self, choice: &Choice, seed: u32, folder: &Path) -> Result<FinishedProcess> {
        let ended = self.record_by(choice.policy, choice, seed, folder)?;
        if choice.policy.needs_marks
            && ended.stderr_text().contains("has no place at which this policy")
        {
            return self.record_by(&RANDOM, choice, seed, folder);
        }
        Ok(ended)
    }

    /// Writes the output of the run and how to repeat it into the folder.
    fn record_by(
        &self,
        by: &Policy,
        choice: &Choice,
        seed: u32,
        folder: &Path,
    ) -> Result<FinishedProcess> {
        let prepared = &self.programs.all[choice.program];
        let mut command = Command::new(&self.untorn);
        command.args(["record", "-o", "run.utr", "--policy", by.name]);
        command.args(["--seed", &seed.to_string()]);
        if by.needs_marks {
            command.arg("--marks").arg(&prepared.marks);
        }
        command.arg("--").args(&prepared.program.command).current_dir(folder);
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        fs::write(folder.join("command"), format!("untorn {}\n", words.join(" ")))?;
        let ended = process::run(&mut command, limit(choice))?;
        fs::write(folder.join("stdout"), &ended.stdout)?;
        fs::write(folder.join("stderr"), &ended.stderr)?;
        Ok(ended)
    }

    fn replay(&self, choice: &Choice, folder: &Path) -> Result<FinishedProcess> {
        let mut command = Command::new(&self.untorn);
        command.args(["replay", "run.utr", "-o", "again.utr"]).current_dir(folder);
        process::run(&mut command, limit(choice))
    }

    /// Puts everything of a failed run aside.
    fn keep(&self, number: u64, of: &ReadyProgram, fault: &Fault, folder: &Path) -> Result<()> {
        let name = of.program.name.replace('/', "-");
        let place = self.failures().join(format!("{number:06}-{name}-{}", fault.word()));
        fs::create_dir_all(self.failures())?;
        fs::rename(folder, &place)?;
        fs::write(place.join("fault"), format!("{fault}\n"))?;
        let command = fs::read_to_string(place.join("command"))?;
        eprintln!("  {}\n  {}", place.display(), command.trim_end());
        Ok(())
    }

    fn failures(&self) -> PathBuf {
        self.folder.join(format!("failures-{}", self.options.seed))
    }

    fn show(&self, done: u64) {
        const EVERY: u64 = 500;
        if done.is_multiple_of(EVERY) || done == self.options.runs {
            let seconds = self.begin.elapsed().as_secs_f64();
            let left = seconds / done as f64 * (self.options.runs - done) as f64;
            eprintln!(
                "soak: {done} of {} runs in {:.0} s, {} failures, {:.0} minutes left",
                self.options.runs,
                seconds,
                self.tally().failures(),
                left / 60.0,
            );
        }
    }

    fn report(&self) -> Result<()> {
        let tally = self.tally();
        println!("{tally}");
        let seconds = self.begin.elapsed().as_secs_f64();
        println!("{} runs in {seconds:.0} s", self.done.load(Ordering::Relaxed));
        if self.interrupted.load(Ordering::Relaxed) {
            println!("interrupted: {} runs were requested", self.options.runs);
        }
        match tally.failures() {
            0 => Ok(()),
            count => bail!("{count} failures; see {}", self.failures().display()),
        }
    }
}

/// A run that takes longer hangs. Generous, because the machine may be busy with other things.
fn limit(choice: &Choice) -> Duration {
    Duration::from_secs(120) + 10 * choice.cost
}
