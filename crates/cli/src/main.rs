//! `untorn`: arguments become a config, the config a call, the outcome an exit code.

fn main() {}
