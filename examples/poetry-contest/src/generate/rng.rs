//! The random numbers of the generator.
//!
//! The same seed must give the same files on every machine and for years, because the numbers in the
//! documentation belong to the data of one seed. Crates for random numbers do not promise that across their
//! releases, and SplitMix64 is a few lines, so it is written out here.

/// A SplitMix64 generator of pseudo-random numbers.
#[derive(Debug, Clone)]
pub(super) struct Rng {
    state: u64,
}

/// The step between two states: 2^64 divided by the golden ratio, as SplitMix64 prescribes.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

impl Rng {
    /// Starts the stream number `stream` of `seed`.
    ///
    /// Every file draws from a separate stream, so a round is the same however many rounds there are.
    pub(super) fn new(seed: u64, stream: u64) -> Rng {
        // The seed goes through the generator once, so that neighbouring seeds do not share streams.
        let mixed = Rng { state: seed }.next();
        Rng { state: mixed ^ Rng { state: stream }.next() }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Draws a number from 0 up to but not including `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        // The high half of the product is an even spread, without the bias towards small values of a
        // remainder.
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    /// Draws a number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Is true in `per_mille` of a thousand calls.
    pub(super) fn chance(&mut self, per_mille: usize) -> bool {
        self.below(1000) < per_mille
    }

    /// Draws one of the strings `items`, which must not be empty.
    pub(super) fn pick<'a>(&mut self, items: &'a [impl AsRef<str>]) -> &'a str {
        items[self.below(items.len())].as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    /// The first outputs for seed 1234567 as published with the reference implementation.
    #[test]
    fn agrees_with_the_reference() {
        let mut rng = Rng { state: 1_234_567 };
        assert_eq!(rng.next(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next(), 3_203_168_211_198_807_973);
        assert_eq!(rng.next(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn stays_within_limits() {
        let mut rng = Rng::new(1, 2);
        let mut seen = [false; 4];
        for _ in 0..200 {
            seen[rng.between(3, 6) - 3] = true;
        }
        assert_eq!(seen, [true; 4]);
        assert!(!rng.chance(0) && rng.chance(1000));
    }
}
