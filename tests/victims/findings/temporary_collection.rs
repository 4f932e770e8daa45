// victim: collects into a vector only to add it up; flags: --edition 2021
use std::hint::black_box;

#[inline(never)]
fn even_sum(numbers: &[u64]) -> u64 {
    let even: Vec<u64> = numbers.iter().copied().filter(|n| n % 2 == 0).collect(); // here: temporary-collection
    black_box(&even).iter().sum()
}

fn main() {
    let numbers: Vec<u64> = (0..40).collect();
    println!("sum {}", (0..2000).map(|_| even_sum(black_box(&numbers))).sum::<u64>());
}
