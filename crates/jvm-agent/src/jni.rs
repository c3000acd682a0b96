//! The few JNI functions that the agent needs, each checked, none of them panicking.
//!
//! A [`Jni`] is only ever made from the environment that the JVM passed to the current thread, and never outlives the
//! call in which it was passed; every reference that is passed here comes from the JVM in that same call or is a
//! global reference. The `unsafe` blocks rely on this.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};

use jvmti_bindings::sys::jni::{
    JNI_FALSE, JNIEnv, JNINativeInterface_, JNINativeMethod, jboolean, jclass, jfieldID, jint,
    jlong, jmethodID, jobject, jvalue, jweak,
};

/// A reference that does not keep its object alive.
#[derive(Debug)]
pub(crate) struct WeakRef(pub(crate) jweak);

// SAFETY: a weak global reference may be used from every thread.
unsafe impl Send for WeakRef {}

/// The JNI environment of the current thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jni(*mut JNIEnv);

impl Jni {
    /// # Safety
    /// `env` is the environment of the current thread.
    pub(crate) unsafe fn new(env: *mut JNIEnv) -> Self {
        Self(env)
    }

    fn table(&self) -> &JNINativeInterface_ {
        // SAFETY: the environment is valid in the current thread, see above.
        unsafe { &**self.0 }
    }

    /// Defines a class in the boot loader.
    pub(crate) fn define_boot_class(self, name: &CStr, bytes: &[u8]) -> Option<jclass> {
        let length = jint::try_from(bytes.len()).ok()?;
        let data = bytes.as_ptr().cast();
        // SAFETY: the bytes live through the call, which copies them.
        let class = unsafe {
            (self.table().DefineClass)(self.0, name.as_ptr(), std::ptr::null_mut(), data, length)
        };
        self.checked(class)
    }

    pub(crate) fn find_class(self, name: &CStr) -> Option<jclass> {
        // SAFETY: see the module.
        let class = unsafe { (self.table().FindClass)(self.0, name.as_ptr()) };
        self.checked(class)
    }

    /// The characters of a `String`; `None` if the JVM does not return them.
    pub(crate) fn text(self, string: jobject) -> String {
        if string.is_null() {
            return String::new();
        }
        // SAFETY: see the module; the characters are given back before the string is.
        unsafe {
            let chars = (self.table().GetStringUTFChars)(self.0, string, std::ptr::null_mut());
            if chars.is_null() {
                self.clear_exception();
                return String::new();
            }
            let text = CStr::from_ptr(chars).to_string_lossy().into_owned();
            (self.table().ReleaseStringUTFChars)(self.0, string, chars);
            text
        }
    }

    /// A new `String` of characters whose encoding there is the same: all but NUL and those beyond 16 bits.
    pub(crate) fn new_text(self, text: &str) -> Option<jobject> {
        let text = CString::new(text).ok()?;
        // SAFETY: see the module; the characters live through the call.
        let string = unsafe { (self.table().NewStringUTF)(self.0, text.as_ptr()) };
        self.checked(string)
    }

    /// The elements of a `byte[]`.
    pub(crate) fn bytes(self, array: jobject) -> Option<Vec<u8>> {
        // SAFETY: see the module; the region is that of the array, and the memory as long.
        unsafe {
            let length = (self.table().GetArrayLength)(self.0, array);
            let mut bytes = vec![0_u8; usize::try_from(length).ok()?];
            let to = bytes.as_mut_ptr().cast();
            (self.table().GetByteArrayRegion)(self.0, array, 0, length, to);
            (!self.clear_exception()).then_some(bytes)
        }
    }

    /// A part of a `byte[]`.
    pub(crate) fn get_bytes(self, array: jobject, offset: jint, length: jint) -> Option<Vec<u8>> {
        let mut bytes = vec![0_u8; usize::try_from(length).ok()?];
        let to = bytes.as_mut_ptr().cast();
        // SAFETY: see the module; the JVM checks the region, and the memory is as long.
        unsafe { (self.table().GetByteArrayRegion)(self.0, array, offset, length, to) };
        (!self.clear_exception()).then_some(bytes)
    }

    /// Writes into a `byte[]`; false if that is too short.
    pub(crate) fn put_bytes(self, array: jobject, offset: jint, bytes: &[u8]) -> bool {
        let Ok(length) = jint::try_from(bytes.len()) else { return false };
        let from = bytes.as_ptr().cast();
        // SAFETY: see the module; the JVM checks the region, and the memory is as long.
        unsafe { (self.table().SetByteArrayRegion)(self.0, array, offset, length, from) };
        !self.clear_exception()
    }

