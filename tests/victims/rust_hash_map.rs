// victim: HashMap, BTreeMap and HashSet of Strings are filled, partly removed from and dropped; flags: --edition 2021
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hint::black_box;

#[inline(never)]
fn key(i: u32) -> String {
    let mut s = String::with_capacity(24);
    s.push_str(&"key"[..black_box(3)]);
    for d in [10000, 1000, 100, 10, 1] {
        s.push((b'0' + (i / d % 10) as u8) as char);
    }
    s
}

fn main() {
    let mut keys = 0u64;
    let mut sum = 0usize;
    for round in 0..3u32 {
        let mut map = HashMap::new();
        let mut tree = BTreeMap::new();
        let mut set = HashSet::new();
        for i in 0..3000 {
            map.insert(key(i + round), i);
            tree.insert(key(i * 7 % 3000), i);
            set.insert(key(i % 100));
            keys += 3;
        }
        map.retain(|_, v| *v % 2 == 0);
        map.shrink_to_fit();
        sum += map.len() + tree.len() + set.len() + tree.values().take(10).sum::<u32>() as usize;
    }
    println!("sum {sum}");
    println!("expect site=key blocks={keys} bytes={} live=0", keys * 24);
}
