//! The JDK as a boundary: of its classes only the hierarchy is read, and only what is asked for.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use untorn_bytecode::ClassFile;
use untorn_bytecode::jimage::Image;

use crate::error::LoadError;

/// The classes of a JDK.
#[derive(Debug, Default)]
pub struct Jdk {
    image: Option<Image>,
    /// Where in the image the class files stand, by name.
    classes: FxHashMap<Box<str>, (usize, usize)>,
}

/// What is read of a class of the JDK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestry {
    pub access: u16,
    pub parent: Option<String>,
    pub interfaces: Vec<String>,
}

impl Jdk {
    /// No JDK at all: every class of it is merely mentioned.
    pub fn none() -> Self {
        Self::default()
    }

    /// The JDK of a folder, such as `/usr/lib/jvm/java-17`.
    pub fn open(home: &Path) -> Result<Self, LoadError> {
        let path = home.join("lib/modules");
        let fail = |error: &dyn std::fmt::Display| LoadError::Jdk {
            reason: format!("{error}, {}", path.display()),
        };
        let image = Image::open(&path).map_err(|error| fail(&error))?;
        let mut found = Self::default();
        let base = image.bytes().as_ptr().addr();
        for resource in image.classes() {
            let resource = resource.map_err(|error| fail(&error))?;
            let slash = if resource.parent.is_empty() { "" } else { "/" };
            let name = format!("{}{slash}{}", resource.parent, resource.base);
            let start = resource.bytes.as_ptr().addr() - base;
            found.classes.insert(name.into(), (start, resource.bytes.len()));
        }
        found.image = Some(image);
        Ok(found)
    }

    /// The folder of the JDK that `JAVA_HOME` names, or else the one of `java` on the path.
    pub fn home() -> Option<PathBuf> {
        let named = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
        if let Some(home) =
            named.map(PathBuf::from).filter(|home| home.join("lib/modules").is_file())
        {
            return Some(home);
        }
        let path = std::env::var_os("PATH")?;
        let java = std::env::split_paths(&path)
            .map(|folder| folder.join("java"))
            .find_map(|java| java.canonicalize().ok())?;
        // From <home>/bin/java.
        java.ancestors().nth(2).map(Path::to_owned)
    }

    pub fn len(&self) -> usize {
        self.classes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// The bytes of a class.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        let &(start, len) = self.classes.get(name)?;
        self.image.as_ref()?.bytes().get(start..start + len)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.classes.keys().map(|name| &**name)
    }

    pub fn class(&self, name: &str) -> Option<Ancestry> {
        let class = ClassFile::parse(self.bytes(name)?).ok()?;
        let interfaces = class.interfaces().flatten().map(|name| name.into_owned()).collect();
        let parent = class.super_name().map(str::to_owned);
        Some(Ancestry { access: class.access(), parent, interfaces })
    }
}
