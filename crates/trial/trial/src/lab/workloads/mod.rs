//! The registry of workloads: what the articles about checking heaps have measured, one file each.
//!
//! A workload does the same under every heap, and returns a checksum to prove it. What it needs beforehand, such as a text
//! whose words are counted, is made outside of the phases that are timed.

mod hash_map;
mod vectors;
mod words;

use crate::lab::worker::Stopwatch;

/// Something for a worker to do.
pub trait Workload: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it does, in a few words.
    fn about(&self) -> &'static str;

    /// What it is so many of.
    fn unit(&self) -> &'static str;

    /// What its size is if the whole experiment has this one, in entries of a map.
    fn scaled(&self, size: u64) -> u64 {
        size
    }

    /// Does it, `numbers[0]` times or with so many entries; further numbers have defaults. Returns a checksum.
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64;
}

/// All that are known.
pub const WORKLOADS: &[&dyn Workload] = &[
    &hash_map::HashMapOfStrings,
    words::STD_MAP,
    words::BTREE,
    words::CHAINED,
    words::ARENA,
    words::FX_MAP,
    &vectors::Vectors,
];

/// The workload of a name.
pub fn workload(name: &str) -> Option<&'static dyn Workload> {
    WORKLOADS.iter().copied().find(|workload| workload.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_sizes_grow() {
        let names: BTreeSet<_> = WORKLOADS.iter().map(|w| w.name()).collect();
        assert_eq!(names.len(), WORKLOADS.len());
        assert!(WORKLOADS.iter().all(|w| w.scaled(1_000_000) > w.scaled(20_000) && w.scaled(1) > 0));
    }

    #[test]
    fn each_does_the_same_each_time_and_more_for_more() {
        for workload in WORKLOADS {
            let run = |n| workload.run(&[n, 3, 5], &mut Stopwatch::new());
            assert_eq!(run(200), run(200), "{}", workload.name());
            assert_ne!(run(200), run(400), "{}", workload.name());
        }
    }
}
