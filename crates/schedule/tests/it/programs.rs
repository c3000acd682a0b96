//! The scheduler against a simulated machine that runs random programs.
//!
//! The machine determines by itself which threads can run, from the semantics of locks, waits, permits and deadlines.
//! Every decision of the scheduler is compared with it.

mod decisions;
mod driver;
mod explore;
mod holding;
mod machine;
mod pct;
mod plans;
mod program;
mod replay;
mod surw;

/// How many programs: `./dev soak` runs twenty times as many.
fn rounds(usual: u64) -> u64 {
    untorn_testkit::cases(usual, usual * 20)
}
