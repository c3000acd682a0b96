//! Texts that the program gives to the runtime, by number: records have no room for them.

use untorn_runtime::sync::Lock;

static TEXTS: Lock<Vec<String>> = Lock::new(Vec::new());

/// The same for equal texts.
pub(crate) fn number_of(text: &str) -> u64 {
    let mut texts = TEXTS.lock();
    let known = texts.iter().position(|known| known == text);
    known.unwrap_or_else(|| {
        texts.push(text.to_owned());
        texts.len() - 1
    }) as u64
}

/// The text with this number.
pub(crate) fn get(number: u64) -> String {
    TEXTS.lock().get(number as usize).cloned().unwrap_or_default()
}
