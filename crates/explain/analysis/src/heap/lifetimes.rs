//! How long blocks lived, as a histogram whose buckets grow with the time.

use crate::buckets::{bucket, smallest};
use crate::units::Nanos;

/// Lifetimes below this are one bucket: the clock that the recorder reads does not tick faster.
const SHORTEST_NS: u64 = 1 << 10;
/// Four buckets per doubling: a quantile is at most a quarter too long.
const BITS: u32 = 2;
/// The bucket of the shortest.
const FIRST: usize = bucket::<BITS>(SHORTEST_NS);
/// Doublings that are distinguished: up to 36 minutes, and longer is the last bucket.
const DOUBLINGS: u32 = 31;
/// Blocks of a site that are all counted.
const ALL_UP_TO: u64 = 256;
/// Of those behind them, how many one counted block stands for.
const ONE_IN: u32 = 8;
const BUCKETS: usize = (DOUBLINGS << BITS) as usize;

/// Lifetimes of the blocks of one call site that were freed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifetimes {
    /// Blocks that lived shorter than the clock can measure.
    instant: u64,
    /// Sum of all lifetimes, in units of [`SHORTEST_NS`] so that no run is too long for it.
    total: u64,
    /// PERF: a site whose blocks are all short-lived has no buckets, which keeps the table of sites in the cache.
    longer: Option<Box<[u32; BUCKETS]>>,
}

impl Lifetimes {
    /// Counts the lifetime of the site's `nth` block to be freed.
    ///
    /// PERF: the buckets of many sites do not fit the cache. After the first few hundred blocks of a site one in eight
    /// stands for the others, picked so that no period of the program's agrees with it.
    #[inline(always)]
    pub(crate) fn add(&mut self, nth: u64, lifetime_ns: u64) {
        self.add_unended(lifetime_ns, 1);
        if lifetime_ns < SHORTEST_NS {
            self.instant += 1;
        } else if nth < ALL_UP_TO {
            self.count(lifetime_ns, 1);
        } else if nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ONE_IN.trailing_zeros()) == 0 {
            self.count(lifetime_ns, ONE_IN);
        }
    }

    /// Counts a block that stands for several.
    pub(crate) fn add_many(&mut self, lifetime_ns: u64, blocks: u64) {
        self.add_unended(lifetime_ns, blocks);
        if lifetime_ns < SHORTEST_NS {
            self.instant = self.instant.wrapping_add(blocks);
        } else {
            self.count(lifetime_ns, u32::try_from(blocks).unwrap_or(u32::MAX));
        }
    }

    /// Counts the time that so many blocks have lived that are never freed. Only the sum knows of it.
    #[inline(always)]
    pub(crate) fn add_unended(&mut self, lifetime_ns: u64, blocks: u64) {
        self.total = self.total.wrapping_add((lifetime_ns / SHORTEST_NS).wrapping_mul(blocks));
    }

    fn count(&mut self, lifetime_ns: u64, weight: u32) {
        let buckets = self.longer.get_or_insert_with(|| Box::new([0; BUCKETS]));
        let bucket = &mut buckets[bucket_of(lifetime_ns)];
        *bucket = bucket.saturating_add(weight);
    }

    pub(crate) fn merge(&mut self, other: &Lifetimes) {
        self.instant += other.instant;
        self.total = self.total.wrapping_add(other.total);
        if let Some(theirs) = &other.longer {
            let ours = self.longer.get_or_insert_with(|| Box::new([0; BUCKETS]));
            ours.iter_mut().zip(theirs.iter()).for_each(|(a, b)| *a = a.saturating_add(*b));
        }
    }

    /// About how many blocks were freed.
    pub fn blocks(&self) -> u64 {
        let longer = self.longer.iter().flat_map(|b| b.iter());
        self.instant + longer.map(|&n| u64::from(n)).sum::<u64>()
    }

    /// Sum of the lifetimes of all blocks in microseconds; those that were never freed lived up to the end.
    /// Unlike the quantiles it leaves no block out.
    pub fn total_us(&self) -> u64 {
        u64::try_from(u128::from(self.total) * u128::from(SHORTEST_NS) / 1000).unwrap_or(u64::MAX)
    }

    /// The lifetime that `share` of the blocks did not exceed, `None` without blocks. Zero means that it was shorter
    /// than the recorder's clock can measure.
    pub fn quantile(&self, share: f64) -> Option<Nanos> {
        let blocks = self.blocks();
        if blocks == 0 {
            return None;
        }
        let wanted = ((blocks as f64 * share).ceil() as u64).clamp(1, blocks);
        let mut seen = self.instant;
        if seen >= wanted {
            return Some(Nanos(0));
        }
        let longer = self.longer.iter().flat_map(|b| b.iter()).enumerate();
        for (i, &n) in longer {
            seen += u64::from(n);
            if seen >= wanted {
                return Some(Nanos(upper_end(i)));
            }
        }
        None
    }

    /// Lifetimes, each with about how many blocks lived so long or up to a quarter longer; ascending. The first one, zero, is of those that
    /// lived shorter than the clock can measure.
    pub fn steps(&self) -> impl Iterator<Item = (Nanos, u64)> {
        let longer = self.longer.iter().flat_map(|b| b.iter()).enumerate();
        let longer = longer.map(|(i, &n)| (Nanos(smallest::<BITS>(FIRST + i)), u64::from(n)));
        [(Nanos(0), self.instant)].into_iter().chain(longer).filter(|(_, blocks)| *blocks > 0)
    }
}

