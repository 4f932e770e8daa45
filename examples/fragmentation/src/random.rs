//! Numbers that look random and are the same in every run, so that all allocators are asked for the same blocks.

/// A linear congruential generator; its upper bits are good enough to choose sizes with.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of one thread.
    pub(crate) fn of_thread(seed: u64, thread: usize) -> Self {
        let mut random = Self(seed.wrapping_add(thread as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        // Neighbouring seeds begin alike.
        random.below(2);
        random.below(2);
        random
    }

    /// A number below `limit`, which must not be 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) as usize) % limit
    }

    /// One of several.
    pub(crate) fn one_of<T: Copy>(&mut self, choice: &[T]) -> T {
        choice[self.below(choice.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_it_all_and_threads_differ() {
        let numbers = |seed, thread| {
            let mut random = Random::of_thread(seed, thread);
            (0..8).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(1, 0), numbers(1, 0));
        assert_ne!(numbers(1, 0), numbers(1, 1));
        assert_ne!(numbers(1, 0), numbers(2, 0));
    }

    #[test]
    fn all_choices_are_made() {
        let mut random = Random::of_thread(7, 3);
        let mut seen = [0; 7];
        for _ in 0..7000 {
            seen[random.below(7)] += 1;
        }
        assert!(seen.iter().all(|&times| (800..1200).contains(&times)), "{seen:?}");
    }
}
