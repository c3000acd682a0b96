//! Features used by the application that are not recorded. They are listed, so that missing findings are not taken
//! for correctness.

use untorn_bytecode::{Member, Method, access};

use super::{MethodPass, Tally};
use crate::scope::Depth;

const ADAPTED: &str = "fields through adapted method handles";
const BUFFERS: &str = "contents of java.nio buffers";
const ELEMENT_HANDLES: &str = "elements through method handles";
const FORMATS: &str = "state of formats";
const VIEWS: &str = "changes through views of concurrent maps";

/// Class, prefix of the method's name, and the name of the feature.
const UNSEEN: &[(&str, &str, &str)] = &[
    ("java/util/concurrent/locks/StampedLock", "tryOptimisticRead", "optimistic reads"),
    ("java/lang/invoke/MethodHandles", "byteArrayView", "views of byte arrays"),
    ("java/lang/invoke/MethodHandles", "byteBufferView", "views of byte buffers"),
    ("java/lang/invoke/MethodHandles", "arrayElement", ELEMENT_HANDLES),
    ("java/lang/invoke/MethodHandles", "insertArguments", ADAPTED),
    ("java/lang/invoke/MethodHandle", "asType", ADAPTED),
    ("java/lang/invoke/MethodHandle", "bindTo", ADAPTED),
    ("java/nio/Buffer", "", BUFFERS),
    ("java/nio/ByteBuffer", "", BUFFERS),
    ("java/nio/CharBuffer", "", BUFFERS),
    ("java/nio/DoubleBuffer", "", BUFFERS),
    ("java/nio/FloatBuffer", "", BUFFERS),
    ("java/nio/IntBuffer", "", BUFFERS),
    ("java/nio/LongBuffer", "", BUFFERS),
    ("java/nio/MappedByteBuffer", "", BUFFERS),
    ("java/nio/ShortBuffer", "", BUFFERS),
    ("java/io/ByteArrayOutputStream", "", "contents of byte streams"),
    ("java/io/ObjectInputStream", "readObject", "fields that are deserialized"),
    ("java/io/ObjectOutputStream", "writeObject", "fields that are serialized"),
    ("java/security/MessageDigest", "", "state of message digests"),
    ("java/text/DateFormat", "", FORMATS),
    ("java/text/DecimalFormat", "", FORMATS),
    ("java/text/MessageFormat", "", FORMATS),
    ("java/text/NumberFormat", "", FORMATS),
    ("java/text/SimpleDateFormat", "", FORMATS),
    ("java/util/Formatter", "", FORMATS),
    ("java/util/Properties", "", "contents of java.util.Properties"),
    ("java/util/Scanner", "", "state of scanners and matchers"),
    ("java/util/regex/Matcher", "", "state of scanners and matchers"),
    ("java/util/concurrent/ConcurrentHashMap", "entrySet", VIEWS),
    ("java/util/concurrent/ConcurrentHashMap", "keySet", VIEWS),
    ("java/util/concurrent/ConcurrentHashMap", "values", VIEWS),
    ("java/util/concurrent/ConcurrentMap", "entrySet", VIEWS),
    ("java/util/concurrent/ConcurrentMap", "keySet", VIEWS),
    ("java/util/concurrent/ConcurrentMap", "values", VIEWS),
    ("java/util/zip/CRC32", "", "state of check sums and compression"),
    ("java/util/zip/Deflater", "", "state of check sums and compression"),
    ("java/util/zip/Inflater", "", "state of check sums and compression"),
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
            .find(|(class, name, _)| *class == &*called.class && called.name.starts_with(name))
            // A variable handle of elements is recorded.
            .filter(|_| &*called.name != "arrayElementVarHandle");
        if let Some((.., words)) = found {
            self.note_unseen_words(words);
        }
    }

    /// Notes something that the application uses and that is not recorded.
    pub(super) fn note_unseen_words(&self, words: &str) {
        if self.class.depth == Depth::Application {
            self.class.rewriter.tally().unseen(words.to_owned());
        }
    }
}

/// The effects of a native method are not visible.
pub(super) fn note_native(tally: &mut Tally, class: &str, method: &Method<'_>) {
    if method.access() & access::NATIVE != 0 {
        tally.unseen(format!("native method {}.{}", class.replace('/', "."), method.name()));
    }
}
