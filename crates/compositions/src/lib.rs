//! Finds library calls that look like one atomic step and are not.
//!
//! Paper: Liu, Dolby and Zhang, *Finding incorrect compositions of atomicity*, ESEC/FSE 2013
//! (ICFinder). Each of `map.containsKey(k)` and `map.remove(k)` is atomic; one after the other they
//! are not. The static half of the paper is here: which fields belong together ([`sets`]), which
//! calls touch them ([`clients`]), which of these look like one step ([`symptoms`]), which of
//! those are one because of a lock ([`evidence`]), and which are worth reading first ([`rank`]).
//! The header of each file states what we changed.
//!
//! Promise: a list of suspicions, the best first. It may miss some and it may be wrong; nothing here shows
//! that a program is broken.
//!
//! ```no_run
//! use std::path::Path;
//! use untorn_compositions::{Archives, Jdk, Options, Origin, analyze};
//!
//! # fn main() -> Result<(), untorn_compositions::LoadError> {
//! let mut archives = Archives::default();
//! archives.add(Path::new("app.jar"), Origin::Application)?;
//! let jdk = Jdk::home().map_or(Ok(Jdk::none()), |home| Jdk::open(&home))?;
//! let report = analyze(&archives.classes, &jdk, &Options::default());
//! assert!(report.findings.is_sorted_by_key(|finding| -finding.score));
//! # Ok(())
//! # }
//! ```

mod analysis;
mod boundary;
mod clients;
mod effects;
mod escape;
mod evidence;
mod finding;
mod locks;
mod muvi;
mod phrasing;
mod prune;
mod rank;
mod sets;
mod symptoms;

pub use analysis::{Options, Report, analyze};
pub use finding::{CallSite, Finding, SetCallSite, Statistics, Step, Symptom};
pub use rank::Reason;
pub use untorn_codemodel::dependence::Kind;
pub use untorn_codemodel::{Archives, BodyError, ClassBytes, Jdk, LoadError, Origin, Skipped};
