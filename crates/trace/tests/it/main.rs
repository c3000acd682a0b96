//! Every format, read and written, whole and broken; and the validator.

mod common;
mod facts;
mod json_lines;
mod open;
mod outlines;
mod rapid;
mod rapid_bin;
mod utr;
mod validate;
