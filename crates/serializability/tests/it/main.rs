//! Checkers against the definition, against each other, and on traces made to mislead them.

mod aerodrome;
mod atomizer;
mod differential;
mod traps;
mod two_pass;
