//! The order of the runs: every condition in turn, closely after each other, round after round.
//!
//! A machine is faster in one minute than in the next one. What is compared runs side by side and in a new order each time,
//! so that such a change favours nobody. The first round warms up caches, shows how long things take, and does not count.

use crate::statistics::random::Random;

/// One run: indices of a workload, of one of its sizes and of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Job {
    pub(crate) workload: usize,
    pub(crate) size: usize,
    pub(crate) condition: usize,
}

/// What the first round is for: from small to large, so that what is too slow is known before it gets worse.
pub(crate) fn first_round(sizes: &[usize], conditions: usize) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (workload, sizes) in sizes.iter().enumerate() {
        for size in 0..*sizes {
            jobs.extend((0..conditions).map(|condition| Job { workload, size, condition }));
        }
    }
    jobs
}

/// A round that counts: the same jobs, with the conditions of each workload and size next to each other, in random order.
pub(crate) fn round(first: &[Job], seed: u64) -> Vec<Job> {
    let mut random = Random::new(seed);
    let mut blocks: Vec<&[Job]> =
        first.chunk_by(|a, b| (a.workload, a.size) == (b.workload, b.size)).collect();
    random.shuffle(&mut blocks);
    let mut jobs = Vec::with_capacity(first.len());
    for block in blocks {
        let mut block = block.to_vec();
        random.shuffle(&mut block);
        jobs.extend(block);
    }
    jobs
}

/// Sizes that double, up to the largest; smallest first.
pub(crate) fn doubling(largest: u64, steps: u32) -> Vec<u64> {
    let mut sizes: Vec<u64> = (0..steps).rev().map(|step| largest >> step).filter(|size| *size > 0).collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_every_job_once_and_conditions_together() {
        let first = first_round(&[2, 3], 4);
        assert_eq!(first.len(), 20);
        assert_eq!(first[0], Job { workload: 0, size: 0, condition: 0 });
        let mut orders = std::collections::BTreeSet::new();
        for seed in 0..20 {
            let jobs = round(&first, seed);
            for block in jobs.chunks(4) {
                assert!(
                    block.iter().all(|job| (job.workload, job.size) == (block[0].workload, block[0].size))
                );
            }
            let mut sorted = jobs.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, first);
            orders.insert(jobs);
        }
        assert!(orders.len() > 15, "the order hardly changes");
    }

    #[test]
    fn sizes_double_and_none_is_zero() {
        assert_eq!(doubling(1000, 4), [125, 250, 500, 1000]);
        assert_eq!(doubling(2, 5), [1, 2]);
        assert_eq!(doubling(0, 3), [0u64; 0]);
    }
}
