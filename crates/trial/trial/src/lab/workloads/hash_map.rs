//! A map of strings to strings is built and dropped: two blocks for each entry.

use super::Workload;
use crate::lab::worker::Stopwatch;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;

/// The hasher with fixed keys: the usual one is seeded at random, and every run has to do the same work.
type Map = HashMap<String, String, BuildHasherDefault<DefaultHasher>>;

pub(super) struct HashMapOfStrings;

impl Workload for HashMapOfStrings {
    fn name(&self) -> &'static str {
        "hash-map"
    }

    fn about(&self) -> &'static str {
        "a HashMap<String, String>, entry by entry"
    }

    fn unit(&self) -> &'static str {
        "entries"
    }

    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let n = numbers.first().copied().unwrap_or_default();
        let map = watch.phase("construct", || {
            let mut map = Map::default();
            for i in 0..n {
                map.insert(i.to_string(), i.to_string());
            }
            map
        });
        let letters: usize = map.iter().map(|(key, value)| key.len() * value.len()).sum();
        let checksum = letters as u64 ^ (map.len() as u64) << 40;
        watch.phase("drop", || drop(map));
        checksum
    }
}
