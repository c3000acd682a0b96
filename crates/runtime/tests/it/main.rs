//! The runtime without any front end of a real language: programs of plain threads run under its control.

mod ending;
mod outside;
mod program;
mod scheduling;
mod tokens;
