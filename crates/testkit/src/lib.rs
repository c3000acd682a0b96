//! Random traces, brute-force oracles and a shrinker: what the algorithms are tested against.
//!
//! Nothing here shares code with a checker: the [`oracle`] is written from the definition of a
//! conflict alone, the [`validity`] predicate from the definition of a well-formed trace, and a
//! [`random`] trace depends on nothing but its seed. [`for_random_traces`] ties them together.

pub mod abstraction;
pub mod class_file;
pub mod effort;
pub mod harness;
pub mod java;
pub mod linearizable;
pub mod oracle;
pub mod programs;
pub mod random;
pub mod reorderings;
pub mod rings;
pub mod rng;
pub mod script;
pub mod serial;
pub mod shapes;
pub mod show;
pub mod shrink;
pub mod simulated;
pub mod torn;
pub mod validity;
pub mod valued;
pub mod workload;

pub use effort::{cases, is_soak};
pub use harness::{for_random_traces, for_rings};
pub use oracle::{CycleFault, check_cycle, first_violation, is_self_serializable, refuted_blocks};
pub use random::{Kinds, Knobs, TraceGen, name_tables};
pub use reorderings::{
    ReorderingFault, ReorderingOracle, ReorderingRule, check_reordering, exists_reordering,
};
pub use rings::RingGen;
pub use rng::Rng;
pub use script::script;
pub use serial::{OrderFault, Truth, check_serial_order, value_atomic};
pub use shapes::{Shape, ShapeError, ShapeSource, ShapeSpec, Tear};
pub use show::show;
pub use shrink::{shrink, shrink_well_formed};
pub use torn::{TornPair, explains, torn_pairs};
pub use validity::{Defect, first_defect, is_well_formed};
pub use valued::{ValuedKnobs, valued};
pub use workload::Workload;
