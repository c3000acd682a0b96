//! Ending a command together with everything that it started.

use std::process::Child;

use rustix::process::{Pid, Signal};

/// The child and all below it, as long as they are: a script that is ended alone leaves its JVM behind.
pub fn tree(child: &Child) -> Vec<Pid> {
    let mut found = vec![Pid::from_child(child)];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(children(pid));
        next += 1;
    }
    found
}

/// The processes that the threads of one have started.
fn children(pid: Pid) -> Vec<Pid> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    let lists = tasks.into_iter().flatten().flatten().filter_map(|task| {
        // A thread may have ended meanwhile.
        std::fs::read_to_string(task.path().join("children")).ok()
    });
    let pids = |list: String| {
        list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
    };
    lists.flat_map::<Vec<Pid>, _>(pids).collect()
}

pub fn any_is_alive(processes: &[Pid]) -> bool {
    processes.iter().any(|&process| is_alive(process))
}

/// Whether it still does something: one that has ended may wait for somebody who asks how.
fn is_alive(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    // The name in parentheses may contain anything; the state follows the last one.
    let state = stat.ok().and_then(|text| text.rsplit(')').next()?.trim_start().chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// Those that have ended already do not matter.
pub fn signal(processes: &[Pid], signal: Signal) {
    for &process in processes.iter().filter(|&&process| is_alive(process)) {
        let _ = rustix::process::kill_process(process, signal);
    }
}
