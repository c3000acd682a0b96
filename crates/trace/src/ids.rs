//! Dense, typed indices. A name lives in exactly one table; everything else carries its index.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id for position `index` of its table.
            ///
            /// # Panics
            /// If a table outgrows 32 bits; readers refuse such files before this can happen.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("tables hold fewer than 2^32 entries"))
            }

            /// The position in its table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl From<$name> for u32 {
            fn from(id: $name) -> u32 {
                id.0
            }
        }

        impl From<u32> for $name {
            fn from(raw: u32) -> Self {
                Self(raw)
            }
        }
    )*};
}

ids! {
    /// A thread of the traced program.
    ThreadId;
    /// A memory location: a field of one object, a static, an array element, a C object, or
    /// whatever an imported trace calls a variable.
    VarId;
    /// A lock: a monitor, a mutex, one read/write lock.
    LockId;
    /// What a block, a called method or an input is called.
    LabelId;
    /// A place in the source of the program.
    SiteId;
    /// A string of the site table.
    SymbolId;
    /// A declared variable, the same for every object: a field of a class, the elements of an array.
    MemberId;
    /// An object or a class of the traced program, or a piece of memory that it allocated.
    ObjectId;
}

impl ObjectId {
    const CLASS: u32 = 1 << 31;

    /// The n-th class as the owner of its static variables.
    pub const fn class(n: u32) -> Self {
        Self(n | Self::CLASS)
    }

    /// The number of a class.
    pub const fn class_number(self) -> u32 {
        self.0 & !Self::CLASS
    }

    pub const fn is_class(self) -> bool {
        self.0 & Self::CLASS != 0 && self.0 != Self::NONE.0
    }

    /// What belongs to no object, or to one that is not known.
    pub const NONE: Self = Self(u32::MAX);
}

impl MemberId {
    /// A variable of which only its own name is known.
    pub const NONE: Self = Self(u32::MAX);
}

impl LockId {
    /// A block that no lock guards, or none that is known.
    pub const NONE: Self = Self(u32::MAX);
}

impl LabelId {
    /// A block without a name, as in RAPID traces with only `begin`.
    pub const NONE: Self = Self(u32::MAX);
}

impl SiteId {
    /// An event whose place in the source is not known.
    pub const NONE: Self = Self(u32::MAX);
}

/// The position of an event in its trace, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct EventIdx(pub u64);

impl std::fmt::Debug for EventIdx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl std::fmt::Display for EventIdx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}
