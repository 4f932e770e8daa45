//! Whether a block is noted.

use super::local;
use heapwise_trace::sampling::weight;
use std::sync::atomic::{AtomicU64, Ordering};

/// At most how many bytes lie between two noted blocks; 1 notes all.
static SAMPLE_BYTES: AtomicU64 = AtomicU64::new(1);

/// To be set before recording begins.
pub(super) fn set(sample_bytes: u64) {
    SAMPLE_BYTES.store(sample_bytes, Ordering::Relaxed);
}

/// Whether a block of this size is noted this time.
#[inline]
pub(super) fn wins(size: u64) -> bool {
    // The weight is a power of two.
    let mask = weight(SAMPLE_BYTES.load(Ordering::Relaxed), size) - 1;
    mask == 0 || local::random().is_some_and(|random| random & mask == 0)
}

/// Whether all blocks are noted.
#[inline]
pub(super) fn always_wins() -> bool {
    SAMPLE_BYTES.load(Ordering::Relaxed) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coin_wins_as_often_as_its_weight_says() {
        // Of this thread alone: others of this test's process do not record.
        let wins = |weight: u64, n: u64| {
            (0..n).filter(|_| local::random().expect("the thread lives") & (weight - 1) == 0).count() as f64
        };
        for weight in [1, 2, 64, 4096] {
            let n = weight * 4000;
            // Six standard deviations of a binomial distribution.
            let (mean, p) = (4000.0, 1.0 / weight as f64);
            let six = 6.0 * (mean * (1.0 - p)).sqrt();
            let found = wins(weight, n);
            assert!((found - mean).abs() <= six, "{weight}: {found}");
        }
    }
}
