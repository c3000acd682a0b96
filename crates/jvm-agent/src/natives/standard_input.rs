//! Standard input: what it delivers is recorded, and repeated in a replay.
#![allow(unsafe_code)]

use jvmti_bindings::sys::jni::{jint, jobject};
use untorn_runtime::{Answer, Input};

use crate::agent::{agent, guarded};
use crate::jni::Jni;

const STANDARD_INPUT: i32 = 0;

/// The input source, if the stream is standard input and the program runs.
pub(super) fn input(fd: Option<i32>) -> Option<&'static Input> {
    let agent = agent().filter(|agent| fd == Some(STANDARD_INPUT) && agent.control().is_on())?;
    Some(&agent.run().input)
}

/// One byte, or -1 at the end.
pub(super) fn byte(jni: Jni, input: Option<&Input>, original: impl FnOnce() -> jint) -> jint {
    let Some(input) = input else { return original() };
    let found = match guarded(|| input.read(1)).flatten() {
        Some(Answer::Bytes(bytes)) => bytes.first().map_or(-1, |&byte| byte.into()),
        Some(_) => -1,
        None => original(),
    };
    if !jni.has_exception() {
        let read = u8::try_from(found).map_or(Answer::End, |byte| Answer::Bytes(vec![byte]));
        guarded(|| input.keep(&read));
    }
    found
}

/// Bytes into an array; how many, or -1 at the end.
pub(super) fn bytes(
    jni: Jni,
    input: Option<&Input>,
    (array, offset, length): (jobject, jint, jint),
    original: impl FnOnce() -> jint,
) -> jint {
    // The original throws the exception for a bad request.
    let most = usize::try_from(length).ok().filter(|&most| most > 0 && !array.is_null());
    let (Some(input), Some(most)) = (input, most) else { return original() };
    let found = match guarded(|| input.read(most)).flatten() {
        Some(Answer::Bytes(bytes)) if jni.put_bytes(array, offset, &bytes) => bytes.len() as jint,
        Some(Answer::End) => -1,
        _ => original(),
    };
    if !jni.has_exception() {
        let read = match found {
            ..0 => Some(Answer::End),
            _ => jni.get_bytes(array, offset, found).map(Answer::Bytes),
        };
        guarded(|| read.inspect(|read| input.keep(read)));
    }
    found
}

/// How much can be read without waiting.
pub(super) fn available(jni: Jni, input: Option<&Input>, original: impl FnOnce() -> jint) -> jint {
    let Some(input) = input else { return original() };
    let found = guarded(|| input.available()).flatten().unwrap_or_else(original);
    if !jni.has_exception() {
        guarded(|| input.keep(&Answer::Available(found)));
    }
    found
}
