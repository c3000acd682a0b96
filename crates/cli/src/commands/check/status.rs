//! One line for who waits: what is done, how far the run is, and how much time is left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use untorn_frontend::Watch;
use untorn_report::phrasing::{count, number};

use crate::console::StatusLine;

/// The line. The loop says what is done, and the front end how far it is.
#[derive(Clone, Debug)]
pub struct Status(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    line: StatusLine,
    what: String,
    run_began: Instant,
    end: Instant,
}

impl Status {
    /// `time` is for all runs together.
    pub fn new(quiet: bool, time: Duration) -> Self {
        let now = Instant::now();
        let end = now.checked_add(time).unwrap_or(now);
        let state =
            State { line: StatusLine::new(quiet), what: String::new(), run_began: now, end };
        Self(Arc::new(Mutex::new(state)))
    }

    /// A run begins.
    pub fn begin(&self, what: String) {
        let mut state = self.state();
        state.what = what;
        state.run_began = Instant::now();
        if state.line.is_due() {
            let text = format!("{}; {}", state.what, state.left());
            state.line.show(&text);
        }
    }

    pub fn clear(&self) {
        self.state().line.clear();
    }

    /// What the front end calls while a program runs.
    pub fn watch(&self) -> Watch {
        let own = self.clone();
        Box::new(move |said| {
            let mut state = own.state();
            if state.line.is_due() {
                let text = state.text(said.events);
                state.line.show(&text);
            }
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The run has had so many events so far.
    fn text(&self, events: u64) -> String {
        let rate = events as f64 / self.run_began.elapsed().as_secs_f64().max(0.001);
        let Self { what, .. } = self;
        let events = count(events, "event");
        format!("{what}: {events}, {} a second; {}", number(rate as u64), self.left())
    }

    fn left(&self) -> String {
        let left = self.end.saturating_duration_since(Instant::now());
        format!("{} s left", left.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_shown_with_its_events_their_rate_and_the_time_left() {
        let status = Status::new(true, Duration::from_secs(90));
        status.begin("run 3: watching the program".to_owned());
        let mut state = status.state();
        state.run_began = Instant::now() - Duration::from_secs(2);
        let text = state.text(4_000_000);
        let rest = text.strip_prefix("run 3: watching the program: 4 000 000 events, ");
        let (rate, left) = rest.and_then(|rest| rest.split_once(" a second; ")).expect("a rate");
        let rate: u64 = rate.replace(' ', "").parse().expect("a number");
        // The clock goes on while it is asked.
        assert!((1..=2_000_000).contains(&rate), "{text}");
        assert!(left.ends_with(" s left"), "{text}");
    }
}
