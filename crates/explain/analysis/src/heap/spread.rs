//! How large the requests of one call site were, as a histogram whose buckets grow with the size.
//!
//! Most sites request one size only, or few. So the size of the first request is counted separately and exactly, and
//! only a site that requested another one gets buckets. A bucket remembers the largest size in it, so that a quantile
//! is a size that was requested: "with_capacity(4096)" and not 5119.

use crate::buckets::bucket;
use crate::units::Bytes;

/// Four buckets per doubling.
const BITS: u32 = 2;
/// Requests of a site that are all counted.
const ALL_UP_TO: u64 = 256;
/// Of those behind them, how many one counted request stands for.
const ONE_IN: u32 = 64;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bucket {
    count: u32,
    largest: u64,
}

/// Sizes of the requests of one call site, while they are counted. How many there were, and the largest, is counted by
/// the site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SizeCounts {
    /// The size of the first request, plus one.
    first: u64,
    /// PERF: a site with one size has no buckets, which keeps the table of sites in the cache.
    #[expect(clippy::box_collection, reason = "eight bytes in a row of the table instead of 24")]
    others: Option<Box<Vec<Bucket>>>,
}

impl SizeCounts {
    /// Counts the site's `nth` request, from 1.
    ///
    /// PERF: behind the first few hundred one in 64 stands for the others.
    #[inline(always)]
    pub(crate) fn add(&mut self, nth: u64, size: u64) {
        if self.first == size + 1 {
            return;
        }
        if nth < ALL_UP_TO {
            self.count(size, 1);
        } else if nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ONE_IN.trailing_zeros()) == 0 {
            self.count(size, ONE_IN);
        }
    }

    /// Counts a request that stands for several.
    pub(crate) fn add_many(&mut self, size: u64, requests: u64) {
        if self.first != size + 1 {
            self.count(size, u32::try_from(requests).unwrap_or(u32::MAX));
        }
    }

    #[inline(never)]
    fn count(&mut self, size: u64, weight: u32) {
        if self.first == 0 {
            self.first = size + 1;
            return;
        }
        put(self.others.get_or_insert_default(), size, u64::from(weight));
    }

    /// What it adds up to for that many requests, of which the largest is known.
    pub(crate) fn spread(self, requests: u64, largest: u64) -> SizeSpread {
        let others = self.others.map_or_else(Vec::new, |b| *b);
        let counted: u64 = others.iter().map(|b| u64::from(b.count)).sum();
        // What the samples stand for may be a little more than there was.
        let first = (self.first > 0 && requests > 0)
            .then(|| (self.first - 1, requests.saturating_sub(counted).max(1)));
        SizeSpread { requests, first, others, largest }
    }
}

fn put(buckets: &mut Vec<Bucket>, size: u64, weight: u64) {
    let at = bucket::<BITS>(size);
    if buckets.len() <= at {
        buckets.resize(at + 1, Bucket::default());
    }
    let bucket = &mut buckets[at];
    bucket.count = bucket.count.saturating_add(u32::try_from(weight).unwrap_or(u32::MAX));
    bucket.largest = bucket.largest.max(size);
}

/// How large the requests of a call site were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeSpread {
    requests: u64,
    /// The size of the first request and how many had it.
    first: Option<(u64, u64)>,
    others: Vec<Bucket>,
    largest: u64,
}

impl SizeSpread {
    /// How many requests there were.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Sizes, each with about how many requests had it or a little less; ascending.
    pub fn steps(&self) -> Vec<(Bytes, u64)> {
        let others = self.others.iter().filter(|b| b.count > 0);
        let others = others.map(|b| (Bytes(b.largest), u64::from(b.count)));
        let mut steps: Vec<(Bytes, u64)> =
            self.first.map(|(size, n)| (Bytes(size), n)).into_iter().chain(others).collect();
        steps.sort_unstable();
        steps
    }

