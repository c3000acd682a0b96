//! Dense typed numbers for the parts of a program.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The number of the next thing after `len` others.
            pub const fn new(len: usize) -> Self {
                debug_assert!(len <= u32::MAX as usize);
                Self(len as u32)
            }

            /// The number as an index.
            pub const fn at(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A text: the name of a class, field or method, or a descriptor.
    Sym
);
id!(
    /// A class that was loaded or merely mentioned.
    ClassId
);
id!(
    /// A field by its declaring class and name; also the state of a JDK object as a whole.
    FieldId
);
id!(
    /// A method that some loaded class of the application or its libraries declares.
    MethodId
);
id!(
    /// A method as a call names it: class, name and descriptor.
    RefId
);
id!(
    /// A node of a graph: of a control-flow graph, the block of the same number.
    Node
);
id!(
    /// An instruction of a body.
    InstrId
);
id!(
    /// A value that an instruction, a parameter or a merge defines.
    ValueId
);
