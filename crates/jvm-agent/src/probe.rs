//! Access to the static fields of `UntornProbe` from the native side.

use jvmti_bindings::sys::jni::{jclass, jfieldID, jobject};

use crate::jni::Jni;

/// The class and its fields. Ids stay valid as long as the class does, which is for ever.
#[derive(Debug)]
pub(crate) struct Probe {
    class: jclass,
    owner: jfieldID,
    number: jfieldID,
    pos: jfieldID,
    limit: jfieldID,
    branches: jfieldID,
    spin: jfieldID,
    locks: jfieldID,
    quiet: jfieldID,
    spare: jfieldID,
    silent: jfieldID,
    depth: jfieldID,
    away: jfieldID,
    asking: jfieldID,
    asks: jfieldID,
}

// SAFETY: a global reference and field ids may be used from every thread.
#[allow(unsafe_code)]
unsafe impl Send for Probe {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Probe {}

/// The part of the probe's state that belongs to the thread with the token, and moves with the token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeState {
    pub(crate) branches: i32,
    pub(crate) quiet: i32,
    /// Positive while the thread is not recorded.
    pub(crate) silence: i32,
}

impl Probe {
    pub(crate) fn find(jni: Jni, class: jclass) -> Option<Self> {
        let thread = c"Ljava/lang/Thread;";
        Some(Self {
            class: jni.global_ref(class),
            owner: jni.static_field(class, c"owner", thread)?,
            number: jni.static_field(class, c"self", c"I")?,
            pos: jni.static_field(class, c"pos", c"J")?,
            limit: jni.static_field(class, c"limit", c"J")?,
            branches: jni.static_field(class, c"branches", c"I")?,
            spin: jni.static_field(class, c"spin", c"I")?,
            locks: jni.static_field(class, c"locks", c"J")?,
            quiet: jni.static_field(class, c"quiet", c"I")?,
            spare: jni.static_field(class, c"spare", c"I")?,
            silent: jni.static_field(class, c"silent", thread)?,
            depth: jni.static_field(class, c"depth", c"I")?,
            away: jni.static_field(class, c"away", c"I")?,
            asking: jni.static_field(class, c"asking", c"I")?,
            asks: jni.static_field(class, c"asks", c"J")?,
        })
    }

    pub(crate) fn pos(&self, jni: Jni) -> usize {
        usize::try_from(jni.get_long(self.class, self.pos)).unwrap_or(0)
    }

    pub(crate) fn set_pos(&self, jni: Jni, address: usize) {
        jni.set_long(self.class, self.pos, address as i64);
    }

    pub(crate) fn set_limit(&self, jni: Jni, address: usize) {
        jni.set_long(self.class, self.limit, address as i64);
    }

    pub(crate) fn set_locks(&self, jni: Jni, address: usize) {
        jni.set_long(self.class, self.locks, address as i64);
    }

    /// Where threads ask: nowhere (0), where a bit says so (1), or everywhere (2).
    pub(crate) fn set_asking(&self, jni: Jni, asking: i32, bits: usize) {
        jni.set_long(self.class, self.asks, bits as i64);
        jni.set_int(self.class, self.asking, asking);
    }

    pub(crate) fn set_spin(&self, jni: Jni, branches: i32) {
        jni.set_int(self.class, self.spin, branches);
    }

    pub(crate) fn set_away(&self, jni: Jni, threads: usize) {
        jni.set_int(self.class, self.away, threads as i32);
    }

    /// Whether the owner must keep the token for now. It may keep it a few times; a recorded turn that ends here was
    /// already extended before.
    pub(crate) fn keeps_token(&self, jni: Jni, replaying: bool) -> bool {
        (!replaying && self.spares(jni)) || self.is_quiet(jni)
    }

    fn spares(&self, jni: Jni) -> bool {
        let left = jni.get_int(self.class, self.spare);
        if left > 0 {
            jni.set_int(self.class, self.spare, left - 1);
        }
        left > 0
    }

    /// Whether it runs a class initialiser.
    pub(crate) fn is_quiet(&self, jni: Jni) -> bool {
        jni.get_int(self.class, self.quiet) > 0
    }

    /// The same as [`Probe::keeps_token`], but without a side effect; asked before an event.
    pub(crate) fn is_unstoppable(&self, jni: Jni) -> bool {
        jni.get_int(self.class, self.spare) > 0 || self.is_quiet(jni)
    }

    /// The branches since the last record, and resets the counter.
    pub(crate) fn take_branches(&self, jni: Jni) -> u32 {
        let branches = jni.get_int(self.class, self.branches);
        jni.set_int(self.class, self.branches, 0);
        branches.max(0).cast_unsigned()
    }

    /// Suspends recording for a moment. Returns the recorded thread, for [`Probe::unsilence`].
    pub(crate) fn silence(&self, jni: Jni) -> jobject {
        let owner = jni.get_object(self.class, self.owner);
        jni.set_object(self.class, self.owner, std::ptr::null_mut());
        owner
    }

    pub(crate) fn unsilence(&self, jni: Jni, owner: jobject) {
        jni.set_object(self.class, self.owner, owner);
        jni.drop_local_ref(owner);
    }

    /// No thread is recorded.
    pub(crate) fn clear_owner(&self, jni: Jni) {
        jni.set_object(self.class, self.owner, std::ptr::null_mut());
        jni.set_object(self.class, self.silent, std::ptr::null_mut());
    }

    /// Whether the thread with the token is not recorded.
    pub(crate) fn is_silent(&self, jni: Jni) -> bool {
        self.silence_depth(jni) > 0
    }

    fn silence_depth(&self, jni: Jni) -> i32 {
        let silent = jni.get_object(self.class, self.silent);
        let depth = if silent.is_null() { 0 } else { jni.get_int(self.class, self.depth) };
        jni.drop_local_ref(silent);
        depth
    }

    /// The state that moves with the thread.
    pub(crate) fn state(&self, jni: Jni) -> ProbeState {
        ProbeState {
            branches: jni.get_int(self.class, self.branches),
            quiet: jni.get_int(self.class, self.quiet),
            silence: self.silence_depth(jni),
        }
    }

    /// Makes `thread` the recorded one, or the suspended one if its recording was suspended.
    pub(crate) fn give(&self, jni: Jni, thread: jobject, number: u32, state: ProbeState) {
        jni.set_int(self.class, self.number, number.cast_signed());
        jni.set_int(self.class, self.branches, state.branches);
        jni.set_int(self.class, self.quiet, state.quiet);
        jni.set_int(self.class, self.spare, 0);
        jni.set_int(self.class, self.depth, state.silence);
        let none = std::ptr::null_mut();
        let (owner, silent) = if state.silence > 0 { (none, thread) } else { (thread, none) };
        jni.set_object(self.class, self.owner, owner);
        jni.set_object(self.class, self.silent, silent);
    }
}
