//! The runtime without any front end of a real language: programs of plain threads run under its control.

mod ending;
mod outside;
mod program;
mod scheduling;
mod sources;
mod tokens;

use untorn_runtime::Allocator;

/// As a front end has it, so that all that is tested here is tested with this allocator, too.
#[global_allocator]
static MEMORY: Allocator = Allocator::new();
