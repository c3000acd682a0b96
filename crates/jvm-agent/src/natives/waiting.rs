//! Native methods of the JDK that read, write or accept, and so wait for a file, a pipe or a socket to be ready.
//!
//! They stay unchanged. Before one of them the thread lets others run until its descriptor is ready, see
//! [`AwaitedDescriptor`]; the method itself then runs with the token, and does not block.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use jvmti_bindings::sys::jni::{JNIEnv, jboolean, jfieldID, jint, jlong, jobject};
use untorn_runtime::{AwaitedDescriptor, Input};

use super::standard_input;
use crate::agent::{agent, guarded};
use crate::jni::Jni;
use crate::jvmti::MethodName;

/// How many methods there are: see [`blocking_methods`].
const COUNT: usize = 21;

/// The original functions.
static ORIGINALS: [AtomicPtr<c_void>; COUNT] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];

type Transfer<T> = unsafe extern "system" fn(*mut JNIEnv, jobject, jobject, jlong, jint) -> T;
type Byte = unsafe extern "system" fn(*mut JNIEnv, jobject) -> jint;
type Bytes = unsafe extern "system" fn(*mut JNIEnv, jobject, jobject, jint, jint) -> jint;
type Accept = unsafe extern "system" fn(*mut JNIEnv, jobject, jobject, jobject, jobject) -> jint;
type Receive =
    unsafe extern "system" fn(*mut JNIEnv, jobject, jobject, jlong, jint, jlong, jboolean) -> jint;
type Poll = unsafe extern "system" fn(*mut JNIEnv, jobject, jobject, jint, jlong) -> jint;
type PollConnect = unsafe extern "system" fn(*mut JNIEnv, jobject, jobject, jlong) -> jboolean;
type Select = unsafe extern "system" fn(*mut JNIEnv, jobject, jint, jlong, jint, jint) -> jint;

/// A method in which a thread may block.
struct BlockingMethod {
    class: &'static str,
    name: &'static str,
    descriptor: &'static str,
    function: *mut c_void,
    original: &'static AtomicPtr<c_void>,
}

const INT: &str = "(Ljava/io/FileDescriptor;JI)I";
const LONG: &str = "(Ljava/io/FileDescriptor;JI)J";

fn blocking_method<const N: usize>(
    class: &'static str,
    name: &'static str,
    descriptor: &'static str,
    function: *mut c_void,
) -> BlockingMethod {
    BlockingMethod { class, name, descriptor, function, original: &ORIGINALS[N] }
}

/// Reading through a channel, by the class that does it.
fn reads<const N: usize>(class: &'static str) -> BlockingMethod {
    blocking_method::<N>(
        class,
        "read0",
        INT,
        (transfer::<N, jint, IN> as Transfer<jint>) as *mut c_void,
    )
}

fn scatters<const N: usize>(class: &'static str) -> BlockingMethod {
    blocking_method::<N>(
        class,
        "readv0",
        LONG,
        (transfer::<N, jlong, IN> as Transfer<jlong>) as *mut c_void,
    )
}

fn writes<const N: usize>(class: &'static str) -> BlockingMethod {
    blocking_method::<N>(
        class,
        "write0",
        INT,
        (transfer::<N, jint, OUT> as Transfer<jint>) as *mut c_void,
    )
}

fn gathers<const N: usize>(class: &'static str) -> BlockingMethod {
    blocking_method::<N>(
        class,
        "writev0",
        LONG,
        (transfer::<N, jlong, OUT> as Transfer<jlong>) as *mut c_void,
    )
}

