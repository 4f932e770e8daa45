//! How large the requests were.

use crate::units::Bytes;

/// Requests by the binary logarithm of their size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Requests and their bytes; class 0 is size 0, class `i` is `2^(i-1) ..= 2^i - 1`.
    classes: [(u64, u64); 65],
}

/// One class of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// The smallest size in it.
    pub from: Bytes,
    /// The largest size in it.
    pub to: Bytes,
    /// How many requests there were.
    pub requests: u64,
    /// Their requested bytes together.
    pub bytes: Bytes,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { classes: [(0, 0); 65] }
    }
}

impl Sizes {
    #[inline(always)]
    pub(crate) fn add(&mut self, size: u64) {
        let class = &mut self.classes[(64 - size.leading_zeros()) as usize];
        class.0 += 1;
        class.1 = class.1.wrapping_add(size);
    }

    /// Adds a request that stands for several.
    pub(crate) fn add_many(&mut self, size: u64, requests: u64) {
        let class = &mut self.classes[(64 - size.leading_zeros()) as usize];
        class.0 = class.0.wrapping_add(requests);
        class.1 = class.1.wrapping_add(size.wrapping_mul(requests));
    }

    /// The classes in which there were requests, ascending.
    pub fn classes(&self) -> impl Iterator<Item = SizeClass> {
        self.classes.iter().enumerate().filter(|(_, c)| c.0 > 0).map(|(i, &(requests, bytes))| {
            let from = if i == 0 { 0 } else { 1u64 << (i - 1) };
            let to = if i == 0 { 0 } else { u64::MAX >> (64 - i) };
            SizeClass { from: Bytes(from), to: Bytes(to), requests, bytes: Bytes(bytes) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two() {
        let mut sizes = Sizes::default();
        [0, 1, 2, 3, 4, u64::MAX].into_iter().for_each(|s| sizes.add(s));
        let classes: Vec<_> = sizes.classes().map(|c| (c.from.0, c.to.0, c.requests)).collect();
        assert_eq!(classes, [(0, 0, 1), (1, 1, 1), (2, 3, 2), (4, 7, 1), (1 << 63, u64::MAX, 1)]);
    }
}