    /// The size that `share` of the requests did not exceed, `None` without requests. A size that was requested, and at
    /// most a quarter more than the true one.
    pub fn quantile(&self, share: f64) -> Option<Bytes> {
        self.first?;
        let steps = self.steps();
        let all: u64 = steps.iter().map(|s| s.1).sum();
        let wanted = ((all as f64 * share).ceil() as u64).clamp(1, all.max(1));
        let mut seen = 0;
        let at = steps.iter().find(|(_, n)| {
            seen += n;
            seen >= wanted
        });
        at.map(|&(size, _)| size)
    }

    /// About the smallest request: exact if all had one size or few.
    pub fn smallest(&self) -> Option<Bytes> {
        self.quantile(0.0)
    }

    pub fn largest(&self) -> Bytes {
        Bytes(self.largest)
    }

    /// Whether all requests had the same size.
    pub fn is_uniform(&self) -> bool {
        self.first.is_some() && self.others.is_empty()
    }

    /// Adds the requests of another place.
    pub fn merge(&mut self, other: &SizeSpread) {
        self.requests += other.requests;
        self.largest = self.largest.max(other.largest);
        for bucket in other.others.iter().filter(|b| b.count > 0) {
            put(&mut self.others, bucket.largest, u64::from(bucket.count));
        }
        match (self.first, other.first) {
            (None, first) => self.first = first,
            (Some((ours, n)), Some((theirs, m))) if ours == theirs => self.first = Some((ours, n + m)),
            (Some(_), Some((theirs, m))) => put(&mut self.others, theirs, m),
            (Some(_), None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(sizes: impl Iterator<Item = u64>) -> SizeSpread {
        let (mut counts, mut n, mut largest) = (SizeCounts::default(), 0, 0);
        for size in sizes {
            n += 1;
            counts.add(n, size);
            largest = largest.max(size);
        }
        counts.spread(n, largest)
    }

    fn quantile(spread: &SizeSpread, share: f64) -> u64 {
        spread.quantile(share).expect("there are requests").0
    }

    #[test]
    fn one_size_is_exact_and_takes_no_buckets() {
        let one = spread((0..100_000).map(|_| 4097));
        assert!(one.is_uniform());
        assert_eq!([quantile(&one, 0.5), quantile(&one, 0.99), one.largest().0], [4097; 3]);
        assert_eq!(spread(std::iter::empty()).quantile(0.5), None);
        let zero = spread((0..3).map(|_| 0));
        assert_eq!((quantile(&zero, 0.5), zero.requests()), (0, 3));
    }

    #[test]
    fn quantiles_are_sizes_that_were_asked_for() {
        let doubling = spread((0..10_000).map(|i| 32 << (i % 4)));
        assert_eq!([0.2, 0.4, 0.65, 0.99].map(|share| quantile(&doubling, share)), [32, 64, 128, 256]);
    }

    #[test]
    fn quantiles_are_at_most_a_quarter_too_large() {
        let even = spread((1..=100_000).map(|i| i * 7919 % 100_000));
        for share in [0.1, 0.5, 0.9, 0.99] {
            let (truth, quantile) = (share * 100_000.0, quantile(&even, share) as f64);
            assert!(quantile >= truth * 0.95 && quantile <= truth * 1.28, "{share}: {quantile}");
        }
        assert_eq!(even.largest(), Bytes(99_999));
    }

    #[test]
    fn merged_spreads_hold_what_both_had() {
        let (mut a, b) = (spread((0..90).map(|_| 10)), spread((0..10).map(|_| 1000)));
        a.merge(&b);
        assert_eq!(
            (a.requests(), quantile(&a, 0.5), quantile(&a, 0.95), a.largest()),
            (100, 10, 1000, Bytes(1000))
        );
        assert!(!a.is_uniform());
        let mut c = SizeSpread::default();
        c.merge(&b);
        assert_eq!(c, b);
    }
}
