//! For how many blocks a recorded one stands, where only a sample of them is recorded.
//!
//! A block is recorded with a probability that depends on its size alone, 1 in [`weight`]. So a reader of a recording knows
//! from the size of each block how many it stands for, at its allocation as well as when it is freed, and no event has to
//! say it. Each recorded block stands for at most as many bytes as there lie between two on average, and for more than half of
//! them, whatever its size; a block that is as large is always recorded.

pub mod countdown;
pub mod noted;

/// More than any recording needs; a damaged one may claim any number.
const MOST_SAMPLE_BYTES: u64 = 1 << 30;

/// One block for every 512 KiB: a program that allocates a gigabyte in a second makes some thousand events of it, which cost a
/// few milliseconds, and a site with a hundredth of that is accurate to within a fifth.
pub const DEFAULT_SAMPLE_BYTES: u64 = 512 << 10;

/// The distance between recorded blocks, in bytes, for a requested one: a power of two, at most 1 GiB; 1 records
/// everything.
pub const fn distance(sample_bytes: u64) -> u64 {
    let least = if sample_bytes == 0 { 1 } else { sample_bytes };
    (if least < MOST_SAMPLE_BYTES { least } else { MOST_SAMPLE_BYTES }).next_power_of_two()
}

/// For how many blocks of `size` bytes a recorded one stands, if at most `sample_bytes` (a power of two) lie between two that
/// are recorded. A power of two; 1 if everything is recorded, which `sample_bytes` of 0 and 1 mean.
///
/// ```
/// use heapwise_trace::sampling::weight;
/// assert_eq!(weight(0, 24), 1);
/// assert_eq!(weight(512 << 10, 24), 16384);
/// assert_eq!(weight(512 << 10, 1 << 20), 1);
/// ```
#[inline(always)]
pub const fn weight(sample_bytes: u64, size: u64) -> u64 {
    let sample_bytes = if sample_bytes < MOST_SAMPLE_BYTES { sample_bytes } else { MOST_SAMPLE_BYTES };
    if sample_bytes <= 1 {
        return 1;
    }
    // Rounded up: what the next power of two has as its logarithm.
    let log2 = if size <= 1 { 0 } else { u64::BITS - (size - 1).leading_zeros() };
    let weight = if log2 >= u64::BITS { 0 } else { sample_bytes >> log2 };
    if weight == 0 { 1 } else { weight }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_stands_for_at_most_the_distance_and_for_more_than_half_of_it() {
        let distance = 512 << 10;
        for size in (1..5000).chain([65_536, 65_537, 262_144, 262_145, 524_287, 524_288]) {
            let bytes = weight(distance, size) * size;
            assert!(bytes <= distance && bytes > distance / 2, "{size}: {bytes}");
        }
        for size in [524_289, 1 << 40, u64::MAX] {
            assert_eq!(weight(distance, size), 1);
        }
        assert_eq!(weight(distance, 0), distance);
    }

    #[test]
    fn everything_is_recorded_where_nothing_is_said() {
        assert_eq!([weight(0, 24), weight(1, 0), weight(1, 24)], [1, 1, 1]);
        assert_eq!(weight(u64::MAX, 1), 1 << 30);
    }
}
