// victim: counts numbers in a map with the default hash function; flags: --edition 2021 -Csymbol-mangling-version=v0
use std::collections::HashMap;

#[inline(never)]
fn count(counts: &mut HashMap<u64, u64>, n: u64) {
    *counts.entry(n).or_insert(0) += 1; // here: slow-hasher
}

fn main() {
    let mut counts = HashMap::new();
    (0..200_000).for_each(|n| count(&mut counts, n % 10_000));
    println!("counts {}", counts[&7]);
}
