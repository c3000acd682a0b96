//! How names are usually formed: `Account#1.balance`, `Grid#2.rows[14]`.
//!
//! Front ends describe a variable by [`VarFacts`](super::VarFacts) and what a label is about by
//! [`LabelFacts`](super::LabelFacts). Imported traces and reports have nothing but names; this is the one place
//! that takes names apart, and only where there are no facts. A test checks that no other code does.

/// The name without the number of the object and without the index of an array: `Account.balance`.
pub fn member(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '#' => while chars.next_if(char::is_ascii_digit).is_some() {},
            '[' => {
                while chars.next_if(|&c| c != ']').is_some() {}
                out.push('[');
            }
            c => out.push(c),
        }
    }
    out
}

/// The part before the last dot: `Account#1` of `Account#1.balance`.
pub fn owner(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(owner, _)| owner)
}

/// The part after the last dot: `balance` of `Account#1.balance`; all of a name without one.
pub fn short(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((_, field)) if !field.is_empty() => field,
        _ => name,
    }
}

/// The class of an object, without its package: `Account` of `com.acme.Account#1`.
pub fn simple_class(name: &str) -> &str {
    let class = name.split('#').next().unwrap_or("");
    class.rsplit(['.', '$']).next().unwrap_or(class)
}

/// The label of a block without its explanation: `A.write` of `A.write (synchronized)`.
pub fn bare_label(name: &str) -> &str {
    name.split(" (").next().unwrap_or(name)
}

/// Class and method of a label: `com.acme.Account` and `withdraw`, `bank::Account` and `withdraw`; a label of one
/// part is all method.
pub fn class_and_method(name: &str) -> (&str, &str) {
    let bare = bare_label(name);
    match bare.rsplit_once("::").or_else(|| bare.rsplit_once('.')) {
        Some((class, method)) if !class.is_empty() && !method.is_empty() => (class, method),
        _ => ("", bare),
    }
}

/// The package of a class: `com.acme` of `com.acme.Account`.
pub fn package(class: &str) -> Option<&str> {
    class.rsplit_once('.').map(|(package, _)| package)
}

/// Whether the name is that of an element of an array.
pub fn is_element(name: &str) -> bool {
    name.ends_with(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_called_the_same_in_every_object() {
        assert_eq!(member("Account#17.balance"), "Account.balance");
        assert_eq!(member("Grid#2.rows[14]"), "Grid.rows[]");
        assert_eq!(member("Counter.count"), "Counter.count");
    }

    #[test]
    fn a_label_is_a_class_and_a_method_and_perhaps_an_explanation() {
        assert_eq!(class_and_method("com.A.write (synchronized)"), ("com.A", "write"));
        assert_eq!(class_and_method("bank::Account::pay"), ("bank::Account", "pay"));
        assert_eq!(class_and_method("main"), ("", "main"));
    }

    #[test]
    fn the_owner_stands_before_the_last_dot() {
        assert_eq!(owner("Account#17.balance"), Some("Account#17"));
        assert_eq!(owner("balance"), None);
        assert_eq!((short("Account#17.balance"), short("balance")), ("balance", "balance"));
        assert_eq!(simple_class("com.acme.Account$Row#3"), "Row");
        assert_eq!(package("com.acme.Account"), Some("com.acme"));
        assert!(is_element("int[]#3[7]") && !is_element("Account#1.balance"));
    }
}
