//! Findings, with names instead of ids.

use crate::rank::Reason;
use untorn_codemodel::dependence::Kind;

/// Why calls look like one atomic step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Symptom {
    /// The second call depends on the first.
    Use,
    /// One call never runs without the other.
    Complementation,
    /// The calls are often made together.
    Frequent,
}

impl Symptom {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Complementation => "comp",
            Self::Frequent => "muvi",
        }
    }
}

/// One call of a composition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// `java.util.concurrent.ConcurrentHashMap.remove`.
    pub api: String,
    /// The class of it: `java.util.concurrent.ConcurrentHashMap`.
    pub class: String,
    /// Of what is called.
    pub descriptor: String,
    /// Where in the code of the method that calls.
    pub pc: u32,
    pub line: Option<u32>,
    pub writes: bool,
    pub reads: bool,
}

/// A step of the dependence from the first call to the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub line: Option<u32>,
    pub kind: Kind,
    /// A branch, a call, a field.
    pub what: String,
}

/// Calls that look like one atomic step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub symptom: Symptom,
    /// The class and method that make the calls: `org.acme.Cart.remove`.
    pub class: String,
    pub method: String,
    pub descriptor: String,
    /// The path of the source file within its source folder, as far as the class contains it.
    pub source: Option<String>,
    /// Two, or more that complement each other.
    pub calls: Vec<CallSite>,
    /// The object that the calls touch: `this.items`.
    pub receiver: String,
    /// The fields of it that belong together.
    pub set: Vec<String>,
    /// From the first call (left out) to the last; empty for complementation.
    pub steps: Vec<Step>,
    pub reasons: Vec<Reason>,
    pub score: i32,
}

/// A call of the application or of its libraries that touches an atomic set of which some method makes two calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetCallSite {
    /// The method that calls, as its class file names it: `org/acme/Cart`, `remove`, `(I)V`.
    pub class: String,
    pub method: String,
    pub descriptor: String,
    pub pc: u32,
}

/// What was analysed and counted, after the paper's Tables 1 and 2. Compositions are pairs of
/// calls: those of one method on one object that call the same two methods count once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    pub classes: u64,
    pub methods: u64,
    pub jdk_classes: u64,
    /// Atomic sets of the application and its libraries, and the fields of the largest.
    pub sets: u64,
    pub largest_set: u64,
    /// Classes whose objects hold the sets of compositions (LM).
    pub library_classes: u64,
    /// Methods that compositions call (API).
    pub apis: u64,
    /// Classes that make compositions (CM).
    pub client_classes: u64,
    /// Compositions of either symptom (AC), and of each.
    pub compositions: u64,
    pub by_use: u64,
    pub by_complementation: u64,
    /// Calls that are often made together, and the differences.
    pub by_muvi: u64,
    pub missed_by_muvi: u64,
    pub only_muvi: u64,
    pub use_missed_by_muvi: u64,
    pub only_muvi_not_use: u64,
    pub comp_missed_by_muvi: u64,
    pub only_muvi_not_comp: u64,
    /// Pairs of which a lock makes one step.
    pub guarded: u64,
    /// Pairs left out by pattern.
    pub brackets: u64,
    pub compares: u64,
    /// Calls that cannot be followed.
    pub reflective: u64,
    pub wide: u64,
}
