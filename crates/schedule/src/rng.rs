//! The random numbers of policies. Bug reports contain seeds, so a seed must give the same schedule in every later
//! version.

use untorn_trace::shapes::Rng as Bits;

/// A stream of random numbers that depends on nothing but its seed.
#[derive(Clone, Debug)]
pub struct Rng(Bits);

impl Rng {
    pub const fn new(seed: u64) -> Self {
        Self(Bits::new(seed))
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `n`; 0 if `n` is 0. The bias is below `n`/2⁶⁴.
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.bits() as u128 * n as u128) >> 64) as u64
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
