//! Names of variables that do not depend on the run.

/// The name of a variable without what differs from run to run: `Account#3.balance` is `Account.balance`, because objects
/// are numbered in the order of a run, and `rows[3]` is `rows[]`. Fields of two objects of a class are the same to the
/// person who reads the code.
pub fn generic_name(name: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::generic_name;

    #[test]
    fn a_variable_is_called_the_same_in_every_object() {
        assert_eq!(generic_name("Account#17.balance"), "Account.balance");
        assert_eq!(generic_name("Grid#2.rows[14]"), "Grid.rows[]");
        assert_eq!(generic_name("Counter.count"), "Counter.count");
        assert_eq!(generic_name("int[]#3[7]"), "int[][]");
        assert_eq!(generic_name("balance"), "balance");
    }
}
