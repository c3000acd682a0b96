//! A folder per command: `args` is what clap reads, `config` what the command is to do, `mod` does it.

pub mod analyze;
pub mod build;
pub mod check;
pub mod compare;
pub mod completions;
pub mod compose;
pub mod confirm;
pub mod doctor;
pub mod explain;
pub mod init;
pub mod man;
pub mod mcp;
pub mod merge;
pub mod predict;
pub mod record;
pub mod replay;
pub mod report;
pub mod trace;
pub mod verify;
