//! Smaller scenarios.

use crate::scenario::Scenario;

/// The scenarios with one call less, or without all calls after or before the threads. At least two threads stay.
pub fn smaller(scenario: &Scenario) -> Vec<Scenario> {
    let last = scenario.sections.len() - 1;
    let mut all = Vec::new();
    for whole in [last, 0] {
        if scenario.sections[whole].len() > 1 {
            let mut less = scenario.clone();
            less.sections[whole].clear();
            all.push(less);
        }
    }
    for (section, calls) in scenario.sections.iter().enumerate() {
        for index in (0..calls.len()).rev() {
            let mut less = scenario.clone();
            less.sections[section].remove(index);
            let is_thread = (1..last).contains(&section);
            if is_thread && less.sections[section].is_empty() {
                less.sections.remove(section);
            }
            if less.threads().len() >= 2 {
                all.push(less);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::scenario::{Call, Constructor, Operation};

    #[test]
    fn one_call_goes_at_a_time_and_two_threads_stay() {
        let operation =
            Arc::new(Operation { name: "get".to_owned(), descriptor: "()I".to_owned() });
        let calls = |count: usize| {
            vec![Call { operation: Arc::clone(&operation), arguments: Vec::new() }; count]
        };
        let scenario = Scenario {
            class: "C".to_owned(),
            constructor: Constructor { descriptor: "()V".to_owned(), arguments: Vec::new() },
            sections: vec![calls(1), calls(2), calls(1), calls(1), calls(2)],
        };
        let all = smaller(&scenario);
        assert!(all.iter().all(|less| less.call_count() < scenario.call_count()));
        assert!(all.iter().all(|less| less.threads().len() >= 2));
        assert!(all.iter().any(|less| less.threads().len() == 2));
        let two = Scenario { sections: vec![calls(0), calls(1), calls(1), calls(0)], ..scenario };
        assert_eq!(smaller(&two), []);
    }
}
