//! Features used by the application that are not recorded. They are listed, so that missing findings are not taken
//! for correctness.

use untorn_bytecode::{Member, Method, access};

use super::{MethodPass, Tally};
use crate::scope::Depth;

/// Class, prefix of the method's name, and the name of the feature.
const UNSEEN: &[(&str, &str, &str)] = &[
    ("java/util/concurrent/locks/StampedLock", "tryOptimisticRead", "optimistic reads"),
    ("java/lang/invoke/MethodHandles", "byteArrayView", "views of byte arrays"),
    ("java/lang/invoke/MethodHandles", "byteBufferView", "views of byte buffers"),
    ("java/net/Socket", "", "sockets"),
    ("java/net/ServerSocket", "", "sockets"),
    ("java/nio/channels/SocketChannel", "", "sockets"),
    ("java/nio/channels/ServerSocketChannel", "", "sockets"),
    ("java/nio/channels/Selector", "", "sockets"),
    ("java/lang/ProcessBuilder", "start", "child processes"),
    ("java/lang/Runtime", "exec", "child processes"),
    ("java/security/SecureRandom", "", "random numbers of the operating system"),
];

impl Tally {
    /// Notes a feature that is not recorded.
    fn unseen(&mut self, words: String) {
        if self.unseen.len() < Self::NAMED {
            self.unseen.insert(words);
        }
    }
}

impl MethodPass<'_, '_, '_> {
    /// Notes a call that is not recorded.
    pub(super) fn note_unseen(&self, called: &Member<'_>) {
        let found = UNSEEN
            .iter()
            .find(|(class, name, _)| *class == &*called.class && called.name.starts_with(name));
        if let Some((.., words)) = found.filter(|_| self.class.depth == Depth::Application) {
            self.class.rewriter.tally().unseen((*words).to_owned());
        }
    }
}

/// The effects of a native method are not visible.
pub(super) fn note_native(tally: &mut Tally, class: &str, method: &Method<'_>) {
    if method.access() & access::NATIVE != 0 {
        tally.unseen(format!("native method {}.{}", class.replace('/', "."), method.name()));
    }
}
