// victim: borrows names to measure them, and clones those that it keeps; flags: --edition 2021
use std::hint::black_box;

#[inline(never)]
fn total(names: &[String], kept: &mut Vec<String>) -> usize {
    let mut total = 0;
    for name in names {
        total += black_box(name).len();
        kept.push(name.clone());
    }
    total
}

fn main() {
    let names: Vec<String> = (0..100).map(|i| "x".repeat(20 + i % 10)).collect();
    let mut kept = Vec::with_capacity(5000);
    println!("total {}", (0..50).map(|_| total(&names, &mut kept)).sum::<usize>());
}
