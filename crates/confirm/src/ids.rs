//! The small numbers of one problem.

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            #[inline]
            pub const fn new(index: usize) -> Self {
                debug_assert!(index <= u32::MAX as usize);
                Self(index as u32)
            }

            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

numbers! {
    /// A transaction of the trace: a block, a piece of one, or an access outside of every block.
    BlockId;
    /// A variable that the trace accesses, by first occurrence.
    Slot;
    /// A transaction that matters for the question, in one [`Core`](crate::core::Core). Node 0 is
    /// the virtual first block that wrote the initial values.
    Node;
    /// A value of one variable of a core: equal values of one variable have equal classes, and
    /// classes of different variables differ.
    Class;
    /// A read that some other block has to serve.
    NeedId;
}

impl Node {
    /// The virtual first block.
    pub const START: Self = Self(0);
}