    /// A new `byte[]`.
    pub(crate) fn byte_array(self, bytes: &[u8]) -> Option<jobject> {
        let length = jint::try_from(bytes.len()).ok()?;
        // SAFETY: see the module; the region is that of the new array, and the memory as long.
        unsafe {
            let array = self.checked((self.table().NewByteArray)(self.0, length))?;
            let from = bytes.as_ptr().cast();
            (self.table().SetByteArrayRegion)(self.0, array, 0, length, from);
            (!self.clear_exception()).then_some(array)
        }
    }

    pub(crate) fn class_of(self, object: jobject) -> jclass {
        // SAFETY: see the module.
        unsafe { (self.table().GetObjectClass)(self.0, object) }
    }

    pub(crate) fn static_field(self, class: jclass, name: &CStr, kind: &CStr) -> Option<jfieldID> {
        // SAFETY: see the module.
        let id =
            unsafe { (self.table().GetStaticFieldID)(self.0, class, name.as_ptr(), kind.as_ptr()) };
        self.checked(id)
    }

    pub(crate) fn field(self, class: jclass, name: &CStr, kind: &CStr) -> Option<jfieldID> {
        // SAFETY: see the module.
        let id = unsafe { (self.table().GetFieldID)(self.0, class, name.as_ptr(), kind.as_ptr()) };
        self.checked(id)
    }

    pub(crate) fn get_int_of(self, object: jobject, field: jfieldID) -> jint {
        // SAFETY: the field is an int of the object's class.
        unsafe { (self.table().GetIntField)(self.0, object, field) }
    }

    pub(crate) fn set_int_of(self, object: jobject, field: jfieldID, value: jint) {
        // SAFETY: the field is an int of the object's class.
        unsafe { (self.table().SetIntField)(self.0, object, field, value) }
    }

    pub(crate) fn array_length(self, array: jobject) -> jint {
        // SAFETY: see the module.
        unsafe { (self.table().GetArrayLength)(self.0, array) }
    }

    /// An element of an array of objects.
    pub(crate) fn element(self, array: jobject, index: jint) -> Option<jobject> {
        // SAFETY: see the module; the JVM checks the index.
        let element = unsafe { (self.table().GetObjectArrayElement)(self.0, array, index) };
        self.checked(element)
    }

    /// What a `java.lang.reflect.Method` stands for.
    pub(crate) fn method_of(self, method: jobject) -> jmethodID {
        // SAFETY: see the module.
        unsafe { (self.table().FromReflectedMethod)(self.0, method) }
    }

    pub(crate) fn get_object_of(self, object: jobject, field: jfieldID) -> jobject {
        // SAFETY: the field is a reference of the object's class.
        unsafe { (self.table().GetObjectField)(self.0, object, field) }
    }

    pub(crate) fn method(self, class: jclass, name: &CStr, kind: &CStr) -> Option<jmethodID> {
        // SAFETY: see the module.
        let id = unsafe { (self.table().GetMethodID)(self.0, class, name.as_ptr(), kind.as_ptr()) };
        self.checked(id)
    }

    pub(crate) fn static_method(
        self,
        class: jclass,
        name: &CStr,
        kind: &CStr,
    ) -> Option<jmethodID> {
        // SAFETY: see the module.
        let id = unsafe {
            (self.table().GetStaticMethodID)(self.0, class, name.as_ptr(), kind.as_ptr())
        };
        self.checked(id)
    }

    /// A pointer that is null after an exception, which is cleared.
    fn checked(self, pointer: jobject) -> Option<jobject> {
        let failed = self.clear_exception();
        (!failed && !pointer.is_null()).then_some(pointer)
    }

    /// Whether an exception was pending; it no longer is.
    pub(crate) fn clear_exception(self) -> bool {
        let pending = self.has_exception();
        if pending {
            // SAFETY: see the module.
            unsafe { (self.table().ExceptionClear)(self.0) };
        }
        pending
    }

    pub(crate) fn has_exception(self) -> bool {
        // SAFETY: see the module.
        unsafe { (self.table().ExceptionCheck)(self.0) != JNI_FALSE }
    }

    pub(crate) fn get_long(self, class: jclass, field: jfieldID) -> jlong {
        // SAFETY: the field is a static long of that class.
        unsafe { (self.table().GetStaticLongField)(self.0, class, field) }
    }

