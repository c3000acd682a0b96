//! How names are usually formed: `Account#1.balance`, `Grid#2.rows[14]`.
//!
//! Front ends say what a variable is by [`VarFacts`](super::VarFacts). Imported traces have nothing but
//! names; this is the one place that reads facts out of them, and only where there are no others.

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

/// What stands before the last dot: `Account#1` of `Account#1.balance`.
pub fn owner(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(owner, _)| owner)
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
    fn the_owner_stands_before_the_last_dot() {
        assert_eq!(owner("Account#17.balance"), Some("Account#17"));
        assert_eq!(owner("balance"), None);
        assert!(is_element("int[]#3[7]") && !is_element("Account#1.balance"));
    }
}
