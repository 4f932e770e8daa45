//! A million-entry HashMap<String, String> is built and dropped, several times. Argument: entries (1000000).
//! At the default size 6 million allocations; bound by page faults and the cache rather than by malloc.
//! Build: rustc -O --edition 2021 hashmap.rs

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;

/// The hasher with fixed keys: the usual one is seeded at random, and every run has to do the same work.
type Map = HashMap<String, String, BuildHasherDefault<DefaultHasher>>;

fn text(prefix: &str, mut n: u64) -> String {
    let mut s = String::with_capacity(prefix.len() + 12);
    s.push_str(prefix);
    for _ in 0..12 {
        s.push((b'a' + (n % 26) as u8) as char);
        n = n / 26 + 7;
    }
    s
}

#[inline(never)]
fn build(n: u64, round: u64) -> Map {
    // Sized beforehand: rehashing strings all over the memory would hide the allocator even more.
    let mut map = Map::with_capacity_and_hasher(n as usize, Default::default());
    for i in 0..n {
        let k = (i + round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        map.insert(text("key-", k), text("a value ", i));
    }
    map
}

pub(crate) fn main() {
    let n: u64 = std::env::args().nth(1).map_or(1_000_000, |a| a.parse().expect("a number of entries"));
    let mut sum = 0u64;
    for round in 0..3 {
        let map = build(n, round);
        for (k, v) in &map {
            sum = sum.wrapping_add(k.as_bytes()[5] as u64 * v.as_bytes()[9] as u64);
        }
        sum = sum.wrapping_add(map.len() as u64);
    }
    println!("checksum {sum}");
}