    pub(crate) fn set_long(self, class: jclass, field: jfieldID, value: jlong) {
        // SAFETY: the field is a static long of that class.
        unsafe { (self.table().SetStaticLongField)(self.0, class, field, value) }
    }

    pub(crate) fn get_boolean(self, class: jclass, field: jfieldID) -> bool {
        // SAFETY: the field is static in that class and a boolean.
        unsafe { (self.table().GetStaticBooleanField)(self.0, class, field) != JNI_FALSE }
    }

    pub(crate) fn get_int(self, class: jclass, field: jfieldID) -> jint {
        // SAFETY: the field is a static int of that class.
        unsafe { (self.table().GetStaticIntField)(self.0, class, field) }
    }

    pub(crate) fn set_int(self, class: jclass, field: jfieldID, value: jint) {
        // SAFETY: the field is a static int of that class.
        unsafe { (self.table().SetStaticIntField)(self.0, class, field, value) }
    }

    pub(crate) fn get_object(self, class: jclass, field: jfieldID) -> jobject {
        // SAFETY: the field is a static reference of that class.
        unsafe { (self.table().GetStaticObjectField)(self.0, class, field) }
    }

    pub(crate) fn set_object(self, class: jclass, field: jfieldID, value: jobject) {
        // SAFETY: the field is a static reference of that class, and `value` null or of its type.
        unsafe { (self.table().SetStaticObjectField)(self.0, class, field, value) }
    }

    pub(crate) fn set_boolean(self, class: jclass, field: jfieldID, value: bool) {
        // SAFETY: the field is static in that class and a boolean.
        unsafe { (self.table().SetStaticBooleanField)(self.0, class, field, java_bool(value)) }
    }

    /// Calls a static method with two objects; an exception stays pending.
    pub(crate) fn call_static_object(
        self,
        class: jclass,
        method: jmethodID,
        arguments: [jobject; 2],
    ) -> jobject {
        let arguments = arguments.map(|l| jvalue { l });
        // SAFETY: the method is static in that class, takes two objects and returns one.
        unsafe { (self.table().CallStaticObjectMethodA)(self.0, class, method, arguments.as_ptr()) }
    }

    /// Calls a static method with one object; an exception stays pending.
    pub(crate) fn call_static_void_with(self, class: jclass, method: jmethodID, argument: jobject) {
        let arguments = [jvalue { l: argument }];
        // SAFETY: the method is static in that class, takes an object and returns nothing.
        unsafe { (self.table().CallStaticVoidMethodA)(self.0, class, method, arguments.as_ptr()) }
    }

    /// A static method of a class, which is initialised by this; an exception stays pending.
    pub(crate) fn static_method_or_exception(
        self,
        class: jclass,
        name: &CStr,
        kind: &CStr,
    ) -> Option<jmethodID> {
        // SAFETY: see the module.
        let id = unsafe {
            (self.table().GetStaticMethodID)(self.0, class, name.as_ptr(), kind.as_ptr())
        };
        (!id.is_null()).then_some(id)
    }

    /// The one `String` of that content that stands for it in the code of classes.
    pub(crate) fn interned(self, text: &str) -> Option<jobject> {
        let text = self.new_text(text)?;
        let class = self.class_of(text);
        let intern = self.method(class, c"intern", c"()Ljava/lang/String;")?;
        let none: [jvalue; 0] = [];
        // SAFETY: the method is of the object's class, takes no arguments and returns an object.
        let one = unsafe { (self.table().CallObjectMethodA)(self.0, text, intern, none.as_ptr()) };
        self.drop_local_ref(text);
        self.drop_local_ref(class);
        self.checked(one)
    }

    /// A new `java.lang.Object`.
    pub(crate) fn new_object(self) -> Option<jobject> {
        let class = self.find_class(c"java/lang/Object")?;
        // SAFETY: see the module; the class has a constructor that does nothing.
        let object = unsafe { (self.table().AllocObject)(self.0, class) };
        self.drop_local_ref(class);
        self.checked(object)
    }

    pub(crate) fn set_member(self, object: jobject, field: jfieldID, value: jobject) {
        // SAFETY: the field is a reference of that object, and `value` null or of its type.
        unsafe { (self.table().SetObjectField)(self.0, object, field, value) }
    }

    /// Calls a method without arguments that returns nothing.
    pub(crate) fn call_static_void(self, class: jclass, method: jmethodID) {
        let none: [jvalue; 0] = [];
        // SAFETY: the method is static in that class and takes no arguments.
        unsafe { (self.table().CallStaticVoidMethodA)(self.0, class, method, none.as_ptr()) }
    }

