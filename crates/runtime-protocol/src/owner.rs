//! Whose run it is: the process of the command line, and whether it is still there.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A process, so that another one with the same number is not taken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pid: u32,
    /// When it was started, in the clock of the system.
    started: u64,
    /// Where its number means anything.
    namespace: PathBuf,
}

impl Owner {
    /// This process; `None` if the system does not say enough about it.
    pub fn this_process() -> Option<Self> {
        let pid = std::process::id();
        let (_, started) = state_of(pid)?;
        Some(Self { pid, started, namespace: namespace()? })
    }

    /// Whether it has ended. What cannot be known is taken for a no.
    pub fn is_gone(&self) -> bool {
        if namespace().as_ref() != Some(&self.namespace) {
            return false;
        }
        // One that has ended may wait for somebody who asks how.
        !state_of(self.pid)
            .is_some_and(|(state, started)| started == self.started && !matches!(state, 'Z' | 'X'))
    }
}

fn namespace() -> Option<PathBuf> {
    std::fs::read_link("/proc/self/ns/pid").ok()
}

/// What a process does, and when it was started.
fn state_of(pid: u32) -> Option<(char, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; the state follows the last one, and the start is 19 behind it.
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_gone_when_it_has_ended_even_if_nobody_has_asked_how() {
        let own = Owner::this_process().expect("a system that tells");
        assert!(!own.is_gone());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("it starts");
        let (_, started) = state_of(child.id()).expect("it runs");
        let other = Owner { pid: child.id(), started, ..own.clone() };
        assert!(!other.is_gone());
        child.kill().expect("it can be killed");
        while !other.is_gone() {
            std::thread::yield_now();
        }
        let _ = child.wait();
        assert!(other.is_gone());
    }

    #[test]
    fn another_process_with_its_number_is_not_it() {
        let own = Owner::this_process().expect("a system that tells");
        assert!(Owner { started: own.started + 1, ..own.clone() }.is_gone());
        // In another namespace the number says nothing.
        let elsewhere = PathBuf::from("pid:[1]");
        assert!(!Owner { started: own.started + 1, namespace: elsewhere, ..own }.is_gone());
    }
}
