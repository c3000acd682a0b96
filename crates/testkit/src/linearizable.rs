//! Linearizability by the definition: all permutations of the calls.

/// A call of a history. Positions count begins and ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HistoryCall {
    pub thread: usize,
    pub began: usize,
    /// When it ended, and what it gave; `None` if it never did.
    pub ended: Option<(usize, String)>,
}

/// What a sequential execution does: after the call at a position of the order was made, calls (by index) ended with
/// these results.
pub type Completions = Vec<Vec<(usize, String)>>;

/// Whether some order of the calls gives their results. `run` executes calls in an order, by their indices. A call that
/// waits ends after a later one, or never; one that never ended in the history must never end there.
pub fn is_linearizable(calls: &[HistoryCall], run: &dyn Fn(&[usize]) -> Completions) -> bool {
    let mut order: Vec<usize> = (0..calls.len()).collect();
    permutations(&mut order, 0, &mut |order| explains(calls, order, &run(order)))
}

/// Whether an execution is in keeping with the history: calls that did not overlap are in the same order, and results
/// are the same.
fn explains(calls: &[HistoryCall], order: &[usize], ended: &Completions) -> bool {
    let end_of = |call: usize| ended.iter().position(|all| all.iter().any(|(own, _)| *own == call));
    let keeps_order = order.iter().enumerate().all(|(at, &call)| {
        calls.iter().enumerate().all(|(other, earlier)| {
            let precedes = earlier.ended.as_ref().is_some_and(|(end, _)| *end < calls[call].began);
            let same_thread =
                earlier.thread == calls[call].thread && earlier.began < calls[call].began;
            !(precedes || same_thread) || end_of(other).is_some_and(|end| end < at)
        })
    });
    let result_of = |call: usize| {
        ended.iter().flatten().find(|(own, _)| *own == call).map(|(_, result)| result)
    };
    let same_results = calls
        .iter()
        .enumerate()
        .all(|(index, call)| call.ended.as_ref().map(|(_, result)| result) == result_of(index));
    keeps_order && same_results
}

fn permutations(
    order: &mut Vec<usize>,
    from: usize,
    is_it: &mut dyn FnMut(&[usize]) -> bool,
) -> bool {
    if from == order.len() {
        return is_it(order);
    }
    for at in from..order.len() {
        order.swap(from, at);
        if permutations(order, from + 1, is_it) {
            return true;
        }
        order.swap(from, at);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register that is read: the first call writes 1, the others read.
    fn register(order: &[usize]) -> Completions {
        let mut value = 0;
        let step = |&call: &usize| {
            value = if call == 0 { 1 } else { value };
            vec![(call, value.to_string())]
        };
        order.iter().map(step).collect()
    }

    fn call(thread: usize, began: usize, ended: usize, result: &str) -> HistoryCall {
        HistoryCall { thread, began, ended: Some((ended, result.to_owned())) }
    }

    #[test]
    fn a_read_may_see_an_overlapping_write_or_not_and_must_see_an_earlier_one() {
        let of = |result: &str, began| vec![call(0, 0, 2, "1"), call(1, began, began + 3, result)];
        assert!(is_linearizable(&of("0", 1), &register));
        assert!(is_linearizable(&of("1", 1), &register));
        assert!(is_linearizable(&of("1", 3), &register));
        assert!(!is_linearizable(&of("0", 3), &register));
    }
}