    pub(crate) fn call_void(self, object: jobject, method: jmethodID) {
        let none: [jvalue; 0] = [];
        // SAFETY: the method is of the object's class and takes no arguments.
        unsafe { (self.table().CallVoidMethodA)(self.0, object, method, none.as_ptr()) };
        self.clear_exception();
    }

    pub(crate) fn call_static_boolean(self, class: jclass, method: jmethodID) -> bool {
        let none: [jvalue; 0] = [];
        // SAFETY: the method is static in that class, takes no arguments and returns a boolean.
        let answer = unsafe {
            (self.table().CallStaticBooleanMethodA)(self.0, class, method, none.as_ptr())
        };
        !self.clear_exception() && answer != JNI_FALSE
    }

    pub(crate) fn call_boolean(self, object: jobject, method: jmethodID) -> bool {
        let none: [jvalue; 0] = [];
        // SAFETY: the method is of the object's class, takes no arguments and returns a boolean.
        let answer =
            unsafe { (self.table().CallBooleanMethodA)(self.0, object, method, none.as_ptr()) };
        !self.clear_exception() && answer != JNI_FALSE
    }

    /// The `java.lang.Thread` of the current thread.
    pub(crate) fn current_thread(self) -> Option<jobject> {
        let class = self.find_class(c"java/lang/Thread")?;
        let method = self.static_method(class, c"currentThread", c"()Ljava/lang/Thread;")?;
        let none: [jvalue; 0] = [];
        // SAFETY: the method is static, takes no arguments and returns an object.
        let thread =
            unsafe { (self.table().CallStaticObjectMethodA)(self.0, class, method, none.as_ptr()) };
        self.checked(thread)
    }

    pub(crate) fn global_ref(self, object: jobject) -> jobject {
        // SAFETY: see the module.
        unsafe { (self.table().NewGlobalRef)(self.0, object) }
    }

    pub(crate) fn drop_global_ref(self, object: jobject) {
        // SAFETY: `object` came from `global_ref` and is not used again.
        unsafe { (self.table().DeleteGlobalRef)(self.0, object) }
    }

    pub(crate) fn weak_ref(self, object: jobject) -> WeakRef {
        // SAFETY: see the module.
        WeakRef(unsafe { (self.table().NewWeakGlobalRef)(self.0, object) })
    }

    pub(crate) fn drop_weak_ref(self, object: &WeakRef) {
        // SAFETY: `object` came from `weak_ref`; the caller does not use it again.
        unsafe { (self.table().DeleteWeakGlobalRef)(self.0, object.0) }
    }

    /// Whether the object was collected.
    pub(crate) fn is_gone(self, object: &WeakRef) -> bool {
        self.is_same(object.0, std::ptr::null_mut())
    }

    pub(crate) fn drop_local_ref(self, object: jobject) {
        // SAFETY: `object` is a local reference of this call and is not used again.
        unsafe { (self.table().DeleteLocalRef)(self.0, object) }
    }

    pub(crate) fn is_same(self, a: jobject, b: jobject) -> bool {
        // SAFETY: see the module.
        unsafe { (self.table().IsSameObject)(self.0, a, b) != JNI_FALSE }
    }

    /// Throws a new exception in the current thread, as soon as it returns to Java.
    pub(crate) fn throw_new(self, class: jclass, message: Option<&CStr>) {
        let message = message.map_or(std::ptr::null(), CStr::as_ptr);
        // SAFETY: `class` is a class of throwables.
        unsafe { (self.table().ThrowNew)(self.0, class, message) };
    }

    /// Leaves a monitor once; false if the current thread does not own it.
    pub(crate) fn monitor_exit(self, object: jobject) -> bool {
        // SAFETY: see the module.
        let left = unsafe { (self.table().MonitorExit)(self.0, object) } == 0;
        !self.clear_exception() && left
    }

    pub(crate) fn monitor_enter(self, object: jobject) {
        // SAFETY: see the module.
        unsafe { (self.table().MonitorEnter)(self.0, object) };
    }

    pub(crate) fn register_natives(self, class: jclass, methods: &[JNINativeMethod]) -> bool {
        // SAFETY: names and functions are static, and each function has its method's signature.
        let code = unsafe {
            (self.table().RegisterNatives)(self.0, class, methods.as_ptr(), methods.len() as jint)
        };
        !self.clear_exception() && code == 0
    }
}

/// What a native method returns for a Java `boolean`.
pub(crate) fn java_bool(value: bool) -> jboolean {
    jboolean::from(value)
}
