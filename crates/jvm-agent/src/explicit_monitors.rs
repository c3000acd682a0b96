//! Methods whose monitor the agent has made explicit.
//!
//! The JVM does not see them as `synchronized` any more. The program and other agents must not notice: whoever asks for
//! the methods of a class gets their original modifiers (default serial version numbers depend on them), and a class
//! that is redefined keeps the modifiers that the JVM knows, because it refuses others.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use jvmti_bindings::sys::jni::jobject;
use rustc_hash::FxHashMap;
use untorn_bytecode::{ClassEditor, ClassFile, Method, access};

use crate::jni::{Jni, WeakRef};

/// Name and descriptor.
type MethodKey = (String, String);

/// The methods of one class.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExplicitMonitors(BTreeSet<MethodKey>);

impl ExplicitMonitors {
    pub fn insert(&mut self, method: &Method<'_>) {
        self.0.insert((method.name().to_owned(), method.descriptor().to_owned()));
    }

    pub fn remove(&mut self, method: &Method<'_>) {
        self.0.remove(&(method.name().to_owned(), method.descriptor().to_owned()));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, name: &str, descriptor: &str) -> bool {
        self.0.contains(&(name.to_owned(), descriptor.to_owned()))
    }

    /// A class that has its probes already, with the modifiers that the JVM knows. `None` if it has them.
    ///
    /// An agent that makes methods from what reflection says of them makes these `synchronized` again, although their
    /// code enters the monitor.
    pub fn drop_flags(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        let class = ClassFile::parse(bytes).ok()?;
        let mut editor = ClassEditor::new(&class);
        let mut is_edited = false;
        for (index, method) in class.methods().iter().enumerate() {
            let is_flagged = method.access() & access::SYNCHRONIZED != 0;
            if is_flagged && self.contains(method.name(), method.descriptor()) {
                editor.set_method_access(index, method.access() & !access::SYNCHRONIZED);
                is_edited = true;
            }
        }
        if !is_edited {
            return None;
        }
        Some(editor.finish().ok()?.bytes)
    }
}

/// A class as it was loaded by one loader; the boot loader is none.
#[derive(Debug)]
struct Loaded {
    loader: Option<WeakRef>,
    methods: Arc<ExplicitMonitors>,
}

/// The methods of all classes, by the name of the class (`java/util/Vector`).
#[derive(Debug, Default)]
pub(crate) struct LoadedMonitors(Mutex<FxHashMap<String, Vec<Loaded>>>);

impl LoadedMonitors {
    /// A class is being loaded. Its loader is null if it is the boot loader.
    pub(crate) fn add(&self, jni: Jni, class: &str, loader: jobject, methods: ExplicitMonitors) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let twins = all.entry(class.to_owned()).or_default();
        twins.retain(|twin| match &twin.loader {
            Some(loader) if jni.is_gone(loader) => {
                jni.drop_weak_ref(loader);
                false
            }
            _ => true,
        });
        let loader = (!loader.is_null()).then(|| jni.weak_ref(loader));
        twins.push(Loaded { loader, methods: Arc::new(methods) });
    }

    /// The methods of a loaded class; none if it has no such method.
    pub(crate) fn of(&self, jni: Jni, class: &str, loader: jobject) -> Arc<ExplicitMonitors> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |twin: &&Loaded| match &twin.loader {
            None => loader.is_null(),
            Some(known) => !loader.is_null() && jni.is_same(known.0, loader),
        };
        // A loader that failed to define a class may try again.
        let found = all.get(class).and_then(|twins| twins.iter().rev().find(is_it));
        found.map(|twin| Arc::clone(&twin.methods)).unwrap_or_default()
    }
}
