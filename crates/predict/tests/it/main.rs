//! Candidates and engines against searches through all reorderings.

mod candidates;
mod closure;
mod common;
mod engines;
mod examples;
mod lock_valid;
mod outlines;
mod projection;
mod tools;
mod windows;