/// All such methods. The class that has them differs between releases.
fn blocking_methods() -> [BlockingMethod; COUNT] {
    const FILE: &str = "java/io/FileInputStream";
    const NET: &str = "sun/nio/ch/Net";
    const ACCEPT: &str =
        "(Ljava/io/FileDescriptor;Ljava/io/FileDescriptor;[Ljava/net/InetSocketAddress;)I";
    const ACCEPT_LOCAL: &str =
        "(Ljava/io/FileDescriptor;Ljava/io/FileDescriptor;[Ljava/lang/Object;)I";
    [
        blocking_method::<0>(FILE, "read0", "()I", (byte::<0> as Byte) as *mut c_void),
        blocking_method::<1>(FILE, "readBytes", "([BII)I", (bytes::<1> as Bytes) as *mut c_void),
        reads::<2>("sun/nio/ch/SocketDispatcher"),
        scatters::<3>("sun/nio/ch/SocketDispatcher"),
        writes::<4>("sun/nio/ch/SocketDispatcher"),
        gathers::<5>("sun/nio/ch/SocketDispatcher"),
        reads::<6>("sun/nio/ch/FileDispatcherImpl"),
        scatters::<7>("sun/nio/ch/FileDispatcherImpl"),
        writes::<8>("sun/nio/ch/FileDispatcherImpl"),
        gathers::<9>("sun/nio/ch/FileDispatcherImpl"),
        reads::<10>("sun/nio/ch/UnixFileDispatcherImpl"),
        scatters::<11>("sun/nio/ch/UnixFileDispatcherImpl"),
        reads::<12>("sun/nio/ch/DatagramDispatcher"),
        scatters::<13>("sun/nio/ch/DatagramDispatcher"),
        blocking_method::<14>(NET, "accept", ACCEPT, (accept::<14> as Accept) as *mut c_void),
        blocking_method::<15>(
            "sun/nio/ch/UnixDomainSockets",
            "accept0",
            ACCEPT_LOCAL,
            (accept::<15> as Accept) as *mut c_void,
        ),
        blocking_method::<16>(
            "sun/nio/ch/DatagramChannelImpl",
            "receive0",
            "(Ljava/io/FileDescriptor;JIJZ)I",
            (receive::<16> as Receive) as *mut c_void,
        ),
        blocking_method::<17>(
            NET,
            "poll",
            "(Ljava/io/FileDescriptor;IJ)I",
            (poll::<17> as Poll) as *mut c_void,
        ),
        blocking_method::<18>(
            NET,
            "pollConnect",
            "(Ljava/io/FileDescriptor;J)Z",
            (poll_connect::<18> as PollConnect) as *mut c_void,
        ),
        blocking_method::<19>(
            "sun/nio/ch/EPoll",
            "wait",
            "(IJII)I",
            (select::<19> as Select) as *mut c_void,
        ),
        blocking_method::<20>(FILE, "available0", "()I", (available::<20> as Byte) as *mut c_void),
    ]
}

/// The function to bind instead, if the method is one of these.
pub(super) fn replace(method: &MethodName, original: *mut c_void) -> Option<*mut c_void> {
    let same = |blocking_method: &BlockingMethod| {
        blocking_method.class == method.class
            && blocking_method.name == method.name
            && blocking_method.descriptor == method.descriptor
    };
    let blocking_method = blocking_methods().into_iter().find(same)?;
    blocking_method.original.store(original, Ordering::Release);
    Some(blocking_method.function)
}

/// The awaited condition, as `poll` encodes it.
const IN: i16 = libc::POLLIN;
const OUT: i16 = libc::POLLOUT;

/// The fields in which descriptors keep their number, and streams their descriptors.
#[derive(Debug)]
struct Fields {
    number: jfieldID,
    descriptor: jfieldID,
}

// SAFETY: field ids may be used from every thread.
unsafe impl Send for Fields {}
// SAFETY: as above.
unsafe impl Sync for Fields {}

fn fields(jni: Jni) -> Option<&'static Fields> {
    static FIELDS: OnceLock<Option<Fields>> = OnceLock::new();
    let find = || {
        let descriptor = jni.find_class(c"java/io/FileDescriptor")?;
        let stream = jni.find_class(c"java/io/FileInputStream")?;
        Some(Fields {
            number: jni.field(descriptor, c"fd", c"I")?,
            descriptor: jni.field(stream, c"fd", c"Ljava/io/FileDescriptor;")?,
        })
    };
    FIELDS.get_or_init(find).as_ref()
}

fn number(jni: Jni, descriptor: jobject) -> Option<i32> {
    let fields = fields(jni).filter(|_| !descriptor.is_null())?;
    Some(jni.get_int_of(descriptor, fields.number)).filter(|&fd| fd >= 0)
}

fn number_of_stream(jni: Jni, stream: jobject) -> Option<i32> {
    let descriptor = jni.get_object_of(stream, fields(jni)?.descriptor);
    let found = number(jni, descriptor);
    jni.drop_local_ref(descriptor);
    found
}

/// Whether the descriptor is non-blocking, so that there is nothing to wait for.
fn blocks(fd: i32) -> bool {
    // SAFETY: asks for the flags of a descriptor, if it is one.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    flags >= 0 && flags & libc::O_NONBLOCK == 0
}

/// Lets others run until the descriptor is ready. True if the thread is controlled: the method then need not block.
fn wait(env: *mut JNIEnv, find: impl FnOnce(Jni) -> Option<AwaitedDescriptor>) -> bool {
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    let Some(agent) = agent().filter(|agent| agent.control().is_on()) else { return false };
    let wait = || find(jni).is_some_and(|awaited| agent.control().await_ready(jni, &awaited));
    guarded(wait).unwrap_or(false)
}

/// Waits before a transfer that has no time limit.
fn wait_for(env: *mut JNIEnv, events: i16, number: impl FnOnce(Jni) -> Option<i32>) {
    wait(env, |jni| {
        let fd = number(jni).filter(|&fd| fd == AwaitedDescriptor::NOTHING || blocks(fd))?;
        Some(AwaitedDescriptor { fd, events, limit: None })
    });
}

