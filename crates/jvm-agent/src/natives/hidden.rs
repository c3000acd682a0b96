//! Names of hidden classes, the same in each run.
//!
//! From JDK 22 on the JVM puts its classes at a random address, even if the system does not randomise addresses, and
//! the names of hidden classes contain their address: `Shop$$Lambda/0x0000000055080938`. They get numbers instead.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use jvmti_bindings::sys::jni::{JNIEnv, jobject};

use crate::agent::guarded;
use crate::jni::Jni;
use crate::jvmti::MethodName;

/// The first release with classes at random addresses.
const SINCE: u32 = 22;

type GivesObject = unsafe extern "system" fn(*mut JNIEnv, jobject) -> jobject;

/// The original of `Class.initClassName`.
static ORIGINAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The function to bind instead, if it is the method that gives names to classes.
pub(super) fn replace(
    method: &MethodName,
    original: *mut c_void,
    release: Option<u32>,
) -> Option<*mut c_void> {
    let is_named_so = method.class == "java/lang/Class" && method.name == "initClassName";
    if !is_named_so || release.is_none_or(|release| release < SINCE) {
        return None;
    }
    ORIGINAL.store(original, Ordering::Release);
    Some((class_name as GivesObject) as *mut c_void)
}

/// The name of a class, which the JVM stores in it when it is first requested. Hidden classes get numbers in that
/// order.
unsafe extern "system" fn class_name(env: *mut JNIEnv, class: jobject) -> jobject {
    let original = ORIGINAL.load(Ordering::Acquire);
    if original.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: the function was bound to a method with that signature.
    let name = unsafe { std::mem::transmute::<*mut c_void, GivesObject>(original)(env, class) };
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    if name.is_null() || jni.has_exception() {
        return name;
    }
    guarded(|| numbered(jni, class, name)).flatten().unwrap_or(name)
}

/// Gives a hidden class, or an array of it, its number; `None` for all other classes.
fn numbered(jni: Jni, class: jobject, name: jobject) -> Option<jobject> {
    let name = with_number(&jni.text(name))?;
    let field = jni.field(jni.class_of(class), c"name", c"Ljava/lang/String;")?;
    let name = jni.new_text(&name)?;
    jni.set_member(class, field, name);
    Some(name)
}

/// `Shop$$Lambda/0x0000000000000001` for the second address that is requested.
fn with_number(name: &str) -> Option<String> {
    static ADDRESSES: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());
    let (visible, rest) = name.rsplit_once("/0x")?;
    let (address, behind) = rest.split_at(rest.find(';').unwrap_or(rest.len()));
    let mut addresses = ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    let next = addresses.len();
    let number = *addresses.entry(address.to_owned()).or_insert(next);
    Some(format!("{visible}/0x{number:016x}{behind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_classes_have_numbers_in_place_of_addresses() {
        assert_eq!(with_number("com.acme.Shop"), None);
        assert_eq!(with_number("[Ljava.lang.String;"), None);
        let number = |name| with_number(name).expect("a hidden class");
        assert_eq!(number("Shop$$Lambda/0x0000000055080938"), "Shop$$Lambda/0x0000000000000000");
        assert_eq!(number("Shop$$Lambda/0x0000000055080b48"), "Shop$$Lambda/0x0000000000000001");
        let array = number("[LShop$$Lambda/0x0000000055080938;");
        assert_eq!(array, "[LShop$$Lambda/0x0000000000000000;");
    }
}
