//! The locks and conditions of java.util.concurrent. They block by themselves; their effect is recorded afterwards.

use untorn_bytecode::{Instr, Member, Snippet, op};

use super::super::{MethodPass, RewriteError};
use crate::sites::SiteKind;

const PROBES: &str = "java/lang/UntornLocks";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    /// `Lock` and its implementations.
    Lock,
    Stamped,
    Condition,
}

pub(super) fn family(class: &str) -> Option<Family> {
    Some(match class.strip_prefix("java/util/concurrent/locks/")? {
        "Lock"
        | "ReentrantLock"
        | "ReentrantReadWriteLock$ReadLock"
        | "ReentrantReadWriteLock$WriteLock" => Family::Lock,
        "StampedLock" => Family::Stamped,
        "Condition" => Family::Condition,
        _ => return None,
    })
}

impl<'a> MethodPass<'_, '_, 'a> {
    pub(super) fn lock(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
        family: Family,
    ) -> Result<(), RewriteError> {
        if instr.opcode == op::INVOKESTATIC {
            return Ok(());
        }
        match family {
            Family::Lock => self.plain_lock(instr, called),
            Family::Stamped => self.stamped_lock(instr, called),
            Family::Condition => self.condition(instr, called),
        }
    }

    fn plain_lock(&mut self, instr: &Instr<'a>, called: &Member<'a>) -> Result<(), RewriteError> {
        let block = self.is_block();
        let (what, code, probe, flag) = match &*called.name {
            "lock" | "lockInterruptibly" => {
                (SiteKind::Lock { block }, Snippet::new(), "acquiredOrReleased", "")
            }
            "unlock" => (SiteKind::Unlock { block }, Snippet::new(), "acquiredOrReleased", ""),
            "tryLock" => (SiteKind::Lock { block }, Snippet::new().op(op::DUP), "tried", "Z"),
            _ => return Ok(()),
        };
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(()) };
        let site = self.sites(instr.pc, [what, SiteKind::Nothing]);
        self.planned(instr.pc, site)?;
        let descriptor = format!("({flag}Ljava/lang/Object;I)V");
        let code = operands.load(code, 0);
        let last = self.call_probe_of(PROBES, code, site, probe, &descriptor)?;
        self.around(instr.pc, &operands, &Snippet::new(), last);
        Ok(())
    }

    fn stamped_lock(&mut self, instr: &Instr<'a>, called: &Member<'a>) -> Result<(), RewriteError> {
        let block = self.is_block();
        let (lock, unlock) = (SiteKind::Lock { block }, SiteKind::Unlock { block });
        let (site_kinds, code, probe, descriptor, takes_stamp) = match &*called.name {
            "readLock"
            | "readLockInterruptibly"
            | "tryReadLock"
            | "writeLock"
            | "writeLockInterruptibly"
            | "tryWriteLock" => {
                let (site_kinds, dup) =
                    (vec![lock, SiteKind::Nothing], Snippet::new().op(op::DUP2));
                (site_kinds, dup, "stamped", "(JLjava/lang/Object;I)V", false)
            }
            "unlock" | "unlockRead" | "unlockWrite" => {
                (vec![unlock], Snippet::new(), "unstamped", "(Ljava/lang/Object;JI)V", true)
            }
            "tryUnlockRead" => {
                let dup = Snippet::new().op(op::DUP);
                (vec![unlock], dup, "unstampedRead", "(ZLjava/lang/Object;I)V", false)
            }
            "tryUnlockWrite" => {
                let dup = Snippet::new().op(op::DUP);
                (vec![unlock], dup, "unstampedWrite", "(ZLjava/lang/Object;I)V", false)
            }
            name if name.starts_with("tryConvertTo") => {
                let dup = Snippet::new().op(op::DUP2);
                (vec![unlock, lock], dup, "converted", "(JLjava/lang/Object;JI)V", true)
            }
            _ => return Ok(()),
        };
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(()) };
        let site = self.sites(instr.pc, site_kinds);
        self.planned(instr.pc, site)?;
        let mut code = operands.load(code, 0);
        if takes_stamp {
            code = operands.load(code, 1);
        }
        let last = self.call_probe_of(PROBES, code, site, probe, descriptor)?;
        self.around(instr.pc, &operands, &Snippet::new(), last);
        Ok(())
    }

    /// Waiting may end with an exception, and the lock is reacquired nevertheless: a probe replaces the call.
    fn condition(&mut self, instr: &Instr<'a>, called: &Member<'a>) -> Result<(), RewriteError> {
        let waits =
            matches!(&*called.name, "await" | "awaitNanos" | "awaitUninterruptibly" | "awaitUntil");
        let rest = called.descriptor.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let Some((arguments, result)) = rest.filter(|_| waits) else { return Ok(()) };
        let descriptor = format!("(Ljava/util/concurrent/locks/Condition;{arguments}I){result}");
        let site = self.sites(instr.pc, [SiteKind::Await, SiteKind::Awaited]);
        let code = self.call_probe_of(PROBES, Snippet::new(), site, &called.name, &descriptor)?;
        self.replace(instr.pc, code);
        Ok(())
    }
}
