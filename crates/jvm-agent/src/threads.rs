//! Start and end of Java threads.

use jvmti_bindings::sys::jni::jobject;
use untorn_schedule::{LockKey, ThreadId};

use crate::agent::Agent;
use crate::host::{Global, JavaThread};
use crate::jni::Jni;
use crate::jvmti::ThreadFacts;

/// Branches without an event after which a thread is considered to spin.
const SPIN: i32 = 20_000;

/// The number before that of the first thread that a program starts. The JVM itself has started fewer before.
const FIRST_THREAD: i64 = 99;

impl Agent {
    /// The program begins: the current thread is its first.
    pub(crate) fn begin(&self, jni: Jni, thread: jobject) {
        let Some(probe) = self.host().probe.get().filter(|_| !self.control().is_on()) else {
            return;
        };
        probe.set_locks(jni, self.host().locks.base());
        probe.set_spin(jni, SPIN);
        let facts = self.host().jvmti.thread_facts(thread);
        let name = facts.map_or("main".to_owned(), |facts| facts.name);
        self.begin_counting(jni);
        self.control().begin(jni, &name, self.java_thread(jni, thread));
    }

    /// Identities of objects and numbers of threads begin where they begin in every run. A JVM that makes many runs has
    /// set the identities already.
    fn begin_counting(&self, jni: Jni) {
        if self.server.is_none() {
            self.host().begin_counting(jni);
        }
        let Some(class) = jni.find_class(c"java/lang/Thread") else { return };
        // Newer releases count elsewhere.
        if let Some(number) = jni.static_field(class, c"threadSeqNumber", c"J") {
            jni.set_long(class, number, FIRST_THREAD);
        }
    }

    fn java_thread(&self, jni: Jni, thread: jobject) -> JavaThread {
        let object = self.host().jvmti.identity(thread);
        JavaThread { thread: Global(jni.global_ref(thread)), object }
    }

    /// Before a thread is started: it becomes controlled if its parent is, unless it belongs to the JDK.
    pub(crate) fn starts(&self, jni: Jni, thread: jobject) -> Option<ThreadId> {
        let Some(me) = self.control().present(jni) else {
            if self.control().is_on() {
                self.control().uncontrolled_thread();
            }
            return None;
        };
        let ThreadFacts { name, group, daemon } = self.host().jvmti.thread_facts(thread).ok()?;
        if group == "system" || group == "InnocuousThreadGroup" {
            self.control().uncontrolled_thread();
            return None;
        }
        let child = self.java_thread(jni, thread);
        Some(self.control().fork(jni, me, &name, child, daemon))
    }

    /// A new thread, before it runs anything: waits for its first turn. False if it is not controlled.
    pub(crate) fn started(&self, jni: Jni, thread: jobject) -> bool {
        self.control().started(jni, |known| jni.is_same(known.thread.0, thread))
    }

    /// Whether the object is that of the current thread, if that is controlled.
    pub(crate) fn is_current(&self, jni: Jni, thread: jobject) -> bool {
        let is_it = |known: &JavaThread| jni.is_same(known.thread.0, thread);
        self.control().current_thread().is_some_and(|me| self.control().with_thread(me, is_it))
    }

    /// A virtual thread runs on any carrier thread.
    pub(crate) fn unseen_virtual_thread(&self) {
        if self.control().virtual_thread() {
            self.control().recorder().note(
                "virtual threads are neither recorded nor controlled without -XX:-VMContinuations"
                    .to_owned(),
            );
        }
    }

    /// A thread has run all of its code. A thread that joins it waits on its object.
    pub(crate) fn ended(&self, jni: Jni) {
        self.control().ended(jni, |thread| Some(LockKey(thread.object.into())));
    }

    /// Before `join` returns.
    pub(crate) fn joined(&self, jni: Jni, thread: jobject) {
        if self.control().present(jni).is_some() {
            let object = self.host().jvmti.identity(thread);
            self.control().joined(jni, |known| known.object == object);
        }
    }
}
