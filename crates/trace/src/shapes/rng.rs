//! A seeded generator of random numbers that gives the same numbers for ever.
//!
//! SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA
//! 2014): one addition and one mixing function. A library's generator may change between versions,
//! and with it every seed that a bug report names; these thirty lines will not.

/// A stream of random numbers that depends on nothing but its seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    #[inline]
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0. The bias is below 2⁻³², far under what a test can see.
    #[inline]
    pub const fn below(&mut self, n: u32) -> u32 {
        (((self.bits() >> 32) * n as u64) >> 32) as u32
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub const fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// True in `share` of 256 cases.
    #[inline]
    pub const fn chance(&mut self, share: u32) -> bool {
        self.below(256) < share
    }

    /// One of the given things.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub const fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_never_change() {
        let mut rng = Rng::new(0);
        assert_eq!(rng.bits(), 0xe220_a839_7b1d_cdaf, "SplitMix64's published first number");
        assert_eq!(rng.bits(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn below_stays_below_and_reaches_every_number() {
        let mut rng = Rng::new(7);
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[rng.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(rng.below(0), 0);
    }
}
