//! What a class of the application uses that leaves no events: named, so that silence is not taken for safety.

use untorn_bytecode::{Member, Method, access};

use super::{MethodPass, Tally};
use crate::scope::Depth;

/// Class, beginning of the method's name, and what to call it.
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
    /// Notes something that leaves no events.
    fn unseen(&mut self, words: String) {
        if self.unseen.len() < Self::NAMED {
            self.unseen.insert(words);
        }
    }
}

impl MethodPass<'_, '_, '_> {
    /// A call that leaves no events.
    pub(super) fn note_unseen(&self, called: &Member<'_>) {
        let found = UNSEEN
            .iter()
            .find(|(class, name, _)| *class == &*called.class && called.name.starts_with(name));
        if let Some((.., words)) = found.filter(|_| self.class.depth == Depth::Application) {
            self.class.rewriter.tally().unseen((*words).to_owned());
        }
    }
}

/// What a native method does is its own secret.
pub(super) fn note_native(tally: &mut Tally, class: &str, method: &Method<'_>) {
    if method.access() & access::NATIVE != 0 {
        tally.unseen(format!("native method {}.{}", class.replace('/', "."), method.name()));
    }
}
