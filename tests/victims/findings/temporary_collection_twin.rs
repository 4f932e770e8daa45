// victim: adds up what an iterator gives, and keeps what it collects; flags: --edition 2021
use std::hint::black_box;

#[inline(never)]
fn even_sum(numbers: &[u64]) -> u64 {
    numbers.iter().copied().filter(|n| n % 2 == 0).sum()
}

fn main() {
    let numbers: Vec<u64> = (0..40).collect();
    let kept: Vec<Vec<u64>> = (0..2000).map(|i| numbers.iter().map(|n| n + i).collect()).collect();
    println!("sum {}", kept.iter().map(|k| even_sum(black_box(k))).sum::<u64>());
}
