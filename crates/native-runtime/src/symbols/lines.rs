//! From instructions to lines.

use addr2line::Context;

use super::Bytes;

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CodePlace {
    /// As the compiler wrote it; empty if it is not known.
    pub(crate) file: String,
    pub(crate) line: u32,
    /// With all that it is declared in: `Bank::withdraw(int)`.
    pub(crate) function: String,
    /// The function in whose machine code the place is: what `function` was inlined into, or the same.
    pub(crate) outermost: String,
    /// Code of a library, which the user does not mend.
    pub(crate) is_library: bool,
}

impl CodePlace {
    pub(super) fn of_function(function: String) -> Self {
        Self { outermost: function.clone(), function, is_library: true, ..Self::default() }
    }
}

/// The place of an instruction. Of code that was inlined from the library of the language, the line that called it:
/// nobody looks for `pthread_mutex_lock` in a header.
pub(super) fn find(lines: &Context<Bytes>, at: u64) -> Option<CodePlace> {
    let mut frames = lines.find_frames(at).skip_all_loads().ok()?;
    let mut found: Vec<CodePlace> = Vec::new();
    while let Ok(Some(frame)) = frames.next() {
        let file = frame.location.as_ref().and_then(|location| location.file);
        let line = frame.location.as_ref().and_then(|location| location.line);
        let function = frame.function.as_ref().and_then(|name| name.demangle().ok());
        let (file, function) = (file.unwrap_or_default(), function.unwrap_or_default());
        found.push(CodePlace {
            file: file.to_owned(),
            line: line.unwrap_or(0),
            function: without_parameters(&function).to_owned(),
            is_library: is_library(file),
            ..CodePlace::default()
        });
    }
    let outermost = found.last()?.function.clone();
    let own = found.iter().position(|place| !place.is_library).unwrap_or(0);
    let place = found.swap_remove(own);
    (!place.file.is_empty() || !place.function.is_empty())
        .then_some(CodePlace { outermost, ..place })
}

/// Headers and sources that come with the compiler or the system.
fn is_library(file: &str) -> bool {
    file.is_empty()
        || file.starts_with("/usr/include/")
        || file.starts_with("/usr/lib/")
        || file.starts_with("/rustc/")
        || file.contains("/rustlib/src/")
        || file.contains("/gcc/x86_64-")
}

/// `Bank::withdraw` of `Bank::withdraw(int)`.
pub(super) fn without_parameters(name: &str) -> &str {
    // An operator of that name is not the beginning of a list.
    let from = name.find("operator()").map_or(0, |at| at + "operator()".len());
    let mut depth = 0;
    for (at, letter) in name[from..].char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth <= 0 && !name[from + at..].starts_with("(anonymous") => {
                return &name[..from + at];
            }
            _ => {}
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_called_by_its_name_alone() {
        let bare = without_parameters;
        assert_eq!(bare("transfer"), "transfer");
        assert_eq!(bare("Bank::pay(int, std::vector<int>&)"), "Bank::pay");
        assert_eq!(bare("Functor::operator()(int) const"), "Functor::operator()");
        assert_eq!(
            bare("std::map<int, void (*)(int)>::find(int)"),
            "std::map<int, void (*)(int)>::find"
        );
        assert_eq!(bare("(anonymous namespace)::go()"), "(anonymous namespace)::go");
        assert_eq!(
            bare("core::ops::function::FnOnce::call_once"),
            "core::ops::function::FnOnce::call_once"
        );
    }

    #[test]
    fn what_comes_with_the_compiler_is_a_library() {
        assert!(is_library("/usr/include/c++/12/bits/std_mutex.h"));
        assert!(is_library("/rustc/abc/library/std/src/sync/mutex.rs"));
        assert!(is_library(""));
        assert!(!is_library("/home/ada/bank.c") && !is_library("src/bank.c"));
    }
}
