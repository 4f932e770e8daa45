//! A map is filled and looked up in, with keys of text and with numbers as keys, under a choice of hash functions.

use super::Workload;
use crate::lab::worker::Stopwatch;
use crate::statistics::random::mixed;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

pub(super) const MAPS: &dyn Workload = &Maps;

struct Maps;

/// How often each key is looked up.
const LOOKUPS: u64 = 4;

impl Workload for Maps {
    fn name(&self) -> &'static str {
        "maps"
    }

    fn about(&self) -> &'static str {
        "maps with SipHash, foldhash or FxHash: filled, and looked up in"
    }

    fn unit(&self) -> &'static str {
        "keys"
    }

    /// The numbers are keys, and the hash function: SipHash (0), foldhash (1), or FxHash (2).
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let n = numbers.first().copied().unwrap_or_default();
        match numbers.get(1).copied().unwrap_or_default() {
            0 => work::<RandomState>(n, watch),
            1 => work::<hashbrown::DefaultHashBuilder>(n, watch),
            _ => work::<rustc_hash::FxBuildHasher>(n, watch),
        }
    }
}

fn work<S: BuildHasher + Default>(n: u64, watch: &mut Stopwatch) -> u64 {
    let texts: Vec<String> = (0..n).map(|i| format!("key {:x}", mixed(i))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let numbers: Vec<u64> = (0..n).map(mixed).collect();
    let of_texts = watch.phase("texts", || filled_and_read::<S, _>(&texts));
    let of_numbers = watch.phase("numbers", || filled_and_read::<S, _>(&numbers));
    of_texts.wrapping_add(of_numbers.rotate_left(1))
}

/// Fills a map, and looks each key up a few times in another order.
fn filled_and_read<S: BuildHasher + Default, K: Hash + Eq + Copy>(keys: &[K]) -> u64 {
    let mut map: HashMap<K, u64, S> = HashMap::default();
    for (value, key) in keys.iter().enumerate() {
        map.insert(*key, value as u64);
    }
    let n = keys.len() as u64;
    let looked_up = (0..LOOKUPS * n).map(|i| map[&keys[(mixed(i) % n) as usize]]);
    looked_up.fold(n, u64::wrapping_add)
}
