//! Calls that are replaced by calls of probes: waiting, notifying, reading the clock, memory.

use untorn_bytecode::{Instr, Snippet, op};

use super::{MethodPass, RewriteError};
use crate::sites::SiteKind;

/// Classes of the JDK that take the time when they are initialised, as a seed.
const SEEDED: &[&str] = &[
    "java/util/SplittableRandom",
    "java/util/concurrent/ThreadLocalRandom",
    "jdk/internal/util/random/RandomSupport",
];

impl<'a> MethodPass<'_, '_, 'a> {
    pub(super) fn call(&mut self, instr: &Instr<'a>) -> Result<(), RewriteError> {
        let Some(index) = instr.pool_index() else { return Ok(()) };
        let Ok(called) = self.class.class.pool().member(index) else { return Ok(()) };
        let (class, name) = (&*called.class, &*called.name);
        // These methods of Object are final, so the class that the instruction names does not matter.
        match (instr.opcode, name, &*called.descriptor) {
            (op::INVOKEVIRTUAL, "wait", "()V") => {
                self.divert(instr, SiteKind::Wait, "wait", "(Ljava/lang/Object;I)V")
            }
            (op::INVOKEVIRTUAL, "wait", "(J)V") => {
                self.divert(instr, SiteKind::Wait, "wait", "(Ljava/lang/Object;JI)V")
            }
            (op::INVOKEVIRTUAL, "wait", "(JI)V") => {
                self.divert(instr, SiteKind::Wait, "wait", "(Ljava/lang/Object;JII)V")
            }
            (op::INVOKEVIRTUAL, "notify", "()V") => {
                self.divert(instr, SiteKind::Notify, "notify", "(Ljava/lang/Object;I)V")
            }
            (op::INVOKEVIRTUAL, "notifyAll", "()V") => {
                self.divert(instr, SiteKind::Notify, "notifyAll", "(Ljava/lang/Object;I)V")
            }
            // The iteration order of immutable sets and maps depends on the time at which the JVM was started.
            (op::INVOKESTATIC, "nanoTime", "()J")
                if self.class.class.name() == "java/util/ImmutableCollections" =>
            {
                let probe = self.probe("salt", "()J")?;
                self.replace(instr.pc, Snippet::new().invokestatic(probe));
                Ok(())
            }
            // The same for the seeds that the JDK draws when one of its classes is initialised: which run of a JVM
            // does so makes no difference then.
            (op::INVOKESTATIC, "nanoTime" | "currentTimeMillis", "()J")
                if SEEDED.contains(&self.class.class.name()) =>
            {
                let probe = self.probe("salt", "()J")?;
                self.replace(instr.pc, Snippet::new().invokestatic(probe));
                Ok(())
            }
            (op::INVOKESTATIC, "nanoTime" | "currentTimeMillis", "()J")
                if class == "java/lang/System" =>
            {
                let probe = self.probe(name, "()J")?;
                self.replace(instr.pc, Snippet::new().invokestatic(probe));
                Ok(())
            }
            // A JVM that attaches to itself polls until a thread of its own has answered; virtual time would pass at once.
            (op::INVOKESTATIC, "sleep", "(J)V")
                if class == "java/lang/Thread"
                    && self.class.class.name().starts_with("sun/tools/attach/") =>
            {
                let probe = self.probe("sleepOutside", "(J)V")?;
                self.replace(instr.pc, Snippet::new().invokestatic(probe));
                Ok(())
            }
            (op::INVOKESTATIC, "getNanoTimeAdjustment", "(J)J")
                if class == "jdk/internal/misc/VM" =>
            {
                let probe = self.probe("nanoTimeAdjustment", "(J)J")?;
                self.replace(instr.pc, Snippet::new().invokestatic(probe));
                Ok(())
            }
            (op::INVOKEVIRTUAL, "getDeclaredMethods0", "(Z)[Ljava/lang/reflect/Method;") => {
                let descriptor = "([Ljava/lang/reflect/Method;)[Ljava/lang/reflect/Method;";
                let probe = self.probe("declared", descriptor)?;
                self.after(instr.pc, Snippet::new().invokestatic(probe));
                Ok(())
            }
            (op::INVOKESTATIC, "gc", "()V") if class == "java/lang/System" => {
                let probe = self.probe("gc", "()V")?;
                self.replace(instr.pc, Snippet::new().invokestatic(probe));
                Ok(())
            }
            (op::INVOKEVIRTUAL, "gc", "()V") if class == "java/lang/Runtime" => {
                let probe = self.probe("gc", "(Ljava/lang/Runtime;)V")?;
                self.replace(instr.pc, Snippet::new().invokestatic(probe));
                Ok(())
            }
            (op::INVOKEVIRTUAL, "freeMemory" | "totalMemory", "()J")
                if class == "java/lang/Runtime" =>
            {
                let probe = self.probe(name, "(Ljava/lang/Runtime;)J")?;
                self.replace(instr.pc, Snippet::new().invokestatic(probe));
                Ok(())
            }
            _ => self.library(instr, &called),
        }
    }

    /// Replaces the call by one of a probe with the same arguments and the site.
    fn divert(
        &mut self,
        instr: &Instr<'a>,
        what: SiteKind,
        name: &str,
        descriptor: &str,
    ) -> Result<(), RewriteError> {
        let site = self.site(instr.pc, what);
        self.planned(instr.pc, site)?;
        let code = self.call_probe(Snippet::new(), site, name, descriptor)?;
        self.replace(instr.pc, code);
        Ok(())
    }
}
