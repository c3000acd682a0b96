//! The command line options of a soak.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub runs: u64,
    /// Each run whose number is a multiple of this is replayed.
    pub replay_every: u64,
    pub seed: u64,
    /// Runs at a time.
    pub jobs: u32,
    /// Only programs with this in their names.
    pub only: Option<String>,
}

const USAGE: &str =
    "usage: ./dev soak jvm [RUNS] [--replay-every N] [--seed S] [--jobs J] [--only NAME]";

impl Options {
    pub fn parse(words: &[&str]) -> Result<Self> {
        let (runs, mut rest) = match words {
            [runs, rest @ ..] if !runs.starts_with("--") => (runs.parse().context(USAGE)?, rest),
            _ => (10_000, words),
        };
        let cores = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut options = Self { runs, replay_every: 10, seed: now, jobs: cores, only: None };
        while let [name, value, others @ ..] = rest {
            match *name {
                "--replay-every" => options.replay_every = value.parse().context(USAGE)?,
                "--seed" => options.seed = value.parse().context(USAGE)?,
                "--jobs" => options.jobs = value.parse().context(USAGE)?,
                "--only" => options.only = Some((*value).to_owned()),
                _ => bail!(USAGE),
            }
            rest = others;
        }
        if !rest.is_empty() || options.replay_every == 0 || options.jobs == 0 {
            bail!(USAGE);
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let all = ["9", "--replay-every", "3", "--seed", "5", "--jobs", "1", "--only", "fail/"];
        let only = Some("fail/".to_owned());
        let expected = Options { runs: 9, replay_every: 3, seed: 5, jobs: 1, only };
        assert_eq!(Options::parse(&all).expect("good options"), expected);
        assert_eq!(Options::parse(&[]).expect("no options").runs, 10_000);
        for bad in [&["9", "--seed"][..], &["9", "--jobs", "0"], &["nine"]] {
            assert!(Options::parse(bad).is_err(), "{bad:?}");
        }
    }
}
