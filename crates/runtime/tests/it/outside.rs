//! Threads that lose the token outside: at foreign locks, at pipes, in system calls that the runtime does not see.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use untorn_runtime::AwaitedDescriptor;
use untorn_runtime::buffers::special;
use untorn_schedule::{PolicyKind, Reason};

use crate::program::{Program, Recorded, Run, run};

/// A thread leaves, the other one continues, and the first returns at its next event.
fn leaving(main: &Program) {
    let child = main.spawn("child", false, |program| {
        (10..13).for_each(|site| program.access(site, 0));
    });
    main.access(1, 0);
    main.control.leave_contended(());
    main.access(2, 0);
    main.join(child);
}

#[test]
fn a_thread_that_leaves_comes_back_before_its_next_event() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), leaving);
    let accesses = recorded.accesses();
    assert_eq!(accesses.len(), 5);
    let main: Vec<_> = accesses.iter().filter(|(thread, _)| *thread == 0).collect();
    assert_eq!(main, [&(0, 1), &(0, 2)]);
    let first_of_child = accesses.iter().position(|&access| access == (1, 10));
    assert!(first_of_child < accesses.iter().position(|&access| access == (0, 2)));
    assert_eq!(recorded.summary().contended, 1);
    let left = recorded.schedule.steps.iter().filter(|step| step.reason == Reason::Outside);
    assert_eq!(left.count(), 1);
    assert!(recorded.progress.done);
}

#[test]
fn a_thread_that_was_left_alone_is_back_when_nobody_else_can_run() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        main.access(1, 0);
        main.control.leave_contended(());
        assert_eq!(main.control.holder(), None);
        assert!(main.control.come_back(()));
        assert!(!main.control.come_back(()), "it has the token");
        main.access(2, 0);
    });
    assert_eq!(recorded.accesses(), [(0, 1), (0, 2)]);
}

fn awaited(reader: &PipeReader, limit: Option<Duration>) -> AwaitedDescriptor {
    AwaitedDescriptor { fd: reader.as_raw_fd(), events: libc::POLLIN, limit }
}

/// One thread reads from a pipe what another one writes.
fn through_a_pipe(run_it: &Run) -> Recorded {
    let (reader, writer) = pipe().expect("a pipe");
    run(run_it, move |main| reads(main, reader, writer))
}

fn reads(main: &Program, mut reader: PipeReader, mut writer: PipeWriter) {
    let child = main.spawn("writer", false, move |program| {
        program.access(10, 0);
        writer.write_all(b"x").expect("the pipe is open");
        program.access(11, 0);
    });
    main.access(1, 0);
    assert!(main.control.await_ready((), &awaited(&reader, None)));
    reader.read_exact(&mut [0]).expect("a byte was written");
    main.access(2, 0);
    main.join(child);
}

#[test]
fn who_waits_for_a_pipe_lets_the_one_who_writes_run() {
    let recorded = through_a_pipe(&Run::new(PolicyKind::RunToBlock, 0));
    let at = |access| recorded.accesses().iter().position(|&other| other == access);
    assert!(at((1, 10)) < at((0, 2)));
    assert_eq!(recorded.summary().awaited, 1);
    assert_eq!(recorded.summary().stolen, 0);
    assert!(recorded.records.iter().any(|(_, record)| record.site == special::LOOK));
}

#[test]
fn waiting_for_a_pipe_is_repeated() {
    for seed in 0..6 {
        let recorded = through_a_pipe(&Run::new(PolicyKind::Random, seed));
        let replayed = through_a_pipe(&Run::replay(&recorded.schedule));
        assert_eq!(replayed.accesses(), recorded.accesses(), "seed {seed}");
        assert!(replayed.is_faithful(), "seed {seed}: {:?}", replayed.summary);
    }
}

#[test]
fn waiting_for_a_pipe_ends_when_its_time_is_over() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        let (reader, _writer) = pipe().expect("a pipe");
        assert!(main.control.await_ready((), &awaited(&reader, Some(Duration::from_millis(5)))));
        main.access(1, 0);
    });
    assert_eq!(recorded.accesses(), [(0, 1)]);
}

#[test]
fn who_must_not_leave_waits_with_the_token() {
    run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        let (reader, _writer) = pipe().expect("a pipe");
        main.unstoppable(|| assert!(!main.control.await_ready((), &awaited(&reader, None))));
        assert!(main.control.holder().is_some());
    });
}

/// Reads from the pipe without informing the runtime, as a library might.
fn blocks_unseen(run_it: &Run) -> Recorded {
    let (mut reader, mut writer) = pipe().expect("a pipe");
    run(run_it, move |main| {
        let child = main.spawn("writer", false, move |program| {
            program.access(10, 0);
            writer.write_all(b"x").expect("the pipe is open");
        });
        main.access(1, 0);
        reader.read_exact(&mut [0]).expect("a byte was written");
        main.access(2, 0);
        main.join(child);
    })
}

#[test]
fn the_watchdog_takes_the_token_from_a_thread_in_a_system_call() {
    let watchdog = Some(Duration::from_millis(60));
    let recorded = blocks_unseen(&Run { watchdog, ..Run::new(PolicyKind::RunToBlock, 0) });
    assert_eq!(recorded.accesses(), [(0, 1), (1, 10), (0, 2)]);
    assert_eq!(recorded.summary().stolen, 1);
    // In the replay the thread leaves at the same point, and the token is not taken from it.
    let replayed = blocks_unseen(&Run { watchdog, ..Run::replay(&recorded.schedule) });
    assert_eq!(replayed.accesses(), recorded.accesses());
    assert_eq!(replayed.summary().stolen, 0);
}

#[test]
fn the_watchdog_leaves_a_thread_alone_that_computes() {
    let watchdog = Some(Duration::from_millis(20));
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    let recorded = run(&Run { watchdog, ..Run::new(PolicyKind::RunToBlock, 0) }, move |main| {
        main.spawn("other", false, move |_| done.store(true, Ordering::Relaxed));
        let mut sum = 0_u64;
        for number in 0..40_000_000_u64 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(number));
        }
        main.access(1, sum);
        assert!(!seen.load(Ordering::Relaxed), "it never lost the token");
    });
    assert_eq!(recorded.summary().stolen, 0);
}
