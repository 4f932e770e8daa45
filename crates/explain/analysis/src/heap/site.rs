//! Numbers of one call site, and the gauge of live memory.

use super::growth::GrowthCounts;
use super::handover::{Pair, SiteHandovers};
use super::lifetimes::Lifetimes;
use super::recent::FreedAfter;
use super::sampling::SampleAccount;
use super::spread::SizeCounts;
use super::timing::CallTimes;
use crate::analysis::EXIT_PARTS;

/// Live bytes and blocks, and how many there were when the bytes were at their highest.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauge {
    pub(crate) bytes: u64,
    pub(crate) blocks: u64,
    pub(crate) peak_bytes: u64,
    pub(crate) peak_blocks: u64,
}

impl Gauge {
    /// Adds a block; says whether the bytes are now higher than ever.
    #[inline(always)]
    pub(crate) fn add(&mut self, size: u64) -> bool {
        self.add_many(size, 1)
    }

    /// Adds that many blocks, which have so many bytes together.
    #[inline(always)]
    pub(crate) fn add_many(&mut self, bytes: u64, blocks: u64) -> bool {
        self.bytes = self.bytes.wrapping_add(bytes);
        self.blocks = self.blocks.wrapping_add(blocks);
        let higher = self.bytes > self.peak_bytes;
        if higher {
            self.peak_bytes = self.bytes;
            self.peak_blocks = self.blocks;
        }
        higher
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self, size: u64) {
        self.remove_many(size, 1);
    }

    #[inline(always)]
    pub(crate) fn remove_many(&mut self, bytes: u64, blocks: u64) {
        self.bytes = self.bytes.wrapping_sub(bytes);
        self.blocks = self.blocks.wrapping_sub(blocks);
    }
}

/// Numbers of one call site.
///
/// PERF: what changes at nearly every event comes first and fills one cache line.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct SiteStats {
    live_bytes: u64,
    live_blocks: u64,
    /// The global peak to which `peak_bytes` belongs.
    peak_number: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) deallocations: u64,
    pub(crate) lifetimes: Lifetimes,
    // The second cache line, which every allocation changes and hardly any free.
    pub(crate) allocations: u64,
    pub(crate) largest: u64,
    pub(crate) most_blocks: u64,
    pub(crate) most_bytes: u64,
    /// Live blocks when the live bytes were `most_bytes`.
    pub(crate) blocks_at_most_bytes: u64,
    pub(crate) sizes: SizeCounts,
    peak_bytes: u64,
    peak_blocks: u64,
    // The third, of which a free changes one number.
    pub(crate) freed_after: FreedAfter,
    pub(crate) freed_on_other_thread: u64,
    // The fourth, for what is rarer.
    pub(crate) reallocations: u64,
    pub(crate) shrinks: u64,
    pub(crate) copied_bytes: u64,
    pub(crate) most_reallocations: u64,
    pub(crate) growth: Option<Box<GrowthCounts>>,
    pub(crate) handovers: Option<Box<SiteHandovers>>,
    pub(crate) times: Option<Box<CallTimes>>,
    pub(crate) failed: u64,
    /// How far its sums may be off, in a recording that is a sample.
    pub(crate) sample: Option<Box<SampleAccount>>,
    // Only at the end.
    pub(crate) exit_bytes: u64,
    pub(crate) exit_blocks: u64,
    pub(crate) exit_births: Option<Box<[u64; EXIT_PARTS]>>,
}

impl SiteStats {
    /// Called before the live bytes change. `number` counts the global peaks so far: if there was one since the last
    /// change, the live bytes of the site are still those of that moment.
    #[inline(always)]
    fn before_change(&mut self, number: u64) {
        if self.peak_number != number {
            self.peak_number = number;
            self.peak_bytes = self.live_bytes;
            self.peak_blocks = self.live_blocks;
        }
    }

    #[inline(always)]
    pub(crate) fn gain(&mut self, size: u64, number: u64) {
        self.rise(size, 1, number);
        self.largest = self.largest.max(size);
        self.sizes.add(self.allocations + self.reallocations, size);
    }

    /// A block of this size stands for several.
    pub(crate) fn gain_many(&mut self, size: u64, blocks: u64, number: u64) {
        self.rise(size.wrapping_mul(blocks), blocks, number);
        self.largest = self.largest.max(size);
        self.sizes.add_many(size, blocks);
    }

    /// Blocks are live from before.
    pub(crate) fn carry(&mut self, bytes: u64, blocks: u64, number: u64) {
        self.rise(bytes, blocks, number);
    }

    #[inline(always)]
    fn rise(&mut self, bytes: u64, blocks: u64, number: u64) {
        self.before_change(number);
        self.live_bytes = self.live_bytes.wrapping_add(bytes);
        self.live_blocks = self.live_blocks.wrapping_add(blocks);
        // A block that is freed out of turn makes the count wrap below zero for a while.
        if self.live_blocks > self.most_blocks && self.live_blocks < 1 << 63 {
            self.most_blocks = self.live_blocks;
        }
        if self.live_bytes > self.most_bytes && self.live_blocks < 1 << 63 {
            self.most_bytes = self.live_bytes;
            self.blocks_at_most_bytes = self.live_blocks;
        }
    }

    /// A buffer that had grown so often ended with this size.
    #[inline(never)]
    pub(crate) fn add_growth(&mut self, steps: u32, size: u64) {
        self.growth.get_or_insert_default().add(steps, size);
    }

    /// So many blocks were freed by another thread than the one that was handed them.
    pub(crate) fn hand_over(&mut self, pair: Pair, blocks: u64) {
        self.freed_on_other_thread += blocks;
        self.handovers.get_or_insert_default().add(pair, blocks);
    }

    #[inline(always)]
    pub(crate) fn lose(&mut self, size: u64, number: u64) {
        self.lose_many(size, 1, number);
    }

    #[inline(always)]
    pub(crate) fn lose_many(&mut self, bytes: u64, blocks: u64, number: u64) {
        self.before_change(number);
        self.live_bytes = self.live_bytes.wrapping_sub(bytes);
        self.live_blocks = self.live_blocks.wrapping_sub(blocks);
    }

    /// Live bytes and blocks now. A block that is freed out of turn makes them wrap below zero for a while, which is nothing.
    pub(crate) fn live(&self) -> (u64, u64) {
        (not_below_zero(self.live_bytes), not_below_zero(self.live_blocks))
    }

    /// Live bytes and blocks at the last global peak.
    pub(crate) fn at_peak(&self, number: u64) -> (u64, u64) {
        if self.peak_number == number {
            (self.peak_bytes, self.peak_blocks)
        } else {
            (self.live_bytes, self.live_blocks)
        }
    }
}

/// A level that wraps below zero while the events that it is made of come out of turn.
pub(crate) fn not_below_zero(level: u64) -> u64 {
    if level < 1 << 63 { level } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_was_live_is_kept_when_it_is_not_the_overall_peak() {
        let mut stats = SiteStats::default();
        stats.gain(100, 1);
        stats.gain(50, 2);
        stats.lose(100, 3);
        stats.gain(60, 3);
        stats.lose(50, 3);
        stats.lose(60, 3);
        assert_eq!((stats.most_bytes, stats.blocks_at_most_bytes), (150, 2));
        assert_eq!(stats.at_peak(3), (150, 2));
        stats.gain(7, 9);
        assert_eq!(stats.at_peak(9), (0, 0));
        assert_eq!((stats.most_bytes, stats.blocks_at_most_bytes), (150, 2));
    }
}