/// Waits with a time limit; returns the time that is left for the method itself.
fn wait_within(env: *mut JNIEnv, descriptor: jobject, events: i16, millis: jlong) -> jlong {
    let find = |jni| {
        Some(AwaitedDescriptor { fd: number(jni, descriptor)?, events, limit: limit(millis) })
    };
    if millis != 0 && wait(env, find) { 0 } else { millis }
}

/// A limit in milliseconds; negative is none.
fn limit(millis: i64) -> Option<Duration> {
    u64::try_from(millis).ok().map(Duration::from_millis)
}

/// The original of that number, as a function of the given type.
macro_rules! original {
    ($number:expr, $kind:ty, $($argument:expr),*) => {{
        let function = ORIGINALS[$number].load(Ordering::Acquire);
        // SAFETY: it was bound to a method of that type before this one was, and is never null.
        unsafe { std::mem::transmute::<*mut c_void, $kind>(function)($($argument),*) }
    }};
}

unsafe extern "system" fn transfer<const N: usize, T, const EVENTS: i16>(
    env: *mut JNIEnv,
    class: jobject,
    descriptor: jobject,
    address: jlong,
    length: jint,
) -> T {
    wait_for(env, EVENTS, |jni| number(jni, descriptor));
    original!(N, Transfer<T>, env, class, descriptor, address, length)
}

unsafe extern "system" fn byte<const N: usize>(env: *mut JNIEnv, stream: jobject) -> jint {
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    let input = wait_for_input(jni, env, stream);
    standard_input::byte(jni, input, || original!(N, Byte, env, stream))
}

unsafe extern "system" fn bytes<const N: usize>(
    env: *mut JNIEnv,
    stream: jobject,
    array: jobject,
    offset: jint,
    length: jint,
) -> jint {
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    let input = wait_for_input(jni, env, stream);
    let original = || original!(N, Bytes, env, stream, array, offset, length);
    standard_input::bytes(jni, input, (array, offset, length), original)
}

unsafe extern "system" fn available<const N: usize>(env: *mut JNIEnv, stream: jobject) -> jint {
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    let input = standard_input::input(number_of_stream(jni, stream));
    standard_input::available(jni, input, || original!(N, Byte, env, stream))
}

/// Waits before a stream is read. Returns the input source if the stream is standard input; bytes that are already
/// known need no waiting.
fn wait_for_input(jni: Jni, env: *mut JNIEnv, stream: jobject) -> Option<&'static Input> {
    let fd = number_of_stream(jni, stream);
    let input = standard_input::input(fd);
    let known = input.is_some_and(Input::is_known);
    wait_for(env, IN, |_| if known { Some(AwaitedDescriptor::NOTHING) } else { fd });
    input
}

unsafe extern "system" fn accept<const N: usize>(
    env: *mut JNIEnv,
    class: jobject,
    descriptor: jobject,
    new: jobject,
    address: jobject,
) -> jint {
    wait_for(env, IN, |jni| number(jni, descriptor));
    original!(N, Accept, env, class, descriptor, new, address)
}

unsafe extern "system" fn receive<const N: usize>(
    env: *mut JNIEnv,
    class: jobject,
    descriptor: jobject,
    address: jlong,
    length: jint,
    sender: jlong,
    connected: jboolean,
) -> jint {
    wait_for(env, IN, |jni| number(jni, descriptor));
    original!(N, Receive, env, class, descriptor, address, length, sender, connected)
}

unsafe extern "system" fn poll<const N: usize>(
    env: *mut JNIEnv,
    class: jobject,
    descriptor: jobject,
    events: jint,
    millis: jlong,
) -> jint {
    let millis = wait_within(env, descriptor, events as i16, millis);
    original!(N, Poll, env, class, descriptor, events, millis)
}

unsafe extern "system" fn poll_connect<const N: usize>(
    env: *mut JNIEnv,
    class: jobject,
    descriptor: jobject,
    millis: jlong,
) -> jboolean {
    let millis = wait_within(env, descriptor, OUT, millis);
    original!(N, PollConnect, env, class, descriptor, millis)
}

/// A selector has a descriptor of its own, which is ready as soon as one of those that it watches is.
unsafe extern "system" fn select<const N: usize>(
    env: *mut JNIEnv,
    class: jobject,
    fd: jint,
    address: jlong,
    count: jint,
    millis: jint,
) -> jint {
    let limit = limit(millis.into());
    let waited = millis != 0 && wait(env, |_| Some(AwaitedDescriptor { fd, events: IN, limit }));
    let millis = if waited { 0 } else { millis };
    original!(N, Select, env, class, fd, address, count, millis)
}
