//! Buffers that grew step by step.
//!
//! A buffer grows in two ways. `realloc` shows it directly, as in Rust's `Vec` and `String` do. A hash map, and everything in
//! C++, is handed a larger block, moves, and frees the old block: the two calls come from the same place, one right
//! after the other, and the second is about half as large or more. Both make a *chain* of blocks that stand for one
//! buffer. A report shows how long the chain was and how large the buffer became.

use super::live::Block;
use super::spread::SizeCounts;

/// The block that a thread was handed last, as long as it has freed nothing since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fresh {
    /// No site has the greatest number.
    site: u32,
    size: u64,
}

impl Default for Fresh {
    fn default() -> Self {
        Self { site: u32::MAX, size: 0 }
    }
}

impl Fresh {
    #[inline(always)]
    pub(super) fn new(site: u32, size: u64) -> Self {
        Self { site, size }
    }

    /// Whether it is the successor of a block that is freed now.
    #[inline(always)]
    pub(super) fn succeeds(self, old: &Block) -> bool {
        old.site == self.site && supersedes(old.size, self.size)
    }
}

/// A successor has at least half as much again and at most three times as much. Growth by doubling lies within, with
/// headers too.
#[inline(always)]
fn supersedes(old: u64, new: u64) -> bool {
    new > old && new - old >= old / 2 && new <= old.saturating_mul(3)
}

/// Chains that ended at one call site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GrowthCounts {
    /// Buffers that had grown when they were freed, or when the process ended.
    pub(crate) buffers: u64,
    /// How often they had grown, together.
    pub(crate) steps: u64,
    /// How large they were in the end.
    pub(crate) sizes: SizeCounts,
    pub(crate) largest: u64,
}

impl GrowthCounts {
    pub(crate) fn add(&mut self, steps: u32, size: u64) {
        self.buffers += 1;
        self.steps += u64::from(steps);
        self.sizes.add(self.buffers, size);
        self.largest = self.largest.max(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_supersedes_and_others_do_not() {
        // Buckets of hashbrown with keys of 16 bytes: 4, 8, 16.
        assert!(supersedes(84, 152) && supersedes(152, 288));
        assert!(supersedes(100, 200) && supersedes(1 << 40, 1 << 41));
        assert!(
            !supersedes(100, 100) && !supersedes(100, 120) && !supersedes(100, 1000) && !supersedes(0, 0)
        );
    }
}