#[inline]
fn bucket_of(ns: u64) -> usize {
    (bucket::<BITS>(ns) - FIRST).min(BUCKETS - 1)
}

fn upper_end(bucket: usize) -> u64 {
    smallest::<BITS>(FIRST + bucket + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_at_most_a_quarter_too_long() {
        for ns in [1 << 10, 1500, 4096, 5119, 1_000_000, 123_456_789] {
            let mut lifetimes = Lifetimes::default();
            lifetimes.add(1, ns);
            let found = lifetimes.quantile(0.5).expect("one block").0;
            assert!(found >= ns && found <= ns + ns / 4 + 1, "{ns} reported as {found}");
        }
    }

    #[test]
    fn the_short_and_the_long_are_distinguished() {
        let mut lifetimes = Lifetimes::default();
        assert_eq!(lifetimes.quantile(0.5), None);
        (0..90).for_each(|i| lifetimes.add(i, 0));
        (90..100).for_each(|i| lifetimes.add(i, 1 << 62));
        assert_eq!(lifetimes.quantile(0.5), Some(Nanos(0)));
        assert!(lifetimes.quantile(0.99).expect("blocks") > Nanos(1 << 40));
        let mut twice = lifetimes.clone();
        twice.merge(&lifetimes);
        assert_eq!(twice.blocks(), 200);
    }

    #[test]
    fn the_sum_leaves_no_block_out() {
        let mut lifetimes = Lifetimes::default();
        (0..10_000).for_each(|i| lifetimes.add(i, 3 << 14));
        lifetimes.add_unended(5 << 14, 1);
        let mut twice = lifetimes.clone();
        twice.merge(&lifetimes);
        assert_eq!(twice.total_us(), ((2 * (10_000 * 3 + 5)) << 14) / 1000);
    }

    #[test]
    fn a_sample_stands_for_many_blocks() {
        let mut lifetimes = Lifetimes::default();
        (0..80_000).for_each(|i| lifetimes.add(i, if i % 8 == 0 { 1 << 30 } else { 1 << 20 }));
        let blocks = lifetimes.blocks();
        assert!((79_000..81_000).contains(&blocks), "{blocks}");
        let quantile = |share| lifetimes.quantile(share).map_or(0, |n| n.0);
        assert!(quantile(0.86) < 1 << 21, "seven of eight are short, whatever the period");
        assert!(quantile(0.89) > 1 << 29);
    }
}
