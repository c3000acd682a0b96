//! The renderers and the model, in one binary. The module `browser` needs Chromium, `sarif_schema` what `./dev setup`
//! fetches; everything else needs nothing.

mod browser;
mod pages;
mod renderers;
mod reports;
mod samples;
mod sarif_schema;
mod tampered;

use std::path::PathBuf;

/// Compares a text with a file in `golden/`. `UPDATE_GOLDEN=1 cargo test` writes the files anew.
fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("golden file is writable");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} differs; UPDATE_GOLDEN=1 rewrites it. Now:\n{text}");
}
