//! Why a composition is worth reading, or not, in points.
//!
//! The paper does not rank: it runs the program on all compositions. The points were fitted on
//! Tomcat, Derby, Lucene and HSQLDB by reading compositions, and estimate how likely it is that a
//! programmer meant the calls to be one step and that nothing makes them one.

/// One reason, for or against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    ReadThenWrite,
    BranchOnResult,
    SameArgument,
    FieldReceiver,
    DataDependence,
    WrittenTogether,
    LockLetGo,
    LockHeld,
    SecondDecides,
    DoubleChecked,
    ReadThenRead,
    WriteFirst,
    Constructor,
    Legacy,
    LocalReceiver,
    Indirect,
    OnlyHeap,
    OnlyTogether,
    OtherFields,
    OwnHelper,
    NoThreads,
    Repeated,
}

impl Reason {
    pub const fn points(self) -> i32 {
        match self {
            Self::ReadThenWrite
            | Self::BranchOnResult
            | Self::SameArgument
            | Self::WrittenTogether => 3,
            Self::FieldReceiver | Self::LockLetGo => 2,
            Self::DataDependence => 1,
            Self::WriteFirst
            | Self::OwnHelper
            | Self::Legacy
            | Self::LocalReceiver
            | Self::Indirect
            | Self::OnlyTogether => -2,
            Self::ReadThenRead | Self::OnlyHeap | Self::Repeated => -3,
            Self::SecondDecides | Self::NoThreads => -4,
            Self::Constructor | Self::OtherFields => -5,
            Self::DoubleChecked => -8,
            Self::LockHeld => -10,
        }
    }

    /// The reason in a few words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ReadThenWrite => "reads, then changes",
            Self::BranchOnResult => "branches on the result of the first call",
            Self::SameArgument => "both calls are about the same thing",
            Self::FieldReceiver => "the object is a field, which others can reach",
            Self::DataDependence => "the second call uses the first one's result",
            Self::WrittenTogether => "elsewhere both are written in one step",
            Self::LockLetGo => {
                "the object's lock is acquired for each call and released in between"
            }
            Self::LockHeld => "some lock is held over both calls",
            Self::SecondDecides => "the second call checks by itself",
            Self::DoubleChecked => "checked again under a lock",
            Self::ReadThenRead => "only reads",
            Self::WriteFirst => "changes first",
            Self::Constructor => "within a constructor or initialiser",
            Self::Legacy => "a class that is thread-safe by tradition",
            Self::LocalReceiver => "the object was passed in or returned",
            Self::Indirect => "the object is deeper down",
            Self::OnlyHeap => "connected only by a field that one writes and the other reads",
            Self::OtherFields => "the calls touch different fields of the set",
            Self::OwnHelper => "a private method of the object itself",
            Self::NoThreads => "nothing else in the class is made for threads",
            Self::Repeated => "the method has a better composition on the same object",
            Self::OnlyTogether => "the calls only always run together",
        }
    }
}

/// The points of some reasons.
pub fn score(reasons: &[Reason]) -> i32 {
    reasons.iter().map(|reason| reason.points()).sum()
}
