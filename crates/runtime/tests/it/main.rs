//! The runtime without a front end of a real language: programs of plain threads run under its control.

mod ending;
mod outside;
mod program;
mod scheduling;
mod sources;
mod tokens;

use untorn_runtime::Allocator;

/// As in a front end, so that everything is tested with this allocator, too.
#[global_allocator]
static MEMORY: Allocator = Allocator::new();
