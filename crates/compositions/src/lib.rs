//! Finds library calls that look meant to be one atomic step and are not.
//!
//! Paper: Liu, Dolby and Zhang, *Finding incorrect compositions of atomicity*, ESEC/FSE 2013
//! (ICFinder). Each of `map.containsKey(k)` and `map.remove(k)` is atomic; one after the other they
//! are not. The static half of the paper is here: which fields belong together ([`sets`]), which
//! calls touch them ([`clients`]), which of these look meant to be one step ([`symptoms`]), which of
//! those are one because of a lock ([`evidence`]), and which are worth reading first ([`rank`]).
//! What we changed stands at the head of each file.
//!
//! Promise: a list of suspicions, the best first. It may miss and it may be wrong; nothing here says
//! that a program is broken.
//!
//! ```no_run
//! use std::path::Path;
//! use untorn_compositions::{Archives, Jdk, Options, Origin, analyze};
//!
//! # fn main() -> Result<(), untorn_compositions::ComposeError> {
//! let mut archives = Archives::default();
//! archives.add(Path::new("app.jar"), Origin::Application)?;
//! let jdk = Jdk::home().map_or(Ok(Jdk::none()), |home| Jdk::open(&home))?;
//! let report = analyze(&archives.classes, &jdk, &Options::default());
//! assert!(report.findings.is_sorted_by_key(|finding| -finding.score));
//! # Ok(())
//! # }
//! ```

pub mod analysis;
pub mod archive;
pub mod body;
pub mod boundary;
pub mod calls;
pub mod clients;
pub mod control;
pub mod dependence;
pub mod descriptor;
pub mod dominators;
pub mod effects;
pub mod error;
pub mod escape;
pub mod evidence;
pub mod finding;
pub mod graph;
pub mod ids;
pub mod jdk;
pub mod locks;
pub mod muvi;
pub mod names;
pub mod places;
pub mod program;
pub mod prune;
pub mod rank;
pub mod sets;
pub mod symptoms;
pub mod types;
pub mod words;

pub use analysis::{Options, Report, analyze};
pub use archive::{Archives, ClassBytes, Origin};
pub use dependence::Kind;
pub use error::{BodyError, ComposeError};
pub use finding::{CallSite, Finding, Statistics, Step, Symptom, UnitSite};
pub use jdk::Jdk;
pub use program::Skipped;
pub use rank::Reason;
