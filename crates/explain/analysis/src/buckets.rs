//! Buckets whose width grows with what is in them: so many for each doubling, as an HdrHistogram has them.
//!
//! What is counted differs (lifetimes of a site in few bytes, sizes with the largest of each bucket, times in memory that two
//! processes share), so each has its own table; which bucket a number belongs into is the same everywhere.

/// The bucket of a number, with 2^`BITS` buckets for each doubling. Numbers below 2^`BITS` have one each.
#[inline(always)]
pub const fn bucket<const BITS: u32>(number: u64) -> usize {
    if number < 1 << BITS {
        return number as usize;
    }
    let doubling = number.ilog2() - BITS;
    let part = (number >> doubling) & ((1 << BITS) - 1);
    (((doubling as usize) + 1) << BITS) + part as usize
}

/// The smallest number of a bucket.
pub const fn smallest<const BITS: u32>(bucket: usize) -> u64 {
    if bucket < 1 << BITS {
        return bucket as u64;
    }
    let part = bucket as u64 & ((1 << BITS) - 1);
    ((1 << BITS) | part) << ((bucket >> BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_and_begin_with_their_smallest_number() {
        let buckets: Vec<usize> = (0..4096).map(bucket::<3>).collect();
        assert!(buckets.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
        for at in 1..200 {
            assert_eq!(bucket::<2>(smallest::<2>(at)), at);
            assert_eq!(bucket::<2>(smallest::<2>(at) - 1), at - 1);
        }
        assert!(bucket::<2>((1 << 48) - 1) < 200 && bucket::<2>(u64::MAX) < 252);
    }
}
