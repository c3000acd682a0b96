//! How much work the tests do.
//!
//! `UNTORN_SOAK` asks for the long tests, `UNTORN_QUICK` for a twentieth of the random cases. With neither,
//! tests do what `./dev test` promises.

/// How much work the tests do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    Quick,
    Usual,
    Soak,
}

impl Effort {
    /// What the environment asks for; soaking wins.
    pub fn wanted() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some();
        match (is_set("UNTORN_SOAK"), is_set("UNTORN_QUICK")) {
            (true, _) => Self::Soak,
            (false, true) => Self::Quick,
            (false, false) => Self::Usual,
        }
    }

    fn cases(self, usual: u64, soak: u64) -> u64 {
        match self {
            Self::Quick => (usual / 20).max(1),
            Self::Usual => usual,
            Self::Soak => soak,
        }
    }
}

/// Whether to run the long tests.
pub fn is_soak() -> bool {
    Effort::wanted() == Effort::Soak
}

/// How many random cases a test tries: `usual`, or `soak` in the long tests.
pub fn cases(usual: u64, soak: u64) -> u64 {
    Effort::wanted().cases(usual, soak)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_tests_try_something() {
        let cases = |effort: Effort| effort.cases(10, 1000);
        assert_eq!([Effort::Quick, Effort::Usual, Effort::Soak].map(cases), [1, 10, 1000]);
    }
}
