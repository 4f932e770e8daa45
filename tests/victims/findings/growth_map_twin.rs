// victim: fills many maps of the same size and reserves it before; flags: --edition 2021
use std::collections::HashMap;

#[inline(never)]
fn fill(n: u64) -> HashMap<u64, u64> {
    let mut squares = HashMap::with_capacity(n as usize);
    for i in 0..n {
        squares.insert(i, i * i);
    }
    squares
}

fn main() {
    let all: Vec<_> = (0..200).map(|i| fill(200 + i % 20)).collect();
    println!("sum {}", all.iter().flat_map(|m| m.values()).sum::<u64>());
}
