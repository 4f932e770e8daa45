// victim: clones names only to measure them; flags: --edition 2021
use std::hint::black_box;

#[inline(never)]
fn total(names: &[String]) -> usize {
    let mut total = 0;
    for name in names {
        let copy = name.clone(); // here: clone-of-owned
        total += black_box(&copy).len();
    }
    total
}

fn main() {
    let names: Vec<String> = (0..100).map(|i| "x".repeat(20 + i % 10)).collect();
    println!("total {}", (0..50).map(|_| total(&names)).sum::<usize>());
}
