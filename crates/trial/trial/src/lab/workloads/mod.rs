//! The registry of workloads: what the articles have measured, one file each.
//!
//! A workload does the same under every heap, and returns a checksum to prove it. What it needs beforehand, such as a text
//! whose words are counted, is made outside of the phases that are timed.

mod blocks;
#[cfg(all(feature = "worker", target_os = "linux"))]
mod contest;
mod habits;
mod hash_map;
mod maps;
#[cfg(target_os = "linux")]
mod pages;
#[cfg(all(feature = "worker", target_os = "linux"))]
mod tasks;
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

/// Those that run under checking heaps, which have a part of a run for building up and for dropping.
pub const OF_CHECKING_HEAPS: &[&dyn Workload] = &[
    &hash_map::HashMapOfStrings,
    words::STD_MAP,
    words::BTREE,
    words::CHAINED,
    words::ARENA,
    words::FX_MAP,
    &vectors::Vectors,
];

/// Those that run under allocators, and look at memory at some moments.
pub const OF_ALLOCATORS: &[&dyn Workload] = &[
    blocks::ALTERNATING,
    blocks::CONNECTIONS,
    blocks::THREADS,
    blocks::HANDED,
    habits::CLONE,
    habits::CAPACITY,
    habits::REUSE,
    habits::BORROW,
    maps::MAPS,
    #[cfg(target_os = "linux")]
    pages::ADVISED,
    #[cfg(target_os = "linux")]
    pages::HUGE,
    #[cfg(all(feature = "worker", target_os = "linux"))]
    contest::CONTEST,
    #[cfg(all(feature = "worker", target_os = "linux"))]
    tasks::TASKS,
];

/// All that are known.
pub fn workloads() -> impl Iterator<Item = &'static dyn Workload> {
    OF_CHECKING_HEAPS.iter().chain(OF_ALLOCATORS).copied()
}

/// The workload of a name.
pub fn workload(name: &str) -> Option<&'static dyn Workload> {
    workloads().find(|workload| workload.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_sizes_grow() {
        let names: BTreeSet<_> = workloads().map(|w| w.name()).collect();
        assert_eq!(names.len(), workloads().count());
        assert!(workloads().all(|w| w.scaled(1_000_000) > w.scaled(20_000) && w.scaled(1) > 0));
    }

    #[test]
    fn each_does_the_same_each_time_and_more_for_more() {
        for workload in workloads() {
            let run = |n| workload.run(&[n, 3, 5], &mut Stopwatch::new());
            assert_eq!(run(200), run(200), "{}", workload.name());
            assert_ne!(run(200), run(400), "{}", workload.name());
        }
    }
}
