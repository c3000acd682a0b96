//! Some of many, evenly spread over the whole, chosen in one pass without knowing how many there will be.

/// Keeps every first, then every second, every fourth, …
#[derive(Clone, Debug)]
pub(super) struct Spread<T> {
    kept: Vec<T>,
    seen: u64,
    /// One of so many is kept: a power of two.
    stride: u64,
}

/// At most so many are kept.
const KEPT: usize = 32;

impl<T> Default for Spread<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), seen: 0, stride: 1 }
    }
}

impl<T> Spread<T> {
    pub(super) fn push(&mut self, item: T) {
        if self.kept.len() == KEPT && self.seen.is_multiple_of(self.stride) {
            let mut number = 0;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
        }
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push(item);
        }
        self.seen += 1;
    }

    /// How many there were.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// In the order in which they came.
    pub(super) fn kept(&self) -> &[T] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_spread_evenly() {
        let mut spread = Spread::default();
        for number in 0..1000_u32 {
            spread.push(number);
            let kept = spread.kept();
            assert!(kept.len() <= KEPT && kept[0] == 0 && spread.seen() == u64::from(number) + 1);
            let gap = kept.get(1).map_or(1, |second| second - kept[0]);
            assert!(kept.windows(2).all(|pair| pair[1] - pair[0] == gap));
            assert!(number - kept[kept.len() - 1] < gap, "the end is not left out");
        }
    }
}
