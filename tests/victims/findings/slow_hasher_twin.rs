// victim: counts numbers in a map with its own hash function; flags: --edition 2021 -Csymbol-mangling-version=v0
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

#[derive(Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[inline(never)]
fn count(counts: &mut HashMap<u64, u64, BuildHasherDefault<Multiply>>, n: u64) {
    *counts.entry(n).or_insert(0) += 1;
}

fn main() {
    let mut counts = HashMap::default();
    (0..200_000).for_each(|n| count(&mut counts, n % 10_000));
    println!("counts {}", counts[&7]);
}
